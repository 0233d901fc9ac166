"""Conversations as a model reads them: numbered turns, each with who said it and when."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from memolith.domain.messages import Role
from memolith.policies.rendering.defusing import defuse
from memolith.prompts.fencing import LEFT_OUT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memolith.domain.messages import Message

MAX_CHARS = 24_000
"""The most of a conversation that one prompt shows: some 6,000 tokens of English, so that a
model with room for 8,192 has room for the rules and its reply, too."""

_MAX_NAME_CHARS = 60
_NO_NAME = re.compile(r"[^\w .'’-]+")
_NUMBERED = re.compile(r"^(\s*)\[(\d+)\]", re.MULTILINE)
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@dataclass(frozen=True, slots=True)
class Spoken:
    """One turn of a conversation as it is shown to a model.

    Attributes:
        content: What was said.
        who: Who said it; empty where nobody did, as in a list of notes.
        at: When, where it is known.
    """

    content: str
    who: str = ""
    at: datetime | None = None


def spoken(message: Message) -> Spoken:
    """Return a message as it is shown: by its role, and its speaker's name where there is one."""
    role = str(message.role or Role.USER)
    name = " ".join(_NO_NAME.sub(" ", message.speaker or "").split())[:_MAX_NAME_CHARS]
    is_said = name.casefold() not in {"", role}
    return Spoken(message.content, f"{role} ({name})" if is_said else role, message.at)


def numbered(turns: Sequence[Spoken], max_chars: int = MAX_CHARS) -> str:
    """Return turns as text, numbered from 1, for a fence: no turn can pose as another.

    Where all together are too long, the longest are shortened in their middle.

    Args:
        turns: In order.
        max_chars: The most characters of contents.
    """
    rooms = _rooms([len(turn.content) for turn in turns], max_chars)
    return "\n".join(
        f"[{number}] {_head(turn)}{_body(_shortened(turn.content, room))}"
        for number, (turn, room) in enumerate(zip(turns, rooms, strict=True), start=1)
    )


def _head(turn: Spoken) -> str:
    day = f"{turn.at:%Y-%m-%d} ({_DAYS[turn.at.weekday()]})" if turn.at else ""
    head = ", ".join(filter(None, (turn.who, day)))
    return f"{head}: " if head else ""


def _body(content: str) -> str:
    return _NUMBERED.sub(r"\1(\2)", defuse(content))


def _shortened(content: str, room: int) -> str:
    if len(content) <= room:
        return content
    half = room // 2
    return f"{content[:half]} {LEFT_OUT} {content[len(content) - half :]}"


def _rooms(lengths: Sequence[int], budget: int) -> list[int]:
    """Return how much of each length a budget allows: all of the short ones first."""
    rooms = [0] * len(lengths)
    left = budget
    by_length = sorted(range(len(lengths)), key=lambda place: lengths[place])
    for taken, place in enumerate(by_length):
        rooms[place] = min(lengths[place], left // (len(lengths) - taken))
        left -= rooms[place]
    return rooms
