"""JSON schemas as the strict modes of services want them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


def build_object_schema(properties: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the schema of an object that has all of these properties, and no others."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": [*properties],
        "additionalProperties": False,
    }
