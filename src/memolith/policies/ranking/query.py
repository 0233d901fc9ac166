"""Dates that a question names, or means as it is asked, as periods in time.

A period is [start, end) in microseconds since 1970, UTC. Messages are held against it by when
they were said, so a question about "8 May 2023" finds what was said that day, which is mostly
what was said about it. Where only a month is named ("in May"), every year's May that lies within
`YEARS` before the instant of asking will do. "Last week" and "last May" are counted from the day of
asking, in UTC.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from memolith.domain.memories import Trait
from memolith.domain.messages import Participant
from memolith.policies.indexing import proper_name
from memolith.policies.ranking.model import Period, Query
from memolith.text.analysis import terms
from memolith.text.dates import DateMention, DateRange, find_dates, mask_dates, resolve_past_dates

MAX_YEARS_BACK = 10
"""How many years back a month without a year may lie. A guess, and a generous one: of two Mays
the better match wins."""

_PAST_WORDS = (
    "last",
    "past",
    "previous",
    "ago",
    "yesterday",
    "letzt",
    "vorig",
    "vergangen",
    "gestern",
)
_MAY_MEAN_PAST = re.compile(rf"{'|'.join(_PAST_WORDS)}|\bvor\b", re.IGNORECASE)
"""Without one of these a question means no past day, and the forms need not be made."""


def find_periods(text: str, now: datetime) -> tuple[Period, ...]:
    """Return the periods that the dates in a text stand for, in the order of their forms."""
    return tuple(dict.fromkeys(_iter_periods(text, now)))


def _iter_periods(text: str, now: datetime) -> Iterator[Period]:
    today = now.astimezone(UTC).date()
    years = range(today.year - MAX_YEARS_BACK + 1, today.year + 1)
    named = [one for one in find_dates(text, years) if not _is_last_month(text, one)]
    for one in named:
        yield from map(_to_period, one.ranges)
    if _MAY_MEAN_PAST.search(text):
        yield from map(_to_period, resolve_past_dates(mask_dates(text, named), today))


def _is_last_month(text: str, one: DateMention) -> bool:
    """Tell whether a date is named as "last May": one month, which `days_past` finds."""
    return one.span.extract(text).lower().split()[0] == "last"


def _to_period(days: DateRange) -> Period:
    begin = _to_microseconds(days.first)
    return begin, begin + days.count_days * 86_400_000_000


def _to_microseconds(day: date) -> int:
    start = datetime(day.year, day.month, day.day, tzinfo=UTC)
    return (start - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


# --- Whether a question asks for several pieces of evidence: a list, a count, an order, a summary


_NO_NOUN = (
    r"(?:is|was|are|were|do|does|did|has|have|had|will|would|can|could|may|might|shall|should|must"
    r"|this|his|its|always|\w+(?:ss|us|is))\b"
)

_SUMS = r"""
\b(?:
  (?:what|which|the|in|chronological)\ order\b
| sequence\ (?:of|in)\b | chronolog\w+
| summar(?:y|ies|i[sz]e\w*)\b | overview\b | recap\b | walk\ me\ through\b
| how\ many\b | total\b | both\b | in\ (?:what|which)\ ways\b
| all\ (?:the|of|my|our)\b | each\ of\b | across\b | throughout\b | between\b | list\b
)"""

_GROWTH = r"""
\bhow\ (?:has|have|had|did)\ (?:my|our|the|his|her|their|\w+'s)\b.{0,80}
    \b(?:progress|evolve|develop|change|grow|improve)
"""

_NOUNS = rf"""
\b(?:
  (?:what|which)(?:\ (?:kinds?|types?|sorts?)\ of)?(?:\ (?!{_NO_NOUN})[\w-]+){{0,2}}?
    \ (?!{_NO_NOUN})[\w-]+s\b(?!\ (?:the|a|an|name)\b)
| (?:what|which|who)\ (?:are|were)\b
)"""

_GERMAN_BREADTH = r"""
\b(?:
  in\ welcher\ reihenfolge\b | reihenfolge\b | chronologisch\w* | zusammenfass\w* | überblick\b
| welche\ \w+(?:en|er|e|s)\b(?=.*\b(?:haben|hatten|sind|waren|habe|kann|können)\b)
| wie\ viele\b | insgesamt\b | beide\w*\b | alle\b | auf\ welche\ weisen?\b | zwischen\b
| liste\b | aufzähl\w*
)"""

_SEVERAL = re.compile(f"{_SUMS}|{_GROWTH}|{_NOUNS}|{_GERMAN_BREADTH}", re.IGNORECASE | re.VERBOSE)


def asks_for_several(text: str) -> bool:
    """Return whether a question asks for more than one piece of evidence can say.

    By words and patterns, English and German: a guess. Of the questions that the ranking's
    weights were fitted on, it is said of half of those with several pieces of evidence, and of one
    in ten of the others.
    """
    straight = text.replace("’", "'")
    return bool(_SEVERAL.search(straight))


# --- What of a question is about the conversation itself, and so stands in no message


_REQUESTS = r"""
(?:can|could|would|will)\ (?:you|we)\ (?:please\ |also\ )?
    (?:tell|remind|show|give|help|list|walk|explain|summari[sz]e|provide|describe|recall|find|go)
    (?:\ me|\ us)?(?:\ (?:with|through|of|over))?
| (?:please\ )?(?:tell|remind)\ me(?:\ (?:of|about))?
| do\ you\ (?:still\ )?(?:remember|recall|know)(?:\ (?:if|whether|that))?
| (?:a\ |the\ )?(?:(?:clear|complete|comprehensive|brief|short|full|detailed|quick)\ )*
    summary\ of(?:\ (?:how|what|everything|all))?
| summari[sz]e(?:\ (?:how|what|everything|all))?
| the\ order\ in\ which
| \ ?(?:in\ order[,.]?\ )?(?:please\ )?mention\ only(?:\ and\ only)?\ \w+\ items
| (?:,\ )?in\ order(?=[.,?!]|$)
| (?:different|various)\ (?:aspects|concepts|ways|things)\ of
"""

_I_PHRASES = r"""
(?:have|had|did|do)\ I\ (?:ever\ |previously\ |also\ |already\ )?
    (?:mention(?:ed)?|say|said|tell|told|bring\ up|brought\ up|talk(?:ed)?\ about|
       describe[d]?|report(?:ed)?|state[d]?|share[d]?|ask(?:ed)?(?:\ (?:you|about))?)
    (?:\ you)?(?:\ (?:that|about))?(?=\W|$)
| (?:that\ |as\ )?I(?:\ have|'ve)?\ (?:ever\ |previously\ |also\ |already\ )?
    (?:mentioned|said|told\ you|brought\ up|talked\ about|reported|stated|asked(?:\ you|\ about)?)
    (?:\ (?:that|about))?(?=\W|$)
"""

_WE_PHRASES = r"""
(?:have|had|did|do)\ we\ (?:ever\ |previously\ |also\ |already\ )?
    (?:discuss(?:ed)?|talk(?:ed)?\ about|cover(?:ed)?|mention(?:ed)?|speak\ about|spoken\ about|
       go\ over|gone\ over)
| (?:that\ |as\ )?we(?:\ have|'ve|'d|\ had|\ were)?\ (?:ever\ |previously\ |been\ |already\ )?
    (?:discussed|discussing|talked\ about|talking\ about|covered|mentioned)(?:\ so\ far)?
"""

_YOU_PHRASES = r"""
(?:have|had|did|do|would|what\ would)\ you\ (?:previously\ |also\ |already\ )?
    (?:recommend(?:ed)?|suggest(?:ed)?|say|said|tell|told|mention(?:ed)?|advise[d]?|propose[d]?)
    (?:\ me)?(?:\ (?:that|to|about))?(?=\W|$)
| (?:that\ |as\ )?you\ (?:previously\ |also\ |already\ )?
    (?:recommended|suggested|said|told\ me|mentioned|advised|proposed)(?=\W|$)
"""

_TALKS = r"""
(?:throughout|across|in|during|over|from)\ (?:all\ )?(?:of\ )?
    (?:our|my|the|these|those|past|previous|earlier)
    \ (?:past\ |previous\ |earlier\ |recent\ |many\ )?
    (?:conversations?|chats?|discussions?|sessions|messages|requests)(?:\ together)?
| (?:as|was|were|is|did|does|do|has|have)?\ ?mention(?:s|ed)?(?:\ (?:that|in|on))?(?=\W|$)
| so\ far(?=\W|$)
| answer\ (?:with\ )?(?:yes\ or\ no|in\ \w+\ words?)
"""

_GERMAN_PHRASING = r"""
(?:kannst|könntest)\ du\ (?:mir\ )?(?:bitte\ )?(?:sagen|zeigen|erklären)?
| (?:sag|sage|nenn|nenne|erinnere)\ (?:mir|mich)(?:\ bitte)?(?:\ (?:an|daran))?
| (?:erinnerst\ du\ dich|weißt\ du\ noch)(?:\ (?:an|daran|ob))?
| (?:habe?|hatte)\ ich(?:\ dir)?(?=\W.*\b(?:gesagt|erzählt|erwähnt|berichtet)\b)
| (?:haben|hatten)\ wir(?=\W.*\b(?:besprochen|gesprochen|geredet)\b)
| (?:hast|hattest)\ du(?:\ mir)?(?=\W.*\b(?:empfohlen|vorgeschlagen|gesagt|geraten)\b)
| (?:gesagt|erzählt|erwähnt|berichtet|besprochen|gesprochen|empfohlen|vorgeschlagen)(?=\W|$)
| in\ (?:unseren|den|unserem|dem)\ (?:letzten\ |früheren\ )?(?:gesprächen?|unterhaltung(?:en)?)
| fasse?\ (?:bitte\ )?(?:zusammen)?
| zusammenfassung\ (?:von|der|des)
"""

_PHRASING = re.compile(
    "|".join(
        rf"(?<!\w)(?:{part})(?!\w)"
        for part in (_REQUESTS, _I_PHRASES, _WE_PHRASES, _YOU_PHRASES, _TALKS, _GERMAN_PHRASING)
    ),
    re.IGNORECASE | re.VERBOSE,
)
_SPACE = re.compile(r"\s+")
_LOOSE = re.compile(r"\s+(?=[,.;:?!])|^[\s,.;:?!]+|[,;:](?=\s*[.?!])|(?<=[?!])\s*\.+$")


def strip_phrasing(text: str) -> str:
    """Return a question without its phrasing about the conversation itself; may be empty."""
    straight = text.replace("’", "'")
    return tidy(_PHRASING.sub(" ", straight))


def tidy(text: str) -> str:
    """Return a text from which words were cut, without the gaps they left."""
    return _LOOSE.sub("", _SPACE.sub(" ", text)).strip()


# --- A question made ready: what to search for, and what it tells about its answer


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
