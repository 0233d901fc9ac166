"""The conversation that ships with Memolith: what `memolith demo` replays and asks about.

Written for this project; nobody in it exists.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from importlib import resources
from typing import Literal

import msgspec


@dataclass(frozen=True, slots=True)
class DemoMessage:
    """One turn.

    Attributes:
        id: Unique in the conversation: its session's id, a colon, its number from 1.
        role: Who speaks, by what may be believed of them.
        speaker: The speaker's name.
        at: When it was said, with a time zone; never earlier than the message before.
        content: The text; some hold code blocks.
    """

    id: str
    role: Literal["user", "assistant"]
    speaker: str
    at: datetime
    content: str


@dataclass(frozen=True, slots=True)
class DemoSession:
    """One sitting; user and assistant take turns in it, the user first.

    Attributes:
        id: Unique in the conversation.
        date: When its first message was said, with a time zone.
        messages: In order of time.
    """

    id: str
    date: datetime
    messages: tuple[DemoMessage, ...]


@dataclass(frozen=True, slots=True)
class DemoQuestion:
    """Something to ask of the memory once the conversation is in it.

    Attributes:
        question: As the user would put it.
        answer: What a reader of the whole conversation would say; None where it holds no answer.
        evidence: The ids of the messages that the answer stands on; empty without an answer.
        asked_at: When it is asked, after the last message.
    """

    question: str
    answer: str | None
    evidence: tuple[str, ...]
    asked_at: datetime


@dataclass(frozen=True, slots=True)
class DemoConversation:
    """A person's talks with an assistant over some months, and questions about them.

    Attributes:
        owner: The id under which to store it.
        sessions: In order of time.
        questions: In the order in which to ask them.
    """

    owner: str
    sessions: tuple[DemoSession, ...]
    questions: tuple[DemoQuestion, ...]


@dataclass(frozen=True, slots=True)
class DemoFact:
    """What a language model might take from a message.

    Attributes:
        message: The message's id.
        content: The fact.
        category: Its kind in profile `facts`.
        importance: 1 to 10.
        expires_in: How long it holds; empty: as long as its kind.
    """

    message: str
    content: str
    category: Literal["identity", "preference", "project", "contextual"]
    importance: int
    expires_in: str = ""


@dataclass(frozen=True, slots=True)
class DemoFacts:
    """What a language model might take from the conversation.

    Attributes:
        facts: In the order of their messages; two of them stand in no message so.
        changes: Pairs of facts of which the second takes the first one's place.
    """

    facts: tuple[DemoFact, ...]
    changes: tuple[tuple[str, str], ...]


def load_conversation() -> DemoConversation:
    """Read the conversation from the package."""
    data = resources.files(__name__).joinpath("conversation.json").read_bytes()
    return msgspec.json.decode(data, type=DemoConversation)


def load_facts() -> DemoFacts:
    """Read what a language model might take from the conversation from the package."""
    data = resources.files(__name__).joinpath("facts.json").read_bytes()
    return msgspec.json.decode(data, type=DemoFacts)


def load_leaflet() -> str:
    """Read the document that ships with it from the package."""
    return resources.files(__name__).joinpath("leaflet.md").read_text(encoding="utf-8")
