"""Telling hollow texts."""

from __future__ import annotations

import re
from functools import lru_cache
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

from memolith.text import hollow
from memolith.text.hollow.language import Hollow
from memolith.text.sentences import sentences

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MOST_CHARS = 600
"""A longer text is not looked at as a whole: it says something, if only by its length."""

_OPENING_WORDS = 24
_OPENING_CHARS = 300
_APOSTROPHE = str.maketrans("’‘ʼ`´", "'" * 5)
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")


@lru_cache(maxsize=1)
def languages() -> tuple[Hollow, ...]:
    """Return what every language there is a file for holds, by code."""
    modules = (import_module(f"{hollow.__name__}.{m.name}") for m in iter_modules(hollow.__path__))
    values = (getattr(module, "HOLLOW", None) for module in modules)
    found = (value for value in values if isinstance(value, Hollow))
    return tuple(sorted(found, key=lambda value: value.language))


def in_language(code: str | None) -> Hollow | None:
    """Return what the language of this code has; None: there is no file for it."""
    return next((each for each in languages() if each.language == code), None)


def plain_words(text: str) -> list[str]:
    """Return the words of a text in small letters, without marks."""
    return _WORD.findall(text.translate(_APOSTROPHE).lower())


def filler(text: str) -> str | None:
    """Return what a text is that consists of filler alone ("greeting"), by its first words.

    None where any sentence of it says something, or nothing is said at all.
    """
    if len(text) > MOST_CHARS:
        return None
    found = [_filler_of(" ".join(plain_words(span.of(text)))) for span in sentences(text)]
    names = [name for name in found if name != ""]
    return names[0] if names and all(names) else None


def is_reply(text: str) -> bool:
    """Tell whether a text begins as an assistant's reply does: "Sure, here is …"."""
    return _replies().match(_opening(text)) is not None


def is_recalling(text: str) -> bool:
    """Tell whether a text begins with what somebody is known to have said: "As you told me"."""
    return _recalling().match(_opening(text)) is not None


def is_order(text: str) -> bool:
    """Tell whether a text begins as what a program tells a model: "You are a helpful …"."""
    return _orders().match(_opening(text)) is not None


def is_unfinished(words: Sequence[str]) -> bool:
    """Tell whether a text of these `plain_words` stops before what it is to say: "Lives in"."""
    return _lacking().fullmatch(" ".join(words)) is not None


def _filler_of(sentence: str) -> str | None:
    """Return the name of the first filler in a sentence of filler; None: it says more.

    Empty for a sentence without words. At each place the longest filler counts.
    """
    name, at = "", 0
    while at < len(sentence):
        end, best = max(
            (
                (match.end(), each)
                for each, regex in _fillers()
                if (match := regex.match(sentence, at))
            ),
            default=(at, ""),
        )
        if end == at:
            return None
        name, at = name or best, end + 1
    return name


def _opening(text: str) -> str:
    return " ".join(plain_words(text[:_OPENING_CHARS])[:_OPENING_WORDS])


def _any(patterns: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns))


@lru_cache(maxsize=1)
def _fillers() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple(
        (name, re.compile(rf"(?:{pattern})(?= |$)"))
        for each in languages()
        for name, patterns in each.filler.items()
        for pattern in patterns
    )


@lru_cache(maxsize=1)
def _replies() -> re.Pattern[str]:
    return _any(pattern for each in languages() for pattern in each.replies)


@lru_cache(maxsize=1)
def _recalling() -> re.Pattern[str]:
    return _any(pattern for each in languages() for pattern in each.recalling)


@lru_cache(maxsize=1)
def _orders() -> re.Pattern[str]:
    return _any(pattern for each in languages() for pattern in each.orders)


@lru_cache(maxsize=1)
def _lacking() -> re.Pattern[str]:
    return _any(pattern for each in languages() for pattern in each.lacking)
