"""Word lists by language: stop words, cues, discourse markers and filler, one module per language.

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
"""Stop words of all languages, because the terms of a word must not depend on the surrounding
text."""


@lru_cache
def load_languages(kind: type[T], package: str = __name__) -> tuple[T, ...]:
    """Return the values of a type from a package's language modules, ordered by language code."""
    path = import_module(package).__path__
    modules = (import_module(f"{package}.{each.name}") for each in iter_modules(path))
    values: list[Any] = [v for m in modules for v in vars(m).values() if isinstance(v, kind)]
    return tuple(sorted(values, key=lambda value: value.language))
