"""What fields are made of."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

EXAMPLE_ID = "019f2b6e-58a0-7c3e-9d51-2f6f0c1b7a10"
EXAMPLE_INSTANT = "2026-03-01T12:00:00Z"

_NO_CONTROL = "[^\\x00-\\x1f\\x7f-\\x9f]"
_NAME = rf"^{_NO_CONTROL}*[^\s\x00-\x1f\x7f-\x9f]{_NO_CONTROL}*$"

Name = Annotated[str, Field(min_length=1, max_length=256, pattern=_NAME)]
"""Of a session, a tag, a key, a speaker."""

Text = Annotated[str, Field(min_length=1, pattern=r"\S")]

Lifetime = Annotated[
    str, Field(pattern=r"^([1-9]\d{0,5}[dhm])?$", description="At most 365 days.", examples=["90d"])
]

_MAX_DEPTH = 100
"""Schemas of tools nest some twenty deep; from a thousand on JSON is not written. A guess."""


def _require_number(value: object) -> object:
    """Refuse what is no number, though it could be taken for one."""
    if isinstance(value, (bool, str)):
        raise ValueError("must be a number")  # noqa: TRY004 - what pydantic expects
    return value


def is_too_deep(value: object) -> bool:
    """Tell whether a value is nested deeper than anything that is worth reading."""
    level = [value]
    for _ in range(_MAX_DEPTH):
        level = [
            inner
            for each in level
            if isinstance(each, dict | list)
            for inner in (each.values() if isinstance(each, dict) else each)
        ]
    return bool(level)


def _require_encodable(value: Any) -> Any:
    """Refuse what can't be answered, as it can't be encoded: lone surrogates, endless depths."""
    if is_too_deep(value):
        raise ValueError("is nested too deep")
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ValueError("holds a lone surrogate") from None
    return value


Importance = Annotated[float, BeforeValidator(_require_number), Field(ge=0, le=1, examples=[0.8])]

Count = Annotated[int, BeforeValidator(_require_number)]

JsonObject = Annotated[dict[str, Any], AfterValidator(_require_encodable)]

Id = Annotated[
    str, Field(description="UUIDv7.", examples=[EXAMPLE_ID], json_schema_extra={"format": "uuid"})
]

Instant = Annotated[datetime, Field(examples=[EXAMPLE_INSTANT])]

Mode = Literal["hybrid", "vector", "keyword"]
