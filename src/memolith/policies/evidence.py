"""Texts read as evidence: what each of their clauses says, how, of whom, and of which days."""

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
"""A word, with what is joined to it."""

_POSSESSIVE = re.compile(r"['’]s?$")
_POSSESSION = re.compile(r"\b(?:my|our|his|her|their|your)\s+([^\W\d_]+)", re.IGNORECASE)
_THE_USER = re.compile(
    r"\b(?:the|der|die|den|dem|des)\s+(?:user|(?:be)?nutzer(?:in)?)s?\b(?!\s+(?:id|name|interface))"
)
_SECOND_PERSON = re.compile(
    r"\b(?:you|yours?|du|dein\w*|dir|dich|sie|ihr\w*|ihnen)\b", re.IGNORECASE
)
_MAX_REMAINDER_WORDS = 4
"""A denial of so few words is the rest of what stands before it: "but not coffee". A guess."""


@dataclass(frozen=True, slots=True)
class ClauseContent:
    """What a clause of a source says.

    Attributes:
        terms: What stands in it, and what it implies.
        in_order: What stands in it, in order.
        words: Its words, folded, to hold names against.
        figures: Its numbers.
        counted: What it counts, and how many.
        denies: See `Clause`; so the next three.
        supposes: …
        of_other: …
        of_mine: … as terms.
        owned: Whom and what somebody calls theirs: "my doctor".
    """

    terms: frozenset[str]
    ordered_terms: tuple[str, ...]
    words: frozenset[str]
    figures: frozenset[str]
    counted: frozenset[tuple[str, str]]
    denies: bool
    supposes: bool
    of_other: bool
    of_mine: frozenset[str]
    possessions: frozenset[str]


@dataclass(frozen=True, slots=True)
class SourceSentence:
    """A sentence of the sources.

    Attributes:
        places: The text it stands in; where an answer says yes or no to it, the answer's too.
        said: What its clauses say.
        days: The days that its text may mean.
        asks: Whether it is a question that the next text may answer: its words then count for
            the answer, its names and numbers do not.
    """

    places: tuple[int, ...]
    clauses: tuple[ClauseContent, ...]
    days: tuple[DateRange, ...]
    is_question: bool = False


@dataclass(frozen=True, slots=True)
class Sources:
    """Texts that facts may rest on, read once for all of them; made by `sources`."""

    sentences: tuple[SourceSentence, ...]
    names: frozenset[str]
    years: tuple[int, ...]


def read_sources(
    texts: Sequence[str],
    said_on: Sequence[date | None] = (),
    names: Iterable[str] = (),
    user_texts: Collection[int] = (),
) -> Sources:
    """Return texts as `supported_by` looks at them.

    Args:
        texts: In the order they were said.
        said_on: The day each was said, where it is known, to tell what "yesterday" means; empty:
            none is known.
        names: Of the owner: in a fact they stand for the user, and need not stand in a text.
        own: The places of texts that the user speaks. Nobody calls themselves "the user" there:
            a sentence with these words is a quotation, or of somebody else, and no evidence. Nor
            is what they say to "you" said of them.
    """
    days = said_on or [None] * len(texts)
    read = [
        _read_text(place, text, day, is_own=place in user_texts)
        for place, (text, day) in enumerate(zip(texts, days, strict=True))
    ]
    years = {one.first.year for found in read for sentence in found for one in sentence.days}
    return Sources(
        sentences=tuple(chain.from_iterable(_apply_answers(read, texts))),
        names=frozenset(fold(word) for name in names for word in WORD.findall(name)),
        years=tuple(sorted(years)),
    )


def iter_words(text: str) -> Iterator[str]:
    """Yield the words of a text, folded, without a possessive; those with a hyphen in parts too."""
    for word in WORD.findall(text):
        plain = fold_word(word)
        yield plain
        yield from plain.split("-")


def fold_word(word: str) -> str:
    """Return a word folded, without a possessive."""
    return fold(_POSSESSIVE.sub("", word))


def _read_text(place: int, text: str, day: date | None, *, is_own: bool) -> list[SourceSentence]:
    days = resolve_dates(text, day) if day else _find_named_days(text)
    return [
        SourceSentence(
            (place,),
            _mark_second_person(found, _read_clauses(found)) if is_own else _read_clauses(found),
            days,
            is_question=any(one.is_question for one in found),
        )
        for found in split_clauses(text)
        if not (is_own and any(_THE_USER.search(fold(one.text)) for one in found))
    ]


def _mark_second_person(
    sentence: Sequence[Clause], contents: Sequence[ClauseContent]
) -> tuple[ClauseContent, ...]:
    """Return what the user's clauses say, where "you" is whom they speak to."""
    return tuple(
        replace(one, of_other=True, terms=one.terms - {NAME_TERM})
        if _SECOND_PERSON.search(clause.text) and not FIRST_PERSON_PATTERN.search(clause.text)
        else one
        for clause, one in zip(sentence, contents, strict=True)
    )


def _find_named_days(text: str) -> tuple[DateRange, ...]:
    return tuple(days for named in find_dates(text, ()) for days in named.ranges)


def _read_clauses(sentence: Sequence[Clause]) -> tuple[ClauseContent, ...]:
    """Return what clauses say; "but not coffee" lends its verb from the clause before."""
    said: list[ClauseContent] = []
    before: tuple[str, ...] = ()
    for clause in sentence:
        found = content_terms(clause.text)
        is_rest = clause.is_negated and len(clause.text.split()) <= _MAX_REMAINDER_WORDS
        said.append(_read_clause(clause, found + before[:1] if is_rest else found))
        before = found
    return tuple(said)


def _read_clause(clause: Clause, found: Sequence[str]) -> ClauseContent:
    return ClauseContent(
        terms=frozenset(found) | implied_terms(clause.text),
        ordered_terms=tuple(found),
        words=frozenset(iter_words(clause.text)),
        figures=parse_numbers(clause.text),
        counted=counted_terms(clause.text),
        denies=clause.is_negated,
        supposes=clause.is_hypothetical,
        of_other=clause.is_about_other,
        of_mine=frozenset(content_terms(clause.possessed_noun))
        if clause.possessed_noun
        else frozenset(),
        possessions=frozenset(
            chain.from_iterable(map(content_terms, _POSSESSION.findall(clause.text)))
        ),
    )


def _apply_answers(
    read: Sequence[Sequence[SourceSentence]], texts: Sequence[str]
) -> Iterator[Iterator[SourceSentence]]:
    """Yield each text's sentences: of its questions only the last, as what the next text answers.

    Where that answers yes, or no, the question counts as said, or denied, by both.
    """
    for place, found in enumerate(read):
        following = texts[place + 1] if place + 1 < len(texts) else ""
        yield chain.from_iterable(
            _apply_answer(sentence, following) if sentence.is_question else (sentence,)
            for at, sentence in enumerate(found)
            if not sentence.is_question or at == len(found) - 1
        )


def _apply_answer(question: SourceSentence, answer: str) -> Iterator[SourceSentence]:
    yield question
    says_no = NO_PATTERN.match(answer) is not None
    if says_no or YES_PATTERN.match(answer):
        (place,) = question.places
        said = tuple(_negate(one) if says_no else one for one in question.clauses)
        yield SourceSentence((place, place + 1), said, question.days)


def _negate(content: ClauseContent) -> ClauseContent:
    return replace(content, denies=not content.denies)
