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
from memolith.policies.triggers import CompressionTrigger
from memolith.ports.api_keys import KeyRole
from memolith.ports.usage import ModelUsage

_TYPE_NAMES: Mapping[str, object] = {
    name: value
    for module in (base_memory, ingestion, items, memories, messages, owners, recall, work)
    for name, value in vars(module).items()
    if not name.startswith("_")
} | {
    each.__name__: each
    for each in (datetime, Mapping, CompressionTrigger, KeyRole, ModelUsage, Source, Any)
}
"""What the annotations of values name; their own modules import it for type checking only."""


def decode(value: Any, type_: Any) -> Any:
    """Return a value of a type, read from parsed JSON.

    Args:
        value: What was parsed.
        as_: A dataclass, an enumeration, datetime, a plain type, or a tuple, list, mapping or
            union of such.

    Raises:
        ValueError, TypeError, KeyError: It is none of that type.
    """
    origin = get_origin(type_)
    if type_ is Any or origin is Literal:
        return value
    if origin in (Union, types.UnionType):
        return _decode_union(value, get_args(type_))
    if origin in (tuple, list):
        return origin(_decode_items(value, origin, get_args(type_)))
    if origin is not None:  # a mapping
        of = get_args(type_)[1]
        return {key: decode(each, of) for key, each in value.items()}
    if is_dataclass(type_):
        made: Any = type_
        return made(
            **{
                name: decode(value[name], of)
                for name, of in _get_field_types(made)
                if name in value
            }
        )
    return _decode_scalar(value, type_)


def _decode_scalar(value: Any, type_: type) -> Any:
    if type_ is datetime:
        return datetime.fromisoformat(value)
    if issubclass(type_, Enum) or type_ is float:
        return type_(value)
    if not isinstance(value, type_):
        raise TypeError(f"{type(value).__name__} is no {type_.__name__}")
    return value


def _decode_items(values: Any, origin: type, item_types: tuple[Any, ...]) -> Iterable[Any]:
    if not isinstance(values, list):
        raise TypeError(f"{type(values).__name__} is no list")
    if origin is tuple and (len(item_types) != 2 or item_types[1] is not Ellipsis):  # noqa: PLR2004 - tuple[X, ...]
        return (decode(value, each) for value, each in zip(values, item_types, strict=True))
    return (decode(value, item_types[0]) for value in values)


def _decode_union(value: Any, alternatives: tuple[Any, ...]) -> Any:
    """Return a value of that type of several of whose fields it has most."""
    if value is None and type(None) in alternatives:
        return None
    rest = [each for each in alternatives if each is not type(None)]
    if len(rest) > 1:
        given = set(value)
        rest.sort(
            key=lambda each: len(given.intersection(name for name, _ in _get_field_types(each)))
        )
    return decode(value, rest[-1])


@cache
def _get_field_types(cls: Any) -> tuple[tuple[str, Any], ...]:
    """Return the fields of a dataclass with their types."""
    hints = get_type_hints(cls, localns=dict(_TYPE_NAMES))
    return tuple((each.name, hints[each.name]) for each in fields(cls))


def encode(value: object, field: str) -> Any:
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
        return {each.name: encode(getattr(value, each.name), field) for each in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): encode(each, field) for key, each in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, (bytes, bytearray)):
        return [encode(each, field) for each in value]
    raise InvalidInput(field, f"can't be sent to a service: it is a {type(value).__name__}")
