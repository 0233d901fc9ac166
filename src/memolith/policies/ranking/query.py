"""A question made ready: what to search for, and what it tells about its answer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from memolith.domain.items import Trait
from memolith.domain.messages import Participant
from memolith.policies.indexing import proper_name
from memolith.policies.ranking.model import Period, Query
from memolith.policies.ranking.query_breadth import asks_for_several
from memolith.policies.ranking.query_dates import find_periods
from memolith.policies.ranking.query_phrasing import strip_phrasing, tidy
from memolith.text.analysis import terms


@dataclass(frozen=True, slots=True)
class QueryCues:
    """What a question tells about its answer.

    Attributes:
        only_named: Number of the participant it names, where it names exactly one.
        about_user: Asked by the user about the user: in the first person, and not about what
            "you", the assistant, said.
        periods: The dates it names; see `query_dates`.
        asks_time: It asks when.
        answer_kinds: Of number, place and proper noun, those it asks for.
        several: It asks for several pieces of evidence: a list, a count, an order, a summary.
    """

    only_named: int | None = None
    is_about_user: bool = False
    periods: tuple[Period, ...] = ()
    asks_time: bool = False
    answer_kinds: Trait = Trait.NONE
    asks_several: bool = False


NO_CUES = QueryCues()


def get_cues(query: Query) -> QueryCues:
    """Return the cues that a query carries; none where another ranking prepared it."""
    return query.cues if isinstance(query.cues, QueryCues) else NO_CUES


def prepare_query(text: str, participants: Sequence[Participant], now: datetime) -> Query:
    """Return a question without names and phrasing, and its cues.

    Keywords keep the names of the participants it names. Where nothing would be left to search
    for, the text stays as it is.
    """
    named = _find_named(text, participants)
    bare = strip_phrasing(text)
    dense = next(filter(_has_content, (_strip_names(bare, named), bare)), text)
    words = [*terms(dense), *(term for person in named for term in terms(person.name or ""))]
    found = tuple(dict.fromkeys(words))
    noticed = find_cues(text, named, now)
    return Query(text, dense, found, noticed, periods=noticed.periods, uses_context_window=True)


def _has_content(text: str) -> bool:
    """Return whether a text has more than stop words, which it keeps where it has nothing else."""
    return terms(f"{text} {_PROBE_WORD}") != [_PROBE_WORD]


_PROBE_WORD = "memolith"


def find_cues(text: str, named: Sequence[Participant], now: datetime) -> QueryCues:
    """Return what a question tells about its answer, given which participants it names."""
    numbers = {person.number for person in named}
    return QueryCues(
        only_named=numbers.pop() if len(numbers) == 1 else None,
        is_about_user=bool(_FIRST_PERSON.search(text)) and not _WHAT_YOU_SAID.search(text),
        periods=find_periods(text, now),
        asks_time=bool(_ASKS_TIME.search(text)),
        answer_kinds=_find_answer_kinds(text),
        asks_several=asks_for_several(text),
    )


# --- names --------------------------------------------------------------------------------------


def _find_named(text: str, participants: Sequence[Participant]) -> list[Participant]:
    """Return the participants whose name, or a part of it, stands in the text."""
    return [person for person in participants if _is_named(_name_variants(person), text)]


def _is_named(names: Sequence[str], text: str) -> bool:
    # Most are not there at all, and to compile what tells of thousands takes half a second.
    return any(name in text for name in names) and _compile_names(names).search(text) is not None


def _strip_names(text: str, named: Sequence[Participant]) -> str:
    for person in named:
        text = _compile_names(_name_variants(person)).sub(" ", text)
    return tidy(text)


def _name_variants(person: Participant) -> tuple[str, ...]:
    """Return a participant's name as a whole, and each capitalised part of it; none for a role."""
    whole = proper_name(person.name)
    if whole is None:
        return ()
    return (whole, *(part for part in whole.split() if len(part) > 1 and part[0].isupper()))


def _compile_names(names: Sequence[str]) -> re.Pattern[str]:
    """Return what matches a name as a word, or as its genitive."""
    either = "|".join(map(re.escape, names))
    return re.compile(rf"(?<!\w)(?:{either})(?:['’]?s|['’])?(?!\w)")


# --- cues ---------------------------------------------------------------------------------------

_FIRST_PERSON = re.compile(
    r"\b(?:I|I['’](?:m|ve|d|ll)|[Mm]y|[Mm]ine|[Mm]e|[Mm]yself|"
    r"[Ii]ch|[Mm]ein(?:e[mnrs]?)?|[Mm]ir|[Mm]ich)\b"
)
_WHAT_YOU_SAID = re.compile(
    r"\b(?:did|have|had|do|would) you\b|\byou (?:said|told|recommended|suggested|mentioned|"
    r"advised|proposed|gave|explained)\b|\b(?:hast|hattest|würdest) du\b",
    re.IGNORECASE,
)
_ASKS_TIME = re.compile(
    r"\bwhen\b|\bhow (?:long ago|recently)\b|\b(?:what|which|on what|on which|in which|in what) "
    r"(?:date|day|month|year|week|time|season|weekday)s?\b|"
    r"\bwann\b|\bwie lange (?:ist es )?her\b|"
    r"\b(?:an|in) welche[mr] (?:tag|datum|monat|jahr|woche)\b|\bseit wann\b",
    re.IGNORECASE,
)
_ANSWER_KIND_PATTERNS = (
    (
        Trait.NUMBER,
        re.compile(
            r"\bhow (?:many|much|long|old|often|far|tall|big|fast)\b|"
            r"\bwhat (?:\w+ )?(?:number|percentage|amount|age|price|cost|score)\b|"
            r"\bwie (?:viele?|lange?|alt|oft|weit|groß|hoch|teuer)\b",
            re.IGNORECASE,
        ),
    ),
    (
        Trait.PLACE,
        re.compile(
            r"\bwhere\b|\b(?:what|which) (?:\w+ )?(?:cit(?:y|ies)|countr(?:y|ies)|towns?|"
            r"states?|places?|locations?|venues?)\b|\bwo(?:hin|her)?\b|"
            r"\bwelche[rsmn]? (?:stadt|land|ort|städte|länder|orte)\b",
            re.IGNORECASE,
        ),
    ),
    (
        Trait.PROPER_NOUN,
        re.compile(
            r"\bwho(?:se|m)?\b|\bwhich\b|\b(?:what|which) (?:\w+ ){0,2}(?:names?|titles?|books?|"
            r"movies?|films?|songs?|bands?|games?|brands?|compan(?:y|ies)|teams?|shows?|series|"
            r"authors?|artists?|restaurants?)\b|\bnames? of\b|\bcalled\b|"
            r"\bwer\b|\bwe[mn]\b|\bwessen\b|\bwie hei(?:ß|ss)(?:t|en)\b|"
            r"\bnamen? (?:von|der|des)\b",
            re.IGNORECASE,
        ),
    ),
)


def _find_answer_kinds(text: str) -> Trait:
    kinds = Trait.NONE
    for kind, signs in _ANSWER_KIND_PATTERNS:
        if signs.search(text):
            kinds |= kind
    return kinds
