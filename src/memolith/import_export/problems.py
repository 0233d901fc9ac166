"""Conversion between errors and problem details (RFC 9457), for the service and its client."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TypeAlias

from memolith import errors

ErrorFact: TypeAlias = str | int | float | bool | None

UNKNOWN_PROBLEM = "about:blank"
"""The type of problems that are not errors of the library (RFC 9457, section 4.2.1)."""

_PREFIX = "urn:memolith:error:"
_WORD_BOUNDARY = re.compile(r"(?<=[a-z])(?=[A-Z])")


def get_problem_type(error: errors.MemolithError) -> str:
    """Return the problem type of an error, named after its class or the nearest known base class.

    An example is "urn:memolith:error:not-found".
    """
    return next(_PROBLEM_TYPES[kind] for kind in type(error).__mro__ if kind in _PROBLEM_TYPES)


def get_error_facts(error: errors.MemolithError) -> dict[str, ErrorFact]:
    """Return the attributes of an error."""
    return {
        name: value
        for name, value in vars(error).items()
        if value is None or isinstance(value, (str, int, float, bool))
    }


def build_error(
    type_: str, message: str, facts: Mapping[str, ErrorFact]
) -> errors.MemolithError | None:
    """Return the error for a problem type, a message and attributes. None: unknown type."""
    kind = _ERROR_CLASSES.get(type_)
    if kind is None:
        return None
    error = kind.__new__(kind, message)  # `__init__` would compose another message
    vars(error).update(facts)
    return error


def _build_type_name(kind: type[errors.MemolithError]) -> str:
    return _PREFIX + _WORD_BOUNDARY.sub("-", kind.__name__).lower()


_PROBLEM_TYPES: Mapping[type[errors.MemolithError], str] = {
    each: _build_type_name(each)
    for each in vars(errors).values()
    if isinstance(each, type) and issubclass(each, errors.MemolithError)
}
_ERROR_CLASSES = {name: kind for kind, name in _PROBLEM_TYPES.items()}
