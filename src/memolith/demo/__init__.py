"""The sample data of `memolith demo`: a conversation, a document and extracted facts.

Written for this project. All people in it are fictional.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from importlib import resources
from typing import Literal

import msgspec


@dataclass(frozen=True, slots=True)
class DemoMessage:
    """A message of the conversation.

    Attributes:
        id: Unique in the conversation: the session id, a colon, and a number from 1.
        role: The role of the speaker.
        speaker: The speaker's name.
        at: The time, with a time zone. Never earlier than the previous message.
        content: The text. Some texts contain code blocks.
    """

    id: str
    role: Literal["user", "assistant"]
    speaker: str
    at: datetime
    content: str


@dataclass(frozen=True, slots=True)
class DemoSession:
    """A session, in which user and assistant alternate. The user starts.

    Attributes:
        id: Unique in the conversation.
        date: The time of the first message, with a time zone.
        messages: In chronological order.
    """

    id: str
    date: datetime
    messages: tuple[DemoMessage, ...]


@dataclass(frozen=True, slots=True)
class DemoQuestion:
    """A question to ask after the conversation.

    Attributes:
        question: The question in the user's words.
        answer: The expected answer. None if the conversation does not contain it.
        evidence: The ids of the messages that contain the answer. Empty without an answer.
        asked_at: The time of the question, after the last message.
    """

    question: str
    answer: str | None
    evidence: tuple[str, ...]
    asked_at: datetime


@dataclass(frozen=True, slots=True)
class DemoConversation:
    """A conversation of several months, and questions about it.

    Attributes:
        owner: The owner id under which to store it.
        sessions: In chronological order.
        questions: In the order in which to ask them.
    """

    owner: str
    sessions: tuple[DemoSession, ...]
    questions: tuple[DemoQuestion, ...]


@dataclass(frozen=True, slots=True)
class DemoFact:
    """A fact that the scripted language model extracts from a message.

    Attributes:
        message: The id of the message.
        content: The fact.
        category: Its kind in the profile `facts`.
        importance: 1 to 10.
        expires_in: Its lifetime. Empty: that of its kind.
    """

    message: str
    content: str
    category: Literal["identity", "preference", "project", "contextual"]
    importance: int
    expires_in: str = ""


@dataclass(frozen=True, slots=True)
class DemoFacts:
    """The facts that the scripted language model extracts from the conversation.

    Attributes:
        facts: In the order of their messages. Two of them are not supported by any message.
        changes: Pairs of an outdated fact and the fact that supersedes it.
    """

    facts: tuple[DemoFact, ...]
    changes: tuple[tuple[str, str], ...]


def load_conversation() -> DemoConversation:
    """Load the conversation."""
    data = resources.files(__name__).joinpath("conversation.json").read_bytes()
    return msgspec.json.decode(data, type=DemoConversation)


def load_facts() -> DemoFacts:
    """Load the facts that the scripted language model extracts."""
    data = resources.files(__name__).joinpath("facts.json").read_bytes()
    return msgspec.json.decode(data, type=DemoFacts)


def load_leaflet() -> str:
    """Load the document."""
    return resources.files(__name__).joinpath("leaflet.md").read_text(encoding="utf-8")
