"""Values of the library, read from what a service sends; and arguments, as it takes them."""

from __future__ import annotations

import math
import types
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from enum import Enum
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from memolith.domain import base_memory, ingestion, items, memories, messages, owners, recall, work
from memolith.domain.memories import Source
from memolith.errors import InvalidInput
from memolith.policies.triggers import Trigger
from memolith.ports.api_keys import KeyRole
from memolith.ports.usage import Spent

_NAMES: Mapping[str, object] = {
    name: value
    for module in (base_memory, ingestion, items, memories, messages, owners, recall, work)
    for name, value in vars(module).items()
    if not name.startswith("_")
} | {each.__name__: each for each in (datetime, Mapping, Trigger, KeyRole, Spent, Source, Any)}
"""What the annotations of values name; their own modules import it for type checking only."""


def decoded(value: Any, as_: Any) -> Any:
    """Return a value of a type, read from parsed JSON.

    Args:
        value: What was parsed.
        as_: A dataclass, an enumeration, datetime, a plain type, or a tuple, list, mapping or
            union of such.

    Raises:
        ValueError, TypeError, KeyError: It is none of that type.
    """
    origin = get_origin(as_)
    if as_ is Any or origin is Literal:
        return value
    if origin in (Union, types.UnionType):
        return _one_of(value, get_args(as_))
    if origin in (tuple, list):
        return origin(_several(value, origin, get_args(as_)))
    if origin is not None:  # a mapping
        of = get_args(as_)[1]
        return {key: decoded(each, of) for key, each in value.items()}
    if is_dataclass(as_):
        made: Any = as_
        return made(
            **{name: decoded(value[name], of) for name, of in _parts(made) if name in value}
        )
    return _plain(value, as_)


def _plain(value: Any, as_: type) -> Any:
    if as_ is datetime:
        return datetime.fromisoformat(value)
    if issubclass(as_, Enum) or as_ is float:
        return as_(value)
    if not isinstance(value, as_):
        raise TypeError(f"{type(value).__name__} is no {as_.__name__}")
    return value


def _several(values: Any, origin: type, of: tuple[Any, ...]) -> Iterable[Any]:
    if not isinstance(values, list):
        raise TypeError(f"{type(values).__name__} is no list")
    if origin is tuple and (len(of) != 2 or of[1] is not Ellipsis):  # noqa: PLR2004 - tuple[X, ...]
        return (decoded(value, each) for value, each in zip(values, of, strict=True))
    return (decoded(value, of[0]) for value in values)


def _one_of(value: Any, kinds: tuple[Any, ...]) -> Any:
    """Return a value of that type of several of whose fields it has most."""
    if value is None and type(None) in kinds:
        return None
    rest = [each for each in kinds if each is not type(None)]
    if len(rest) > 1:
        given = set(value)
        rest.sort(key=lambda each: len(given.intersection(name for name, _ in _parts(each))))
    return decoded(value, rest[-1])


@cache
def _parts(of: Any) -> tuple[tuple[str, Any], ...]:
    """Return the fields of a dataclass with their types."""
    hints = get_type_hints(of, localns=dict(_NAMES))
    return tuple((each.name, hints[each.name]) for each in fields(of))


def encoded(value: object, field: str) -> Any:
    """Return an argument as JSON has it: instants in ISO 8601, what is like a list as a list.

    Args:
        value: The argument.
        field: Its name, for the error.

    Raises:
        InvalidInput: There is no such thing in JSON.
    """
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidInput(field, f"is {value}; must be a number")
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, datetime):
        return value.isoformat()
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: encoded(getattr(value, each.name), field) for each in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): encoded(each, field) for key, each in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, (bytes, bytearray)):
        return [encoded(each, field) for each in value]
    raise InvalidInput(field, f"can't be sent to a service: it is a {type(value).__name__}")
