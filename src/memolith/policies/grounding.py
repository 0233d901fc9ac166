"""Whether what a model took from texts is said there.

By words, not by meaning: a fact is supported where a few sentences in a row hold its names and
numbers and its other words, in the same stance (stated, denied, supposed), and speak of the same
person as far as that shows. What is told in quite other words is not supported: a true fact that
is not recalled costs less than an invented one that is. It can't tell who does what to whom
("Anna owes Bob"), and a fact in another language than its source is never supported.
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
"""How many sentences in a row may support a fact together. A guess."""

WORDS_PER_MISS = 6
"""Of so many words of a fact, names and numbers aside, one may be missing in the source; of fewer
none. A guess, held against made-up cases alone (`tests/samples_of_support.py`): at 4 and less more
inventions pass, and with none to spare long facts in a model's own words are lost."""

_WEEK, _MONTH = 7, 31
_PREFIX_CHARS = 4
_HAS = re.compile(r"\bhat\b")  # an English word, and so no stop word
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
    """What a fact rests on.

    Attributes:
        places: The texts that support it, ascending.
        origin: Where it comes from: the least trusted of the texts that it takes to support it.
    """

    places: tuple[int, ...]
    origin: Origin


@dataclass(frozen=True, slots=True)
class _FactPart:
    """What a clause of a fact says, and what of it must be said in its source.

    Attributes:
        names: Words that must stand there as they are.
        terms: Other words, of which some may be missing, in order.
        musts: Those of them that may not.
        figures: Numbers.
        counted: What is counted, and how many.
        dates: What each date may mean, and its numbers and month as they are spelled.
        calendar: Weekdays and months by themselves.
        denies: Whether it says that something is not so.
        supposes: Whether it says that something may be.
        role: What it says that somebody is: "a doctor"; not so who speaks of "my doctor".
        about: All terms of the fact where it speaks of the user, else None.
    """

    names: frozenset[str]
    terms: tuple[str, ...]
    required_terms: frozenset[str]
    figures: frozenset[str]
    counted: frozenset[tuple[str, str]]
    dates: tuple[tuple[Sequence[DateRange], frozenset[str]], ...]
    calendar: frozenset[str]
    denies: bool
    supposes: bool
    role: str = ""
    about: frozenset[str] | None = None

    @property
    def has_content(self) -> bool:
        """Whether there is anything to be held against a source."""
        return bool(self.names or self.terms or self.figures or self.dates or self.calendar)

    def is_about_same_person(self, clause: ClauseContent) -> bool:
        """Tell whether a clause may speak of whom the fact speaks."""
        if self.about is None:
            return True
        about = self.about
        if self.role and self.role in clause.possessions:
            return False
        return (not clause.of_other or NAME_TERM in clause.terms) and (
            not clause.of_mine or any(_is_covered(term, about) for term in clause.of_mine)
        )

    def has_same_stance(self, clause: ClauseContent) -> bool:
        """Tell whether a clause takes the same stance: a wish supports no statement."""
        return clause.denies == self.denies and (self.supposes or not clause.supposes)


def find_support(fact: str, evidence: Sources) -> tuple[int, ...]:
    """Return the places of the texts that support a fact, ascending; empty: it is not supported.

    Where a text supports it alone, all that do are returned; else those that do together.
    """
    return _find_supporting_texts(_read_parts(fact, evidence), evidence.sentences)


def find_grounding(fact: str, evidence: Sources, origins: Sequence[Origin]) -> Grounding | None:
    """Return what a fact rests on where only the most trusted texts count that suffice.

    A question of the assistant lends its words to the user's answer, and is not needed for it;
    to a mere "yes" it is.

    Args:
        fact: What a model took from the texts.
        told: The texts.
        origins: Where each comes from.

    Returns:
        None where it is not supported.
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
    """Return how many names, numbers and dates of a text stand nowhere in the sources.

    In a text whose nouns are all capitalised only known names count as names.
    """
    said = [one for sentence in evidence.sentences for one in sentence.clauses]
    words = frozenset(chain.from_iterable(one.words for one in said))
    numbers = frozenset(chain.from_iterable(one.figures for one in said))
    days = tuple(chain.from_iterable(sentence.days for sentence in evidence.sentences))
    return sum(
        len(part.names - words)
        + len(part.figures - numbers)
        + sum(not _is_dated(date, spelled, words | numbers, days) for date, spelled in part.dates)
        + sum(word not in words and not _matches_calendar(word, days) for word in part.calendar)
        for part in _read_parts(text, evidence)
    )


def names_and_numbers(text: str) -> frozenset[str]:
    """Return the names and numbers of a text, folded; days and months are none."""
    parts = _read_parts(text, read_sources(()))
    return frozenset(chain.from_iterable(part.names | part.figures for part in parts))


def words_and_numbers(text: str) -> frozenset[str]:
    """Return all words and numbers of a text as `names_and_numbers` spells them."""
    return frozenset(iter_words(text)) | parse_numbers(text)


def _trust_rank(origin: Origin, among: Iterable[Origin]) -> int:
    return sum(is_outranked(origin, by=other) for other in set(among))


# --- reading a fact -------------------------------------------------------------------------------


def _read_parts(fact: str, evidence: Sources) -> tuple[_FactPart, ...]:
    first = WORD.search(fact)
    is_named = first is not None and fold(first[0]) in evidence.names
    of_user = is_named or _OF_USER.match(fact) is not None
    parts = [
        _read_part(one, evidence, opens=place == 0)
        for sentence in split_clauses(fact)
        for place, one in enumerate(sentence)
    ]
    about = frozenset(chain.from_iterable(part.terms for part in parts))
    return tuple(
        replace(part, about=about if of_user else None) for part in parts if part.has_content
    )


def _read_part(clause: Clause, evidence: Sources, *, opens: bool) -> _FactPart:
    dates = tuple(find_dates(clause.text, evidence.years))
    rest = mask_dates(clause.text, dates)
    words = _sort_words(rest, evidence.names, opens=opens)
    must, other = content_terms(words.required), content_terms(words.ordinary)
    role = _ROLE.search(clause.text)
    return _FactPart(
        names=words.names,
        terms=tuple(term for term in (*must, *other) if _is_word(term)),
        required_terms=frozenset(must) | CONTRASTS.intersection(other),
        figures=parse_numbers(rest),
        counted=counted_terms(rest),
        dates=tuple(
            (one.ranges, _find_spelled_parts(one.span.extract(clause.text))) for one in dates
        ),
        calendar=words.calendar,
        denies=clause.is_negated,
        supposes=clause.is_hypothetical,
        role=next(iter(content_terms(role[1])[-1:]), "") if role else "",
    )


@dataclass(frozen=True, slots=True)
class _ClauseWords:
    """The words of a clause, by what must be found of them."""

    names: frozenset[str]
    calendar: frozenset[str]
    required: str
    ordinary: str


def _sort_words(text: str, owner: frozenset[str], *, opens: bool) -> _ClauseWords:
    """Sort the words of a clause; where every noun has a capital only known names are names."""
    is_loose = guess_language(WORD.findall(text)) == "de"
    names: list[str] = []
    musts: list[str] = []
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
            musts += [word] if plain not in _USER and plain not in owner else []
        elif plain not in _USER and plain not in owner:
            names.append(plain)
    told = "".join([*ordinary, text[end:]])
    return _ClauseWords(
        frozenset(names),
        frozenset(calendar),
        " ".join(musts),
        _HAS.sub(" ", told) if is_loose else told,
    )


def _is_known(word: str) -> bool:
    plain = word.replace("’", "'").removesuffix("'s")
    return plain in CAPITALISED_NAMES or plain.lower() in LOWERCASE_NAMES


def _is_word(term: str) -> bool:
    """Tell whether a term is no number, in figures or words: these are held against numbers."""
    return (
        not term[0].isdigit()
        and term not in NUMBER_TERMS
        and (term not in STOP_WORDS or term in CONTRASTS)
    )


def _find_spelled_parts(text: str) -> frozenset[str]:
    months = (fold(word) for word in WORD.findall(text))
    return parse_numbers(text) | {word for word in months if word in MONTHS}


# --- holding the two against each other -----------------------------------------------------------


def _find_supporting_texts(
    parts: Sequence[_FactPart], sentences: Sequence[SourceSentence]
) -> tuple[int, ...]:
    """Return the texts of the smallest windows of sentences that support all parts of a fact."""
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
    """Return whether a sentence has any word of a fact, the ends of words aside."""
    beginnings = {term[:_PREFIX_CHARS] for part in parts for term in part.terms}
    exact = frozenset(chain.from_iterable((*part.names, *part.calendar) for part in parts))
    numbers = frozenset(
        chain.from_iterable((*part.figures, *chain(*(d for _, d in part.dates))) for part in parts)
    )

    def touches(sentence: SourceSentence) -> bool:
        return any(
            not said.words.isdisjoint(exact)
            or not said.figures.isdisjoint(numbers)
            or any(term[:_PREFIX_CHARS] in beginnings for term in said.terms)
            for said in sentence.clauses
        )

    return touches


def _find_window_support(parts: Sequence[_FactPart], window: Sequence[SourceSentence]) -> set[int]:
    """Return the texts of a window that support a fact; none where one part is not supported."""
    places: set[int] = set()
    for part in parts:
        found = _find_part_support(part, window)
        if not found:
            return set()
        places |= found
    return places


def _find_part_support(part: _FactPart, window: Sequence[SourceSentence]) -> set[int]:
    stated = [
        (one, said)
        for one in window
        if not one.is_question
        for said in one.clauses
        if part.is_about_same_person(said)
    ]
    like = [(one, said) for one, said in stated if part.has_same_stance(said)]
    like_said = [said for _, said in like]
    unlike = [said for _, said in stated if not part.has_same_stance(said)]
    words = frozenset(chain.from_iterable(said.words for _, said in like))
    numbers = frozenset(chain.from_iterable(said.figures for _, said in like))
    days = [day for one in window for day in one.days]
    if not (
        part.names <= words
        and part.figures <= numbers
        and _has_same_counts(part, like_said)
        and all(_is_dated(dates, spelled, words | numbers, days) for dates, spelled in part.dates)
        and all(word in words or _matches_calendar(word, days) for word in part.calendar)
    ):
        return set()
    known = frozenset(chain.from_iterable(said.terms for _, said in like))
    missing = [term for term in part.terms if not _is_covered(term, known)]
    found = {
        place for one, said in like if _contributes(part, said, one.days) for place in one.places
    }
    if found:  # an answer
        asked = frozenset(
            chain.from_iterable(s.terms for one in window if one.is_question for s in one.clauses)
        )
        missing = [term for term in missing if not _is_covered(term, asked)]
    denied = frozenset(chain.from_iterable(said.terms for said in unlike))
    if any(
        term in part.required_terms
        or _is_covered(term, denied)
        or _is_replaced(term, part.terms, like_said)
        for term in missing
    ):
        return set()
    return found if len(missing) <= len(part.terms) // WORDS_PER_MISS else set()


def _has_same_counts(part: _FactPart, clauses_alike: Iterable[ClauseContent]) -> bool:
    """Tell whether nothing that a fact counts is only counted otherwise in a source."""
    known = frozenset(chain.from_iterable(said.counted for said in clauses_alike))
    told = frozenset(term for term, _ in known)
    return all(term not in told or (term, number) in known for term, number in part.counted)


def _contributes(part: _FactPart, clause: ClauseContent, days: Sequence[DateRange]) -> bool:
    """Tell whether a clause brings anything that a fact needs."""
    return (
        any(_is_covered(term, clause.terms) for term in part.terms)
        or not clause.words.isdisjoint(part.names | part.calendar)
        or not clause.figures.isdisjoint(part.figures)
        or any(
            _is_dated(dates, spelled, clause.words | clause.figures, days)
            for dates, spelled in part.dates
        )
    )


def _is_replaced(term: str, terms: Sequence[str], clauses_alike: Iterable[ClauseContent]) -> bool:
    """Tell whether another word stands in a source where a fact has this: a green sofa, a red."""
    place = terms.index(term)
    if not 0 < place < len(terms) - 1:
        return False
    before, after = terms[place - 1], terms[place + 1]
    for said in clauses_alike:
        order = said.ordered_terms
        if before in order and after in order:
            between = order[order.index(before) + 1 : order.index(after)]
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
    """Tell whether a date stands there, or is what is meant there, and not told more exactly."""
    return spelled <= words or any(
        date.overlaps(day) and day.count_days <= max(date.count_days, _WEEK)
        for date in dates
        for day in days
    )


def _matches_calendar(word: str, days: Sequence[DateRange]) -> bool:
    """Tell whether a weekday is that of a day that is meant, or a month holds what is meant."""
    if word in WEEKDAYS:
        return any(day.count_days == 1 and day.first.weekday() == WEEKDAYS[word] for day in days)
    return any(
        day.count_days <= _MONTH and MONTHS[word] in {day.first.month, day.last.month}
        for day in days
    )
