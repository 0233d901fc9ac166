"""Regular expressions that are compiled when they are first used.

Compiling those of the modules that a recall loads took a fifth of the time until its answer, and
most of them look for what only stands in texts to be stored.
"""

from __future__ import annotations

import re
from typing import cast

_METHODS = ("search", "match", "fullmatch", "split", "findall", "finditer", "sub", "subn")


def expression(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Return what does as `re.compile(pattern, flags)`, where only its own methods are called.

    What is wrong in it is raised at its first use.
    """
    return cast("re.Pattern[str]", _Expression(pattern, flags))


class _Expression:
    """Stands for a compiled pattern, whose methods become its own at first use."""

    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern = pattern
        self.flags = flags

    def __getattr__(self, name: str) -> object:
        if name not in _METHODS:
            raise AttributeError(f"an expression has no {name!r}", name=name, obj=self)
        compiled = re.compile(self.pattern, self.flags)
        # From now on there is nothing between the caller and the pattern.
        self.__dict__.update((each, getattr(compiled, each)) for each in _METHODS)
        return self.__dict__[name]
