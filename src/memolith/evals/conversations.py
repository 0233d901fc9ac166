"""What an evaluation is made of: conversations, and questions whose evidence is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from memolith.domain.messages import Message


@dataclass(frozen=True, slots=True)
class Question:
    """Something asked about a conversation after its end.

    Attributes:
        text: The question.
        answer: What a good answer says; empty where the data gives none.
        category: The data set's own name for its kind.
        evidence: External ids of the messages that hold the answer, without duplicates; empty:
            the conversation does not tell.
        asked_at: The instant of asking.
    """

    text: str
    answer: str
    category: str
    evidence: tuple[str, ...]
    asked_at: datetime


@dataclass(frozen=True, slots=True)
class DialogueSession:
    """One session of a conversation.

    Attributes:
        id: Unique in its conversation.
        messages: In order; each with a role, a time and an external id that is unique in the
            conversation.
    """

    id: str
    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class Conversation:
    """What one owner has said, and what can be asked about it.

    Attributes:
        id: The data set's name for it.
        owner: Whose memory it is loaded into.
        sessions: In order of time.
        questions: All of them, those without evidence included.
    """

    id: str
    owner: str
    sessions: tuple[DialogueSession, ...]
    questions: tuple[Question, ...]

    def messages(self) -> Iterator[Message]:
        """Yield all messages, session by session."""
        for session in self.sessions:
            yield from session.messages

    def session_of(self) -> dict[str, str]:
        """Return each message's session, by external id."""
        return {
            message.external_id: session.id
            for session in self.sessions
            for message in session.messages
            if message.external_id is not None
        }
