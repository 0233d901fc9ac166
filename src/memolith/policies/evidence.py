"""Parse texts into evidence: terms, numbers, dates, stance and subject of each clause."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import chain

from memolith.text.dates import DateRange, find_dates, resolve_dates
from memolith.text.deobfuscation import fold
from memolith.text.numbers import parse_numbers
from memolith.text.polarity import (
    FIRST_PERSON_PATTERN,
    NO_PATTERN,
    YES_PATTERN,
    Clause,
    split_clauses,
)
from memolith.text.synonyms import NAME_TERM, content_terms, counted_terms, implied_terms

WORD = re.compile(r"[^\W\d_][\w'’-]*")
"""A word, with apostrophes and hyphens inside it."""

_POSSESSIVE = re.compile(r"['’]s?$")
_POSSESSION = re.compile(r"\b(?:my|our|his|her|their|your)\s+([^\W\d_]+)", re.IGNORECASE)
_THE_USER = re.compile(
    r"\b(?:the|der|die|den|dem|des)\s+(?:user|(?:be)?nutzer(?:in)?)s?\b(?!\s+(?:id|name|interface))"
)
_SECOND_PERSON = re.compile(
    r"\b(?:you|yours?|du|dein\w*|dir|dich|sie|ihr\w*|ihnen)\b", re.IGNORECASE
)
_MAX_REMAINDER_WORDS = 4
"""A denial of at most this many words continues the clause before: "but not coffee". A guess."""


@dataclass(frozen=True, slots=True)
class ClauseContent:
    """The content of a clause of a source.

    Attributes:
        terms: Its terms, and those that they imply.
        ordered_terms: Its terms, in order.
        words: Its folded words, to match names.
        numbers: Its numbers.
        counted: Counted terms with their numbers.
        is_negated: Whether it is negated; see `Clause`.
        is_hypothetical: Whether it is hypothetical.
        is_about_other: Whether it is about another person.
        possessed_terms: Terms of the noun that the speaker possesses: "my sister".
        possessions: Terms of everything that anybody possesses: "my doctor".
    """

    terms: frozenset[str]
    ordered_terms: tuple[str, ...]
    words: frozenset[str]
    numbers: frozenset[str]
    counted: frozenset[tuple[str, str]]
    is_negated: bool
    is_hypothetical: bool
    is_about_other: bool
    possessed_terms: frozenset[str]
    possessions: frozenset[str]


@dataclass(frozen=True, slots=True)
class SourceSentence:
    """A sentence of the sources.

    Attributes:
        places: Index of its text; if an answer confirms or denies it, also that of the answer.
        clauses: The content of its clauses.
        days: The dates that it may refer to.
        is_question: Whether the next text may answer it. Its words then count for the answer, its
            names and numbers do not.
    """

    places: tuple[int, ...]
    clauses: tuple[ClauseContent, ...]
    days: tuple[DateRange, ...]
    is_question: bool = False


@dataclass(frozen=True, slots=True)
class Sources:
    """Source texts, parsed once for all facts by `read_sources`."""

    sentences: tuple[SourceSentence, ...]
    names: frozenset[str]
    years: tuple[int, ...]


def read_sources(
    texts: Sequence[str],
    dates: Sequence[date | None] = (),
    names: Iterable[str] = (),
    user_texts: Collection[int] = (),
) -> Sources:
    """Parse source texts for `find_support`.

    Args:
        texts: In chronological order.
        dates: The date of each text, None if unknown, to resolve "yesterday"; empty: all unknown.
        names: Names of the owner. In a fact they denote the user and need no match in a text.
        user_texts: Indexes of texts that the user wrote. There, a sentence with "the user" is a
            quotation or about somebody else, hence no evidence. Statements to "you" are not about
            them.
    """
    days = dates or [None] * len(texts)
    read = [
        _read_text(place, text, day, is_own=place in user_texts)
        for place, (text, day) in enumerate(zip(texts, days, strict=True))
    ]
    years = {
        one.first.year
        for sentences_read in read
        for sentence in sentences_read
        for one in sentence.days
    }
    return Sources(
        sentences=tuple(chain.from_iterable(_apply_answers(read, texts))),
        names=frozenset(fold(word) for name in names for word in WORD.findall(name)),
        years=tuple(sorted(years)),
    )


def iter_words(text: str) -> Iterator[str]:
    """Yield the folded words of a text, without possessives; hyphenated words also in parts."""
    for word in WORD.findall(text):
        plain = fold_word(word)
        yield plain
        yield from plain.split("-")


def fold_word(word: str) -> str:
    """Return a folded word without its possessive ending."""
    return fold(_POSSESSIVE.sub("", word))


def _read_text(place: int, text: str, day: date | None, *, is_own: bool) -> list[SourceSentence]:
    days = resolve_dates(text, day) if day else _find_named_days(text)
    return [
        SourceSentence(
            (place,),
            _mark_second_person(clauses, _read_clauses(clauses))
            if is_own
            else _read_clauses(clauses),
            days,
            is_question=any(one.is_question for one in clauses),
        )
        for clauses in split_clauses(text)
        if not (is_own and any(_THE_USER.search(fold(one.text)) for one in clauses))
    ]


def _mark_second_person(
    sentence: Sequence[Clause], contents: Sequence[ClauseContent]
) -> tuple[ClauseContent, ...]:
    """Mark clauses of the user about "you" as about somebody else."""
    return tuple(
        replace(one, is_about_other=True, terms=one.terms - {NAME_TERM})
        if _SECOND_PERSON.search(clause.text) and not FIRST_PERSON_PATTERN.search(clause.text)
        else one
        for clause, one in zip(sentence, contents, strict=True)
    )


def _find_named_days(text: str) -> tuple[DateRange, ...]:
    return tuple(days for mention in find_dates(text, ()) for days in mention.ranges)


def _read_clauses(sentence: Sequence[Clause]) -> tuple[ClauseContent, ...]:
    """Return the content of clauses; "but not coffee" takes its verb from the clause before."""
    clauses: list[ClauseContent] = []
    before: tuple[str, ...] = ()
    for clause in sentence:
        clause_terms = content_terms(clause.text)
        is_rest = clause.is_negated and len(clause.text.split()) <= _MAX_REMAINDER_WORDS
        clauses.append(_read_clause(clause, clause_terms + before[:1] if is_rest else clause_terms))
        before = clause_terms
    return tuple(clauses)


def _read_clause(clause: Clause, clause_terms: Sequence[str]) -> ClauseContent:
    return ClauseContent(
        terms=frozenset(clause_terms) | implied_terms(clause.text),
        ordered_terms=tuple(clause_terms),
        words=frozenset(iter_words(clause.text)),
        numbers=parse_numbers(clause.text),
        counted=counted_terms(clause.text),
        is_negated=clause.is_negated,
        is_hypothetical=clause.is_hypothetical,
        is_about_other=clause.is_about_other,
        possessed_terms=frozenset(content_terms(clause.possessed_noun))
        if clause.possessed_noun
        else frozenset(),
        possessions=frozenset(
            chain.from_iterable(map(content_terms, _POSSESSION.findall(clause.text)))
        ),
    )


def _apply_answers(
    read: Sequence[Sequence[SourceSentence]], texts: Sequence[str]
) -> Iterator[Iterator[SourceSentence]]:
    """Yield the sentences of each text; of its questions, only a final one.

    If the next text answers yes or no, both texts count as stating or denying the question.
    """
    for place, sentences in enumerate(read):
        following = texts[place + 1] if place + 1 < len(texts) else ""
        yield chain.from_iterable(
            _apply_answer(sentence, following) if sentence.is_question else (sentence,)
            for at, sentence in enumerate(sentences)
            if not sentence.is_question or at == len(sentences) - 1
        )


def _apply_answer(question: SourceSentence, answer: str) -> Iterator[SourceSentence]:
    yield question
    is_no = NO_PATTERN.match(answer) is not None
    if is_no or YES_PATTERN.match(answer):
        (place,) = question.places
        clauses = tuple(_negate(one) if is_no else one for one in question.clauses)
        yield SourceSentence((place, place + 1), clauses, question.days)


def _negate(content: ClauseContent) -> ClauseContent:
    return replace(content, is_negated=not content.is_negated)
