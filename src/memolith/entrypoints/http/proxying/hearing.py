"""What a model replied, heard along the way: its words, and whether it came to its end."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Final

from memolith.adapters.chat.openai import TRUNCATED_REASONS
from memolith.adapters.clients.wire import dig
from memolith.policies.arguments import MAX_MESSAGE_CHARS

_DATA_PREFIX: Final = b"data:"

_MAX_EVENT_BYTES: Final = 1 << 22
"""The longest event of a stream that is looked into: a guess, far over what any model sends."""


@dataclass(frozen=True, slots=True)
class ModelReply:
    """A reply.

    Attributes:
        text: Its words; empty where it has none, or there are several to choose from.
        is_whole: Whether it came to its end.
    """

    text: str = ""
    is_complete: bool = False


def parse_reply(body: bytes) -> ModelReply:
    """Return the reply in a body that came in one piece."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return ModelReply()
    choices = dig(value, "choices")
    if not isinstance(choices, list) or len(choices) != 1:
        return ModelReply(is_complete=True)
    return _build_reply(
        dig(value, "choices", 0, "message", "content"), dig(choices, 0, "finish_reason")
    )


@dataclass(slots=True)
class ReplyAccumulator:
    """Hears the events of a stream. What is not told to the end of its line is not heard.

    Attributes:
        is_done: Whether the stream has said that nothing more comes.
    """

    is_done: bool = False
    _buffer: bytes = b""
    _pieces: list[str] = field(default_factory=list)
    _length: int = 0
    _finish_reason: Any = None
    _is_single_choice: bool = True
    _is_unreadable: bool = False

    def feed(self, piece: bytes) -> None:
        """Take in the next bytes, wherever they are cut."""
        if self._is_unreadable:
            return
        *lines, self._buffer = (self._buffer + piece).split(b"\n")
        for line in lines:
            if line.startswith(_DATA_PREFIX):
                self._handle_event(line.removeprefix(_DATA_PREFIX))
        self._is_unreadable |= len(self._buffer) > _MAX_EVENT_BYTES

    def reply(self) -> ModelReply:
        """Return what was heard so far."""
        if not self._is_single_choice:
            return ModelReply(is_complete=self._finish_reason is not None)
        said = _build_reply("".join(self._pieces), self._finish_reason)
        return ModelReply(said.text, said.is_complete and not self._is_unreadable)

    def _handle_event(self, data: bytes) -> None:
        if data.strip() == b"[DONE]":
            self.is_done = True
            return
        try:
            event = json.loads(data)
        except (ValueError, RecursionError):
            self._is_unreadable = True  # who knows what it said
            return
        choices = dig(event, "choices")
        for choice in choices if isinstance(choices, list) else []:
            if dig(choice, "index") in (None, 0):
                self._handle_choice(choice)
            else:
                self._is_single_choice = False

    def _handle_choice(self, choice: Any) -> None:
        piece = dig(choice, "delta", "content")
        self._finish_reason = dig(choice, "finish_reason") or self._finish_reason
        if isinstance(piece, str) and self._length <= MAX_MESSAGE_CHARS:
            self._length += len(piece)
            self._pieces.append(piece)


def _build_reply(text: object, finish: object) -> ModelReply:
    said = text if isinstance(text, str) else ""
    is_whole = isinstance(finish, str) and finish not in TRUNCATED_REASONS
    return ModelReply(said[:MAX_MESSAGE_CHARS], is_whole and len(said) <= MAX_MESSAGE_CHARS)
