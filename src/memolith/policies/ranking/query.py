"""Analyse questions: strip names and phrasing, and find dates and other cues of the answer.

A period is [start, end) in microseconds since 1970, UTC. Messages match it by their time: a
question about "8 May 2023" finds messages of that day. A month without a year matches that month of
each of the last `MAX_YEARS_BACK` years. "Last week" and "last May" are relative to the current day
in UTC.
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
"""Number of years in which a month without a year is searched. A guess, and a generous one: of two
years the better match wins.
"""

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
"""Skips the search for relative dates in questions without one of these words."""


def find_periods(text: str, now: datetime) -> tuple[Period, ...]:
    """Return the periods of the dates in a text, without duplicates."""
    return tuple(dict.fromkeys(_iter_periods(text, now)))


def _iter_periods(text: str, now: datetime) -> Iterator[Period]:
    today = now.astimezone(UTC).date()
    years = range(today.year - MAX_YEARS_BACK + 1, today.year + 1)
    mentions = [one for one in find_dates(text, years) if not _is_last_month(text, one)]
    for one in mentions:
        yield from map(_to_period, one.ranges)
    if _MAY_MEAN_PAST.search(text):
        yield from map(_to_period, resolve_past_dates(mask_dates(text, mentions), today))


def _is_last_month(text: str, one: DateMention) -> bool:
    """Return whether a date has the form "last May", which `resolve_past_dates` handles."""
    return one.span.extract(text).lower().split()[0] == "last"


def _to_period(days: DateRange) -> Period:
    begin = _to_microseconds(days.first)
    return begin, begin + days.count_days * 86_400_000_000


def _to_microseconds(day: date) -> int:
    start = datetime(day.year, day.month, day.day, tzinfo=UTC)
    return (start - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


# --- Questions for several pieces of evidence


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
    """Return whether a question asks for several pieces of evidence.

    Uses English and German patterns. On the questions that the ranking was fitted on, they match
    half of those with several pieces of evidence, and one in ten of the others.
    """
    normalised = text.replace("’", "'")
    return bool(_SEVERAL.search(normalised))


# --- Phrases about the conversation itself


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
    """Remove phrases about the conversation itself from a question; may return an empty text."""
    normalised = text.replace("’", "'")
    return tidy(_PHRASING.sub(" ", normalised))


def tidy(text: str) -> str:
    """Clean up spaces and punctuation after words were removed."""
    return _LOOSE.sub("", _SPACE.sub(" ", text)).strip()


# --- Query preparation


@dataclass(frozen=True, slots=True)
class QueryCues:
    """Cues about the answer to a question.

    Attributes:
        only_named: Number of the named participant, if the question names exactly one.
        is_about_user: Whether the user asks about themselves: in the first person, and not about
            the words of the assistant.
        periods: Periods of the named dates; see `find_periods`.
        asks_time: Whether it asks for a time.
        answer_kinds: Which of number, place and proper noun it asks for.
        asks_several: Whether it asks for several pieces of evidence: a list, a count, an order, a
            summary.
    """

    only_named: int | None = None
    is_about_user: bool = False
    periods: tuple[Period, ...] = ()
    asks_time: bool = False
    answer_kinds: Trait = Trait.NONE
    asks_several: bool = False


NO_CUES = QueryCues()


def get_cues(query: Query) -> QueryCues:
    """Return the cues of a query; none if another ranking prepared it."""
    return query.cues if isinstance(query.cues, QueryCues) else NO_CUES


def prepare_query(text: str, participants: Sequence[Participant], now: datetime) -> Query:
    """Return a query without names and phrasing, with its cues.

    Keywords include the names of participants that it mentions. If nothing would remain to search
    for, the text is unchanged.
    """
    named = _find_named(text, participants)
    stripped = strip_phrasing(text)
    dense = next(filter(_has_content, (_strip_names(stripped, named), stripped)), text)
    words = [*terms(dense), *(term for person in named for term in terms(person.name or ""))]
    query_terms = tuple(dict.fromkeys(words))
    cues = find_cues(text, named, now)
    return Query(text, dense, query_terms, cues, periods=cues.periods, uses_context_window=True)


def _has_content(text: str) -> bool:
    """Return whether a text has more than stop words."""
    return terms(f"{text} {_PROBE_WORD}") != [_PROBE_WORD]


_PROBE_WORD = "memolith"


def find_cues(text: str, named: Sequence[Participant], now: datetime) -> QueryCues:
    """Return the cues of a question that names the given participants."""
    numbers = {person.number for person in named}
    return QueryCues(
        only_named=numbers.pop() if len(numbers) == 1 else None,
        is_about_user=bool(_FIRST_PERSON.search(text)) and not _WHAT_YOU_SAID.search(text),
        periods=find_periods(text, now),
        asks_time=bool(_ASKS_TIME.search(text)),
        answer_kinds=_find_answer_kinds(text),
        asks_several=asks_for_several(text),
    )


# --- Names


def _find_named(text: str, participants: Sequence[Participant]) -> list[Participant]:
    """Return the participants whose name, or a part of it, occurs in the text."""
    return [person for person in participants if _is_named(_name_variants(person), text)]


def _is_named(names: Sequence[str], text: str) -> bool:
    # The substring check avoids compiling patterns for thousands of names, half a second.
    return any(name in text for name in names) and _compile_names(names).search(text) is not None


def _strip_names(text: str, named: Sequence[Participant]) -> str:
    for person in named:
        text = _compile_names(_name_variants(person)).sub(" ", text)
    return tidy(text)


def _name_variants(person: Participant) -> tuple[str, ...]:
    """Return a participant's full name and its capitalised parts; none for a role."""
    full_name = proper_name(person.name)
    if full_name is None:
        return ()
    return (full_name, *(part for part in full_name.split() if len(part) > 1 and part[0].isupper()))


def _compile_names(names: Sequence[str]) -> re.Pattern[str]:
    """Return a pattern that matches a name as a word, also with a possessive ending."""
    alternatives = "|".join(map(re.escape, names))
    return re.compile(rf"(?<!\w)(?:{alternatives})(?:['’]?s|['’])?(?!\w)")


# --- Cues

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
