"""Replies in JSON, read as what they were asked to be."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeVar

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator

T = TypeVar("T")

MAX_CHARS = 64_000
"""The longest reply that is looked into: some ten times what any prompt here allows. A guess."""

MAX_DEPTH = 16
"""The deepest nesting; what is asked for takes four."""

_THOUGHT = re.compile(r"\s*<(think(?:ing)?)>.*?(?:</\1>|\Z)", re.DOTALL)
_MARK = re.compile(r'[{}\[\]"]|\\.', re.DOTALL)
_CLOSES = {"{": "}", "[": "]"}


class BadReply(Exception):
    """A reply that is not what was asked for. It says what is wrong, never what was said.

    Attributes:
        problem: What is wrong.
    """

    def __init__(self, problem: str) -> None:
        """Say what is wrong."""
        super().__init__(problem)
        self.problem = problem


def read_json(text: str, shape: type[T]) -> T:
    """Return the one value of that shape in a reply.

    It may stand in a code fence, with text around it, and after a thought; unknown fields are
    passed over. Linear in the length.

    Raises:
        BadReply: There is none, or there are two that differ, or it is too long or too deep.
    """
    if len(text) > MAX_CHARS:
        raise BadReply(f"is {len(text):,} characters long; at most {MAX_CHARS:,} are read")
    found: list[T] = []
    problem = "holds no JSON"
    for span in _spans(_THOUGHT.sub("", text, count=1)):
        try:
            value = msgspec.json.decode(span.encode("utf-8", "replace"), type=shape)
        except msgspec.MsgspecError as error:
            problem = f"holds other JSON than was asked for: {error}"
            continue
        if value not in found:
            found.append(value)
    if len(found) > 1:
        raise BadReply("holds more than one answer")
    if not found:
        raise BadReply(problem)
    return found[0]


def _spans(text: str) -> Iterator[str]:
    """Yield the stretches that may be a JSON object or array, none within another."""
    start, in_string = 0, False
    still_open: list[str] = []
    for token in _MARK.finditer(text):
        mark = token[0]
        if in_string or mark == '"':
            in_string = bool(still_open) and in_string != (mark == '"')
        elif mark in _CLOSES:
            start = start if still_open else token.start()
            still_open.append(_CLOSES[mark])
            if len(still_open) > MAX_DEPTH:
                raise BadReply(f"is nested deeper than {MAX_DEPTH}")
        elif still_open and mark == still_open.pop():
            if not still_open:
                yield text[start : token.end()]
        else:
            still_open.clear()
