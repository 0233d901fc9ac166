"""Edits to roles, order and direction."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import Final

from corpora.meaning_edits.edits import any_of, at_start, like, put
from corpora.meaning_edits.words import (
    ENGLISH_CUES,
    ENGLISH_VERBS,
    GERMAN_CUES,
    WORDS,
    language_of,
    listed,
)

_DETERMINERS: Final = listed("the a an my your his her our their this that")
_JOINING: Final = listed(
    """and or nor with is are was were be & und oder sowie mit ist sind war waren married marries
    met meets meet resembles equals als as well heiratete heiratet"""
)
_PHRASE_END: Final = re.compile(
    r"\s*(?:$|[^\w\s]|(?:\w+(?:ed|s)|[A-Z]\w*|in|on|at|to|of|by|for|from|with|and|or|is|was|are|"
    r"were|will|can|must|has|had|have|not|than|that|who|when|before|after|about|because|but|"
    + "|".join(past for _, _, past in ENGLISH_VERBS.values())
    + r")\b)"
)
_NAME: Final = re.compile(
    r"(?:(?:Dr|Mr|Mrs|Ms|Prof|St)\. )?[^\W\d_a-zäöüß][\w’-]*(?: [^\W\d_a-zäöüß][\w-]+)*"
)
_NOUN_PHRASE: Final = re.compile(
    rf"\b(?:{'|'.join(sorted(_DETERMINERS))}) (?!(?:day|week|month|year|hour|minute)\b)"
    r"[a-z]+(?: [a-z]+)?",
    re.IGNORECASE,
)


@cache
def _no_names() -> frozenset[str]:
    """Return words that may start a sentence and are not names."""
    new = {word for kinds in WORDS.values() for kind, exchanges in kinds.items()
           for words in exchanges.values() for entry in words for word in entry.split()
           if word[0].islower() or kind in {"weekday", "month", "unit"}}  # fmt: skip
    old = {word for kind, exchanges in WORDS["en"].items() if kind != "name" for word in exchanges}
    lower = {word.lower() for word in new | old}
    return frozenset(lower | ENGLISH_CUES | GERMAN_CUES | {"us", "i've", "i'll", "then"})


def _names(sentence: str) -> Iterator[tuple[int, int]]:
    for match in _NAME.finditer(sentence):
        words = [word.group() for word in re.finditer(r"\S+", match.group())]
        start = match.start()
        while words and words[0].lower().replace("’", "'") in _no_names():
            start += len(words.pop(0)) + 1
        if words and not any(word.lower() in _no_names() for word in words):
            yield start, match.end()


def _noun_phrases(sentence: str) -> Iterator[tuple[int, int]]:
    for match in _NOUN_PHRASE.finditer(sentence):
        words = match.group().split(" ")
        short = match.start() + len(" ".join(words[:2]))
        if _PHRASE_END.match(sentence, short):
            yield match.start(), short
        elif _PHRASE_END.match(sentence, match.end()):
            yield match.span()


def _same_class(sentence: str) -> Iterator[list[tuple[int, int]]]:
    """Yield lists of exchangeable spans, ordered by position."""
    noun_phrases = list(_noun_phrases(sentence)) if language_of(sentence) == "en" else []
    yield sorted([*_names(sentence), *noun_phrases])
    for kind in ("weekday", "month"):
        words = tuple(WORDS[language_of(sentence)][kind])
        yield [match.span() for match in any_of(words).finditer(sentence)
               if match.group()[0].isupper()]  # fmt: skip


def _exchanged(sentence: str, one: tuple[int, int], other: tuple[int, int]) -> str:
    first, second = sentence[slice(*one)], sentence[slice(*other)]
    if at_start(sentence, one[0]) and first.split()[0].lower() in _DETERMINERS:
        first = first[0].lower() + first[1:]
    if at_start(sentence, one[0]):
        second = second[0].upper() + second[1:]
    return sentence[: one[0]] + second + sentence[one[1] : other[0]] + first + sentence[other[1] :]


def _between(sentence: str, spans: list[tuple[int, int]]) -> list[str]:
    """Return the words between the first and the last span, without those in spans."""
    gaps = (sentence[one[1] : other[0]] for one, other in pairwise(spans))
    return [word for gap in gaps for word in re.findall(r"[\w&]+", gap.lower())]


def roles(sentence: str) -> Iterator[str]:
    """Exchange two names, noun phrases, weekdays or months, unless they are merely joined."""
    for spans in _same_class(sentence):
        pairs = [*pairwise(spans), *([(spans[0], spans[-1])] if spans[2:] else [])]
        for one, other in pairs:
            words = _between(sentence, spans[spans.index(one) : spans.index(other) + 1])
            related = set(words) - _JOINING and words[-1] not in {"with", "mit"}
            if one[1] < other[0] and related:
                yield _exchanged(sentence, one, other)


_ORDERS: Final = (
    re.compile(r"\bfirst,? (?P<x>[^,.;]+?),? (?:and )?then (?P<y>[^,.;!?]+)", re.IGNORECASE),
    re.compile(
        r"\b(?:zuerst|erst) (?P<x>[^,.;]+?),? (?:und )?dann (?P<y>[^,.;!?]+)", re.IGNORECASE
    ),
    re.compile(r"^(?P<x>[^,.;]+?),? (?:and )?then (?P<y>[^,.;!?]+)", re.IGNORECASE),
    re.compile(r"^(?P<x>[^,.;]+?),? (?:und )?dann (?P<y>[^,.;!?]+)", re.IGNORECASE),
)  # fmt: skip


def order(sentence: str) -> Iterator[str]:
    """Reverse "first X, then Y"."""
    for pattern in _ORDERS:
        if match := pattern.search(sentence):
            yield _exchanged(sentence, match.span("x"), match.span("y"))
            return


_FROM_TO: Final = re.compile(r"\b(from|to) (\S+(?: \S+)?) (from|to)\b", re.IGNORECASE)
_NO_WAY: Final = "".join(
    f"(?<!{word} )"
    for word in sorted(
        listed("married engaged according due thanks next close related allergic similar")
    )
)
_WAYS: Final[tuple[tuple[re.Pattern[str], str], ...]] = (
    (re.compile(r"\bfrom(?= (?:[A-Z]|the |my |his |her |our |their ))"), "to"),
    (re.compile(_NO_WAY + r"\bto(?= (?:[A-Z]|the |my |his |her |our |their ))"), "from"),
    (re.compile(r"\b(?:aus|von)(?= [A-ZÄÖÜ])"), "nach"),
    (re.compile(r"\bnach(?= (?!Hause\b)[A-ZÄÖÜ])"), "aus"),
    (re.compile(r"\bzum\b"), "vom"),
    (re.compile(r"\bvom\b"), "zum"),
    (re.compile(r"\bzur\b"), "von der"),
)


def from_to(sentence: str) -> Iterator[str]:
    """Reverse a direction: exchange "from" and "to", both if both occur."""
    if (match := _FROM_TO.search(sentence)) and match.group(1) != match.group(3):
        one, other = like(match.group(1), match.group(3).lower()), match.group(1).lower()
        yield put(sentence, *match.span(), f"{one} {match.group(2)} {other}")
        return
    for pattern, new in _WAYS:
        for match in pattern.finditer(sentence):
            yield put(sentence, *match.span(), new)
