"""JSON schemas as the strict modes of services want them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

import msgspec


def build_object_schema(properties: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the schema of an object that has all of these properties, and no others."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": [*properties],
        "additionalProperties": False,
    }


# --- Replies in JSON, read as what they were asked to be


T = TypeVar("T")

MAX_REPLY_CHARS = 64_000
"""The longest reply that is looked into: some ten times what any prompt here allows. A guess."""

MAX_REPLY_DEPTH = 16
"""The deepest nesting; what is asked for takes four."""

_THOUGHT = re.compile(r"\s*<(think(?:ing)?)>.*?(?:</\1>|\Z)", re.DOTALL)
_JSON_TOKEN = re.compile(r'[{}\[\]"]|\\.', re.DOTALL)
_CLOSING_BRACKETS = {"{": "}", "[": "]"}


class InvalidReply(Exception):
    """A reply that is not what was asked for. It says what is wrong, never what was said.

    Attributes:
        problem: What is wrong.
    """

    def __init__(self, problem: str) -> None:
        """Say what is wrong."""
        super().__init__(problem)
        self.problem = problem


def parse_json_reply(text: str, reply_type: type[T]) -> T:
    """Return the one value of that shape in a reply.

    It may stand in a code fence, with text around it, and after a thought; unknown fields are
    passed over. Linear in the length.

    Raises:
        BadReply: There is none, or there are two that differ, or it is too long or too deep.
    """
    if len(text) > MAX_REPLY_CHARS:
        raise InvalidReply(
            f"is {len(text):,} characters long; at most {MAX_REPLY_CHARS:,} are read"
        )
    found: list[T] = []
    problem = "holds no JSON"
    for span in _find_json_spans(_THOUGHT.sub("", text, count=1)):
        try:
            value = msgspec.json.decode(span.encode("utf-8", "replace"), type=reply_type)
        except msgspec.MsgspecError as error:
            problem = f"holds other JSON than was asked for: {error}"
            continue
        if value not in found:
            found.append(value)
    if len(found) > 1:
        raise InvalidReply("holds more than one answer")
    if not found:
        raise InvalidReply(problem)
    return found[0]


def _find_json_spans(text: str) -> Iterator[str]:
    """Yield the stretches that may be a JSON object or array, none within another."""
    start, in_string = 0, False
    still_open: list[str] = []
    for token in _JSON_TOKEN.finditer(text):
        mark = token[0]
        if in_string or mark == '"':
            in_string = bool(still_open) and in_string != (mark == '"')
        elif mark in _CLOSING_BRACKETS:
            start = start if still_open else token.start()
            still_open.append(_CLOSING_BRACKETS[mark])
            if len(still_open) > MAX_REPLY_DEPTH:
                raise InvalidReply(f"is nested deeper than {MAX_REPLY_DEPTH}")
        elif still_open and mark == still_open.pop():
            if not still_open:
                yield text[start : token.end()]
        else:
            still_open.clear()
