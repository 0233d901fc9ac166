"""Check whether facts extracted by a model are supported by their source texts.

The check compares words, not meaning. A fact is supported by a few consecutive sentences that
contain its names, numbers and other words, in the same stance (stated, denied, hypothetical) and
about the same person. Paraphrases in entirely different words are not supported: losing a true fact
costs less than recalling an invented one. The check cannot distinguish roles ("Anna owes Bob"), and
never supports a fact in another language than its source.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from memolith.domain.memories import Origin
from memolith.policies.evidence import (
    WORD,
    ClauseContent,
    Sources,
    SourceSentence,
    fold_word,
    iter_words,
    read_sources,
)
from memolith.policies.trust import get_least_trusted, is_outranked
from memolith.text.dates import MONTHS, WEEKDAYS, DateRange, find_dates, mask_dates
from memolith.text.deobfuscation import fold
from memolith.text.language_id import guess_language
from memolith.text.lexicon import STOP_WORDS
from memolith.text.lexicon.names import CAPITALISED_NAMES, LOWERCASE_NAMES
from memolith.text.numbers import parse_numbers
from memolith.text.polarity import Clause, split_clauses
from memolith.text.synonyms import (
    CONTRASTS,
    NAME_TERM,
    NUMBER_TERMS,
    content_terms,
    counted_terms,
    is_same_word,
)

SUPPORT_WINDOW = 4
"""Maximum number of consecutive sentences that support a fact together. A guess."""

WORDS_PER_MISS = 6
"""One word may be missing in the source for each this many words, names and numbers aside. A guess,
checked on made-up cases (`tests/corpora/grounding.py`): at 4 and below more inventions pass, and
without misses long paraphrased facts are lost.
"""

_WEEK, _MONTH = 7, 31
_PREFIX_CHARS = 4
_HAS = re.compile(r"\bhat\b")  # also an English word, hence not a stop word
_ROLE = re.compile(
    r"\b(?:is|was|became) an?\s+((?:[^\W\d_]+\s+){0,3}?[^\W\d_]+)"
    r"(?=\s+(?:in|at|for|of|from|who|and|with|by|to|on)\b|\W*$)",
    re.IGNORECASE,
)
_USER = frozenset({"user", "nutzer", "nutzerin", "benutzer", "assistant", "assistent"})
_OF_USER = re.compile(
    r"\W*(?:(?:the|der|die)\s+)?(?:user|nutzer|nutzerin|benutzer)\s", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Grounding:
    """The evidence for a fact.

    Attributes:
        places: Indexes of the supporting texts, ascending.
        origin: The least trusted origin of these texts.
    """

    places: tuple[int, ...]
    origin: Origin


@dataclass(frozen=True, slots=True)
class _FactPart:
    """A clause of a fact, with what its source must contain.

    Attributes:
        names: Words that must match exactly.
        terms: Other words in order; some may be missing.
        required_terms: Those of `terms` that must match.
        numbers: Numbers.
        counted: Counted terms with their numbers.
        dates: For each date its possible ranges, and its numbers and month as spelled.
        calendar: Weekdays and months outside of dates.
        is_negated: Whether the clause is negated.
        is_hypothetical: Whether the clause is hypothetical.
        role: The role that it gives to somebody ("a doctor"); "my doctor" is no evidence for it.
        about: All terms of the fact if it is about the user, otherwise None.
    """

    names: frozenset[str]
    terms: tuple[str, ...]
    required_terms: frozenset[str]
    numbers: frozenset[str]
    counted: frozenset[tuple[str, str]]
    dates: tuple[tuple[Sequence[DateRange], frozenset[str]], ...]
    calendar: frozenset[str]
    is_negated: bool
    is_hypothetical: bool
    role: str = ""
    about: frozenset[str] | None = None

    @property
    def has_content(self) -> bool:
        """Whether there is anything to check."""
        return bool(self.names or self.terms or self.numbers or self.dates or self.calendar)

    def is_about_same_person(self, clause: ClauseContent) -> bool:
        """Return whether a clause may be about the person of the fact."""
        if self.about is None:
            return True
        about = self.about
        if self.role and self.role in clause.possessions:
            return False
        return (not clause.is_about_other or NAME_TERM in clause.terms) and (
            not clause.possessed_terms
            or any(_is_covered(term, about) for term in clause.possessed_terms)
        )

    def has_same_stance(self, clause: ClauseContent) -> bool:
        """Return whether a clause has the same stance; a wish supports no statement."""
        return clause.is_negated == self.is_negated and (
            self.is_hypothetical or not clause.is_hypothetical
        )


def find_support(fact: str, evidence: Sources) -> tuple[int, ...]:
    """Return the indexes of the texts that support a fact, ascending; empty if unsupported.

    If single texts support it, all of these are returned; otherwise those that support it together.
    """
    return _find_supporting_texts(_read_parts(fact, evidence), evidence.sentences)


def find_grounding(fact: str, evidence: Sources, origins: Sequence[Origin]) -> Grounding | None:
    """Return the evidence for a fact, from the most trusted texts that suffice.

    A question of the assistant contributes its words to the user's answer, but is evidence only if
    the answer is a mere "yes".

    Args:
        fact: Extracted by a model from the texts.
        evidence: The parsed texts.
        origins: The origin of each text.

    Returns:
        None if the fact is unsupported.
    """
    parts = _read_parts(fact, evidence)
    for limit in sorted(set(origins), key=lambda origin: _trust_rank(origin, origins)):
        allowed = [not is_outranked(origin, by=limit) for origin in origins]
        places = _find_supporting_texts(
            parts,
            [
                one
                for one in evidence.sentences
                if all(allowed[place] for place in one.places)
                or (one.is_question and origins[one.places[0]] is Origin.ASSISTANT)
            ],
        )
        if places:
            return Grounding(places, get_least_trusted(*(origins[place] for place in places)))
    return None


def count_ungrounded(text: str, evidence: Sources) -> int:
    """Return the number of names, numbers and dates of a text that the sources lack.

    In a language that capitalises all nouns, only known names count as names.
    """
    clauses = [one for sentence in evidence.sentences for one in sentence.clauses]
    words = frozenset(chain.from_iterable(one.words for one in clauses))
    numbers = frozenset(chain.from_iterable(one.numbers for one in clauses))
    days = tuple(chain.from_iterable(sentence.days for sentence in evidence.sentences))
    return sum(
        len(part.names - words)
        + len(part.numbers - numbers)
        + sum(not _is_dated(date, spelled, words | numbers, days) for date, spelled in part.dates)
        + sum(word not in words and not _matches_calendar(word, days) for word in part.calendar)
        for part in _read_parts(text, evidence)
    )


def names_and_numbers(text: str) -> frozenset[str]:
    """Return the names and numbers of a text, folded, without days and months."""
    parts = _read_parts(text, read_sources(()))
    return frozenset(chain.from_iterable(part.names | part.numbers for part in parts))


def words_and_numbers(text: str) -> frozenset[str]:
    """Return all words and numbers of a text, spelled as in `names_and_numbers`."""
    return frozenset(iter_words(text)) | parse_numbers(text)


def _trust_rank(origin: Origin, among: Iterable[Origin]) -> int:
    return sum(is_outranked(origin, by=other) for other in set(among))


# --- Parsing facts


def _read_parts(fact: str, evidence: Sources) -> tuple[_FactPart, ...]:
    first = WORD.search(fact)
    is_named = first is not None and fold(first[0]) in evidence.names
    is_about_user = is_named or _OF_USER.match(fact) is not None
    parts = [
        _read_part(one, evidence, opens=place == 0)
        for sentence in split_clauses(fact)
        for place, one in enumerate(sentence)
    ]
    about = frozenset(chain.from_iterable(part.terms for part in parts))
    return tuple(
        replace(part, about=about if is_about_user else None) for part in parts if part.has_content
    )


def _read_part(clause: Clause, evidence: Sources, *, opens: bool) -> _FactPart:
    dates = tuple(find_dates(clause.text, evidence.years))
    undated = mask_dates(clause.text, dates)
    words = _sort_words(undated, evidence.names, opens=opens)
    required, ordinary = content_terms(words.required), content_terms(words.ordinary)
    role = _ROLE.search(clause.text)
    return _FactPart(
        names=words.names,
        terms=tuple(term for term in (*required, *ordinary) if _is_word(term)),
        required_terms=frozenset(required) | CONTRASTS.intersection(ordinary),
        numbers=parse_numbers(undated),
        counted=counted_terms(undated),
        dates=tuple(
            (one.ranges, _find_spelled_parts(one.span.extract(clause.text))) for one in dates
        ),
        calendar=words.calendar,
        is_negated=clause.is_negated,
        is_hypothetical=clause.is_hypothetical,
        role=next(iter(content_terms(role[1])[-1:]), "") if role else "",
    )


@dataclass(frozen=True, slots=True)
class _ClauseWords:
    """The words of a clause, by how they must match."""

    names: frozenset[str]
    calendar: frozenset[str]
    required: str
    ordinary: str


def _sort_words(text: str, owner: frozenset[str], *, opens: bool) -> _ClauseWords:
    """Sort the words of a clause; in German, only known names are names."""
    is_loose = guess_language(WORD.findall(text)) == "de"
    names: list[str] = []
    required: list[str] = []
    ordinary: list[str] = []
    calendar: list[str] = []
    end = 0
    for place, match in enumerate(WORD.finditer(text)):
        word, plain = match[0], fold_word(match[0])
        ordinary.append(text[end : match.start()])
        end = match.end()
        if not word[0].isupper() or (plain in STOP_WORDS and not word.isupper()) or word == "I":
            ordinary.append("" if plain in _USER or plain in owner else word)
        elif plain in MONTHS or plain in WEEKDAYS:
            calendar.append(plain)
        elif (is_loose or (opens and place == 0)) and not _is_known(word):
            required += [word] if plain not in _USER and plain not in owner else []
        elif plain not in _USER and plain not in owner:
            names.append(plain)
    remaining = "".join([*ordinary, text[end:]])
    return _ClauseWords(
        frozenset(names),
        frozenset(calendar),
        " ".join(required),
        _HAS.sub(" ", remaining) if is_loose else remaining,
    )


def _is_known(word: str) -> bool:
    plain = word.replace("’", "'").removesuffix("'s")
    return plain in CAPITALISED_NAMES or plain.lower() in LOWERCASE_NAMES


def _is_word(term: str) -> bool:
    """Return whether a term is not a number; numbers are compared separately."""
    return (
        not term[0].isdigit()
        and term not in NUMBER_TERMS
        and (term not in STOP_WORDS or term in CONTRASTS)
    )


def _find_spelled_parts(text: str) -> frozenset[str]:
    months = (fold(word) for word in WORD.findall(text))
    return parse_numbers(text) | {word for word in months if word in MONTHS}


# --- Matching facts with sources


def _find_supporting_texts(
    parts: Sequence[_FactPart], sentences: Sequence[SourceSentence]
) -> tuple[int, ...]:
    """Return the texts of the smallest windows of sentences that support a whole fact."""
    if not parts:
        return ()
    touched = _build_filter(parts)
    for size in range(1, SUPPORT_WINDOW + 1):
        places: set[int] = set()
        for start in range(len(sentences) - size + 1):
            if touched(sentences[start]):
                places |= _find_window_support(parts, sentences[start : start + size])
        if places:
            return tuple(sorted(places))
    return ()


def _build_filter(parts: Sequence[_FactPart]) -> Callable[[SourceSentence], bool]:
    """Return a predicate: whether a sentence shares any word with a fact, endings aside."""
    beginnings = {term[:_PREFIX_CHARS] for part in parts for term in part.terms}
    exact = frozenset(chain.from_iterable((*part.names, *part.calendar) for part in parts))
    numbers = frozenset(
        chain.from_iterable((*part.numbers, *chain(*(d for _, d in part.dates))) for part in parts)
    )

    def may_support(sentence: SourceSentence) -> bool:
        return any(
            not clause.words.isdisjoint(exact)
            or not clause.numbers.isdisjoint(numbers)
            or any(term[:_PREFIX_CHARS] in beginnings for term in clause.terms)
            for clause in sentence.clauses
        )

    return may_support


def _find_window_support(parts: Sequence[_FactPart], window: Sequence[SourceSentence]) -> set[int]:
    """Return the texts of a window that support a fact; empty if any part is unsupported."""
    places: set[int] = set()
    for part in parts:
        support = _find_part_support(part, window)
        if not support:
            return set()
        places |= support
    return places


def _find_part_support(part: _FactPart, window: Sequence[SourceSentence]) -> set[int]:
    pairs = [
        (one, clause)
        for one in window
        if not one.is_question
        for clause in one.clauses
        if part.is_about_same_person(clause)
    ]
    agreeing = [(one, clause) for one, clause in pairs if part.has_same_stance(clause)]
    agreeing_clauses = [clause for _, clause in agreeing]
    disagreeing = [clause for _, clause in pairs if not part.has_same_stance(clause)]
    words = frozenset(chain.from_iterable(clause.words for _, clause in agreeing))
    numbers = frozenset(chain.from_iterable(clause.numbers for _, clause in agreeing))
    days = [day for one in window for day in one.days]
    if not (
        part.names <= words
        and part.numbers <= numbers
        and _has_same_counts(part, agreeing_clauses)
        and all(_is_dated(dates, spelled, words | numbers, days) for dates, spelled in part.dates)
        and all(word in words or _matches_calendar(word, days) for word in part.calendar)
    ):
        return set()
    known_terms = frozenset(chain.from_iterable(clause.terms for _, clause in agreeing))
    missing = [term for term in part.terms if not _is_covered(term, known_terms)]
    support = {
        place
        for one, clause in agreeing
        if _contributes(part, clause, one.days)
        for place in one.places
    }
    if support:  # an answer: the words of its question count too
        question_terms = frozenset(
            chain.from_iterable(s.terms for one in window if one.is_question for s in one.clauses)
        )
        missing = [term for term in missing if not _is_covered(term, question_terms)]
    denied = frozenset(chain.from_iterable(clause.terms for clause in disagreeing))
    if any(
        term in part.required_terms
        or _is_covered(term, denied)
        or _is_replaced(term, part.terms, agreeing_clauses)
        for term in missing
    ):
        return set()
    return support if len(missing) <= len(part.terms) // WORDS_PER_MISS else set()


def _has_same_counts(part: _FactPart, agreeing: Iterable[ClauseContent]) -> bool:
    """Return whether no counted term of a fact has only other numbers in the source."""
    counts = frozenset(chain.from_iterable(clause.counted for clause in agreeing))
    counted_terms = frozenset(term for term, _ in counts)
    return all(
        term not in counted_terms or (term, number) in counts for term, number in part.counted
    )


def _contributes(part: _FactPart, clause: ClauseContent, days: Sequence[DateRange]) -> bool:
    """Return whether a clause contains anything that a fact needs."""
    return (
        any(_is_covered(term, clause.terms) for term in part.terms)
        or not clause.words.isdisjoint(part.names | part.calendar)
        or not clause.numbers.isdisjoint(part.numbers)
        or any(
            _is_dated(dates, spelled, clause.words | clause.numbers, days)
            for dates, spelled in part.dates
        )
    )


def _is_replaced(term: str, terms: Sequence[str], agreeing: Iterable[ClauseContent]) -> bool:
    """Return whether the source has another word in the same place: a green sofa, a red sofa."""
    place = terms.index(term)
    if not 0 < place < len(terms) - 1:
        return False
    before, after = terms[place - 1], terms[place + 1]
    for clause in agreeing:
        others = clause.ordered_terms
        if before in others and after in others:
            between = others[others.index(before) + 1 : others.index(after)]
            if len(between) == 1 and between[0] not in terms:
                return True
    return False


def _is_covered(term: str, known: frozenset[str]) -> bool:
    return term in known or any(is_same_word(term, one) for one in known)


def _is_dated(
    dates: Sequence[DateRange],
    spelled: frozenset[str],
    words: frozenset[str],
    days: Sequence[DateRange],
) -> bool:
    """Return whether a date is spelled out, or overlaps a date that is not much more precise."""
    return spelled <= words or any(
        date.overlaps(day) and day.count_days <= max(date.count_days, _WEEK)
        for date in dates
        for day in days
    )


def _matches_calendar(word: str, days: Sequence[DateRange]) -> bool:
    """Return whether a weekday or month matches one of the dates."""
    if word in WEEKDAYS:
        return any(day.count_days == 1 and day.first.weekday() == WEEKDAYS[word] for day in days)
    return any(
        day.count_days <= _MONTH and MONTHS[word] in {day.first.month, day.last.month}
        for day in days
    )
