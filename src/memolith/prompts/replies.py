"""JSON replies of models: build their schemas, and parse them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

import msgspec


def build_object_schema(properties: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the schema of an object with exactly these properties, all required.

    The strict modes of model services require this form.
    """
    return {
        "type": "object",
        "properties": dict(properties),
        "required": [*properties],
        "additionalProperties": False,
    }


# --- Parsing


T = TypeVar("T")

MAX_REPLY_CHARS = 64_000
"""Longest reply that is parsed, in characters: about ten times what any prompt allows. A guess."""

MAX_REPLY_DEPTH = 16
"""Maximum nesting; the schemas here need four levels."""

_THOUGHT = re.compile(r"\s*<(think(?:ing)?)>.*?(?:</\1>|\Z)", re.DOTALL)
_JSON_TOKEN = re.compile(r'[{}\[\]"]|\\.', re.DOTALL)
_CLOSING_BRACKETS = {"{": "}", "[": "]"}


class InvalidReply(Exception):
    """A reply does not have the requested form. The message never quotes the reply.

    Attributes:
        problem: Why the reply is invalid.
    """

    def __init__(self, problem: str) -> None:
        """State the problem."""
        super().__init__(problem)
        self.problem = problem


def parse_json_reply(text: str, reply_type: type[T]) -> T:
    """Return the only value of the given type in a reply.

    The JSON may be in a code fence, surrounded by text, or preceded by a reasoning block. Unknown
    fields are ignored. Runs in linear time.

    Raises:
        InvalidReply: The reply has no such value, several different ones, or is too long or too
            deep.
    """
    if len(text) > MAX_REPLY_CHARS:
        raise InvalidReply(f"is {len(text):,} characters long; the limit is {MAX_REPLY_CHARS:,}")
    values: list[T] = []
    problem = "contains no JSON"
    for span in _find_json_spans(_THOUGHT.sub("", text, count=1)):
        try:
            value = msgspec.json.decode(span.encode("utf-8", "replace"), type=reply_type)
        except msgspec.MsgspecError as error:
            problem = f"contains JSON of another form: {error}"
            continue
        if value not in values:
            values.append(value)
    if len(values) > 1:
        raise InvalidReply("contains more than one answer")
    if not values:
        raise InvalidReply(problem)
    return values[0]


def _find_json_spans(text: str) -> Iterator[str]:
    """Yield outermost substrings that may be a JSON object or array."""
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
