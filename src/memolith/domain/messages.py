"""Messages: the turns of a conversation, which are also what is recalled as episodes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Role(StrEnum):
    """Who speaks, by what may be believed of them.

    `user` is the owner in person; `participant` any other person; the rest are machines.
    """

    USER = "user"
    PARTICIPANT = "participant"
    ASSISTANT = "assistant"
    TOOL = "tool"
    SYSTEM = "system"

    @property
    def is_person(self) -> bool:
        """Whether a person wrote it."""
        return self in (Role.USER, Role.PARTICIPANT)


_ROLES_BY_NAME = {
    "user": Role.USER,
    "human": Role.USER,
    "assistant": Role.ASSISTANT,
    "ai": Role.ASSISTANT,
    "bot": Role.ASSISTANT,
    "tool": Role.TOOL,
    "system": Role.SYSTEM,
}


def get_role(speaker: str | None, owner_id: str) -> Role:
    """Return the role of a speaker of whom only the name is known.

    No name, or the owner's, is the user; a role's own name ("assistant") is that role; any
    other name is another person.
    """
    if speaker is None or speaker.casefold() == owner_id.casefold():
        return Role.USER
    return _ROLES_BY_NAME.get(speaker.casefold(), Role.PARTICIPANT)


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation.

    What a caller gives is `speaker`, `content` and, where known, `role`, `at` and
    `external_id`; the rest is set when it is stored.

    Attributes:
        speaker: The speaker's name; None where only the role is known.
        content: The text.
        role: Who speaks; None until stored means "by the speaker's name" (see `role_of`).
        at: When it was said, with a time zone; None until stored means now.
        external_id: The caller's own id of it, unique in its session.
        id: UUIDv7.
        session_id: The conversation it belongs to.
        sequence: Its place there, from 1.
        version: 1 as said; higher where a sentence of it was forgotten.
        learn: Whether it is learned from when it is logged: not what was cut, or was to be
            ignored. It is not kept.
    """

    speaker: str | None
    content: str
    role: Role | None = None
    at: datetime | None = None
    external_id: str | None = None
    id: str = ""
    session_id: str = ""
    sequence: int = 0
    version: int = 1
    learn: bool = True


@dataclass(frozen=True, slots=True)
class Participant:
    """Somebody who has spoken in an owner's conversations.

    Attributes:
        number: The owner's own small number for them, as in `Items.speaker`.
        name: As given; None for a speaker without a name.
        role: As what they spoke.
    """

    number: int
    name: str | None
    role: Role


@dataclass(frozen=True, slots=True)
class Session:
    """One conversation of an owner.

    Attributes:
        id: The caller's name for it.
        number: The owner's own small number for it, as in `Items.session`.
        started_at: When its first message was said.
        last_at: When its newest message was said.
        messages: How many it has, without the forgotten ones.
        ended_at: When it was ended; None while it is open.
    """

    id: str
    number: int
    started_at: datetime
    last_at: datetime
    messages: int
    ended_at: datetime | None = None
