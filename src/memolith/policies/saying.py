"""One exchange, as the messages that are logged of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memolith.domain.messages import Message, Role

if TYPE_CHECKING:
    from datetime import datetime

IGNORE_ACTION = "IGNORE"
"""The action of an assistant to whom nothing was meant."""


def build_messages(
    user: str, assistant: str | None, at: datetime | None, action: str, *, is_truncated: bool
) -> list[Message]:
    """Return what the user said, and the reply where there is one; see `Memolith.learn`.

    A reply without words is none: a model that calls a tool says nothing.
    """
    learn = action.strip().upper() != IGNORE_ACTION
    asked = Message(None, user, Role.USER, at, learn=learn)
    if assistant is None or not str(assistant).strip():
        return [asked]
    return [asked, Message(None, assistant, Role.ASSISTANT, at, learn=learn and not is_truncated)]
