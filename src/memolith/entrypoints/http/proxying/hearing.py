"""What a model replied, heard along the way: its words, and whether it came to its end."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Final

from memolith.adapters.chat.openai import CUT
from memolith.adapters.clients.wire import dig
from memolith.policies.arguments import MAX_MESSAGE_CHARS

_DATA: Final = b"data:"

_MOST_BYTES: Final = 1 << 22
"""The longest event of a stream that is looked into: a guess, far over what any model sends."""


@dataclass(frozen=True, slots=True)
class Heard:
    """A reply.

    Attributes:
        text: Its words; empty where it has none, or there are several to choose from.
        is_whole: Whether it came to its end.
    """

    text: str = ""
    is_whole: bool = False


def heard(body: bytes) -> Heard:
    """Return the reply in a body that came in one piece."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return Heard()
    choices = dig(value, "choices")
    if not isinstance(choices, list) or len(choices) != 1:
        return Heard(is_whole=True)
    return _heard(dig(value, "choices", 0, "message", "content"), dig(choices, 0, "finish_reason"))


@dataclass(slots=True)
class Hearing:
    """Hears the events of a stream. What is not told to the end of its line is not heard.

    Attributes:
        is_done: Whether the stream has said that nothing more comes.
    """

    is_done: bool = False
    _rest: bytes = b""
    _said: list[str] = field(default_factory=list)
    _length: int = 0
    _finish: Any = None
    _is_one: bool = True
    _is_lost: bool = False

    def hear(self, piece: bytes) -> None:
        """Take in the next bytes, wherever they are cut."""
        if self._is_lost:
            return
        *lines, self._rest = (self._rest + piece).split(b"\n")
        for line in lines:
            if line.startswith(_DATA):
                self._event(line.removeprefix(_DATA))
        self._is_lost |= len(self._rest) > _MOST_BYTES

    def reply(self) -> Heard:
        """Return what was heard so far."""
        if not self._is_one:
            return Heard(is_whole=self._finish is not None)
        said = _heard("".join(self._said), self._finish)
        return Heard(said.text, said.is_whole and not self._is_lost)

    def _event(self, told: bytes) -> None:
        if told.strip() == b"[DONE]":
            self.is_done = True
            return
        try:
            event = json.loads(told)
        except (ValueError, RecursionError):
            self._is_lost = True  # who knows what it said
            return
        choices = dig(event, "choices")
        for choice in choices if isinstance(choices, list) else []:
            if dig(choice, "index") in (None, 0):
                self._choice(choice)
            else:
                self._is_one = False

    def _choice(self, choice: Any) -> None:
        piece = dig(choice, "delta", "content")
        self._finish = dig(choice, "finish_reason") or self._finish
        if isinstance(piece, str) and self._length <= MAX_MESSAGE_CHARS:
            self._length += len(piece)
            self._said.append(piece)


def _heard(text: object, finish: object) -> Heard:
    said = text if isinstance(text, str) else ""
    is_whole = isinstance(finish, str) and finish not in CUT
    return Heard(said[:MAX_MESSAGE_CHARS], is_whole and len(said) <= MAX_MESSAGE_CHARS)
