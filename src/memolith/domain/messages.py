"""Messages, the turns of a conversation, which recall returns as episodes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Role(StrEnum):
    """Role of a speaker, which determines how far they are trusted.

    `user` is the owner, `participant` any other person; the other roles are machines.
    """

    USER = "user"
    PARTICIPANT = "participant"
    ASSISTANT = "assistant"
    TOOL = "tool"
    SYSTEM = "system"

    @property
    def is_person(self) -> bool:
        """Whether the speaker is a person."""
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
    """Return the role of a speaker from their name alone.

    No name, or the owner's, means the user. The name of a role ("assistant") means that role, any
    other name another person.
    """
    if speaker is None or speaker.casefold() == owner_id.casefold():
        return Role.USER
    return _ROLES_BY_NAME.get(speaker.casefold(), Role.PARTICIPANT)


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation.

    Callers pass `speaker`, `content` and, if known, `role`, `at` and `external_id`. The store sets
    the other fields.

    Attributes:
        speaker: The speaker's name; None if only the role is known.
        content: The text.
        role: The speaker's role; None until stored means "derived from the name" (see `get_role`).
        at: When it was said, with a time zone; None until stored means now.
        external_id: The caller's own id of the message, unique in its session.
        id: UUIDv7.
        session_id: The session it belongs to.
        sequence: Its position in the session, from 1.
        version: 1 for the original; higher after a sentence was forgotten.
        learn: Whether memories are learned from it when it is logged. Not stored.
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
    """A speaker in an owner's conversations.

    Attributes:
        number: A small number, unique per owner, as in `Items.speaker`.
        name: The name, as passed; None for a speaker without a name.
        role: The speaker's role.
    """

    number: int
    name: str | None
    role: Role


@dataclass(frozen=True, slots=True)
class Session:
    """One conversation of an owner.

    Attributes:
        id: The caller's name of the session.
        number: A small number, unique per owner, as in `Items.session`.
        started_at: When its first message was said.
        last_at: When its newest message was said.
        messages: Number of messages, without forgotten ones.
        ended_at: When it was ended; None while it is open.
    """

    id: str
    number: int
    started_at: datetime
    last_at: datetime
    messages: int
    ended_at: datetime | None = None
