"""Texts read as evidence: what each of their clauses says, how, of whom, and of which days."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

from memolith.text.dates import named_dates
from memolith.text.figures import figures
from memolith.text.folding import fold
from memolith.text.relative_dates import dates_meant
from memolith.text.stances import FIRST_PERSON, NO, YES, Clause, clauses
from memolith.text.wordings import NAME, content_terms, counted_terms, implied_terms

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from datetime import date

    from memolith.text.dates import Days

WORD = re.compile(r"[^\W\d_][\w'’-]*")
"""A word, with what is joined to it."""

_POSSESSIVE = re.compile(r"['’]s?$")
_OWNED = re.compile(r"\b(?:my|our|his|her|their|your)\s+([^\W\d_]+)", re.IGNORECASE)
_THE_USER = re.compile(
    r"\b(?:the|der|die|den|dem|des)\s+(?:user|(?:be)?nutzer(?:in)?)s?\b(?!\s+(?:id|name|interface))"
)
_YOU = re.compile(r"\b(?:you|yours?|du|dein\w*|dir|dich|sie|ihr\w*|ihnen)\b", re.IGNORECASE)
_REST_WORDS = 4
"""A denial of so few words is the rest of what stands before it: "but not coffee". A guess."""


@dataclass(frozen=True, slots=True)
class Said:
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
    in_order: tuple[str, ...]
    words: frozenset[str]
    figures: frozenset[str]
    counted: frozenset[tuple[str, str]]
    denies: bool
    supposes: bool
    of_other: bool
    of_mine: frozenset[str]
    owned: frozenset[str]


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of the sources.

    Attributes:
        places: The text it stands in; where an answer says yes or no to it, the answer's too.
        said: What its clauses say.
        days: The days that its text may mean.
        asks: Whether it is a question that the next text may answer: its words then count for
            the answer, its names and numbers do not.
    """

    places: tuple[int, ...]
    said: tuple[Said, ...]
    days: tuple[Days, ...]
    asks: bool = False


@dataclass(frozen=True, slots=True)
class Sources:
    """Texts that facts may rest on, read once for all of them; made by `sources`."""

    sentences: tuple[Sentence, ...]
    names: frozenset[str]
    years: tuple[int, ...]


def sources(
    texts: Sequence[str],
    said_on: Sequence[date | None] = (),
    names: Iterable[str] = (),
    own: Collection[int] = (),
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
        _read(place, text, day, is_own=place in own)
        for place, (text, day) in enumerate(zip(texts, days, strict=True))
    ]
    years = {one.first.year for found in read for sentence in found for one in sentence.days}
    return Sources(
        sentences=tuple(chain.from_iterable(_answered(read, texts))),
        names=frozenset(fold(word) for name in names for word in WORD.findall(name)),
        years=tuple(sorted(years)),
    )


def words_of(text: str) -> Iterator[str]:
    """Yield the words of a text, folded, without a possessive; those with a hyphen in parts too."""
    for word in WORD.findall(text):
        plain = bare(word)
        yield plain
        yield from plain.split("-")


def bare(word: str) -> str:
    """Return a word folded, without a possessive."""
    return fold(_POSSESSIVE.sub("", word))


def _read(place: int, text: str, day: date | None, *, is_own: bool) -> list[Sentence]:
    days = dates_meant(text, day) if day else _days_named(text)
    return [
        Sentence(
            (place,),
            _of_whom(found, _said_in(found)) if is_own else _said_in(found),
            days,
            asks=any(one.asks for one in found),
        )
        for found in clauses(text)
        if not (is_own and any(_THE_USER.search(fold(one.text)) for one in found))
    ]


def _of_whom(sentence: Sequence[Clause], said: Sequence[Said]) -> tuple[Said, ...]:
    """Return what the user's clauses say, where "you" is whom they speak to."""
    return tuple(
        replace(one, of_other=True, terms=one.terms - {NAME})
        if _YOU.search(clause.text) and not FIRST_PERSON.search(clause.text)
        else one
        for clause, one in zip(sentence, said, strict=True)
    )


def _days_named(text: str) -> tuple[Days, ...]:
    return tuple(days for named in named_dates(text, ()) for days in named.days)


def _said_in(sentence: Sequence[Clause]) -> tuple[Said, ...]:
    """Return what clauses say; "but not coffee" lends its verb from the clause before."""
    said: list[Said] = []
    before: tuple[str, ...] = ()
    for clause in sentence:
        found = content_terms(clause.text)
        is_rest = clause.denies and len(clause.text.split()) <= _REST_WORDS
        said.append(_said(clause, found + before[:1] if is_rest else found))
        before = found
    return tuple(said)


def _said(clause: Clause, found: Sequence[str]) -> Said:
    return Said(
        terms=frozenset(found) | implied_terms(clause.text),
        in_order=tuple(found),
        words=frozenset(words_of(clause.text)),
        figures=figures(clause.text),
        counted=counted_terms(clause.text),
        denies=clause.denies,
        supposes=clause.supposes,
        of_other=clause.of_other,
        of_mine=frozenset(content_terms(clause.of_mine)) if clause.of_mine else frozenset(),
        owned=frozenset(chain.from_iterable(map(content_terms, _OWNED.findall(clause.text)))),
    )


def _answered(
    read: Sequence[Sequence[Sentence]], texts: Sequence[str]
) -> Iterator[Iterator[Sentence]]:
    """Yield each text's sentences: of its questions only the last, as what the next text answers.

    Where that answers yes, or no, the question counts as said, or denied, by both.
    """
    for place, found in enumerate(read):
        following = texts[place + 1] if place + 1 < len(texts) else ""
        yield chain.from_iterable(
            _as_answered(sentence, following) if sentence.asks else (sentence,)
            for at, sentence in enumerate(found)
            if not sentence.asks or at == len(found) - 1
        )


def _as_answered(question: Sentence, answer: str) -> Iterator[Sentence]:
    yield question
    says_no = NO.match(answer) is not None
    if says_no or YES.match(answer):
        (place,) = question.places
        said = tuple(_denied(one) if says_no else one for one in question.said)
        yield Sentence((place, place + 1), said, question.days)


def _denied(said: Said) -> Said:
    return replace(said, denies=not said.denies)
