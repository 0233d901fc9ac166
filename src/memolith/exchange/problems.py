"""Errors as a service tells them, so that its client raises what the library would have."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias

from memolith import errors

if TYPE_CHECKING:
    from collections.abc import Mapping

Fact: TypeAlias = str | int | float | bool | None

UNKNOWN = "about:blank"
"""The type of a problem that is no error of the library (RFC 9457, section 4.2.1)."""

_PREFIX = "urn:memolith:error:"
_WORD = re.compile(r"(?<=[a-z])(?=[A-Z])")


def type_of(error: errors.MemolithError) -> str:
    """Return the type of a problem: the name of the class, or of the nearest above that is known.

    As in "urn:memolith:error:not-found".
    """
    return next(_TYPES[kind] for kind in type(error).__mro__ if kind in _TYPES)


def facts_of(error: errors.MemolithError) -> dict[str, Fact]:
    """Return what an error says of itself beside its message."""
    return {
        name: value
        for name, value in vars(error).items()
        if value is None or isinstance(value, (str, int, float, bool))
    }


def error_of(type_: str, message: str, facts: Mapping[str, Fact]) -> errors.MemolithError | None:
    """Return the error that a type, a message and facts tell of; None: the type is unknown."""
    kind = _KINDS.get(type_)
    if kind is None:
        return None
    error = kind.__new__(kind, message)  # as it was made there: not by what `__init__` takes
    vars(error).update(facts)
    return error


def _name(kind: type[errors.MemolithError]) -> str:
    return _PREFIX + _WORD.sub("-", kind.__name__).lower()


_TYPES: Mapping[type[errors.MemolithError], str] = {
    each: _name(each)
    for each in vars(errors).values()
    if isinstance(each, type) and issubclass(each, errors.MemolithError)
}
_KINDS = {name: kind for kind, name in _TYPES.items()}
