"""The words of each language: stop words, cues, discourse markers and filler, one file a language.

To add a language, add a module beside `en` and `de` that defines the same values.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, TypeVar

from memolith.text.lexicon.de import STOP_WORDS as GERMAN
from memolith.text.lexicon.en import STOP_WORDS as ENGLISH

T = TypeVar("T")

STOP_WORDS = ENGLISH | GERMAN
"""One list for all texts: the terms of a word must not depend on the text around it."""


@lru_cache
def load_languages(kind: type[T]) -> tuple[T, ...]:
    """Return the values of a type that the language files define, ordered by language code."""
    modules = (import_module(f"{__name__}.{each.name}") for each in iter_modules(__path__))
    values: list[Any] = [v for m in modules for v in vars(m).values() if isinstance(v, kind)]
    return tuple(sorted(values, key=lambda value: value.language))
