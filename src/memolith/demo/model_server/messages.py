"""Requests, and helpers that all APIs share."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from memolith.ports.models import ChatMessage, ResponseSchema
from memolith.testing.fakes import WordCounter

if TYPE_CHECKING:
    from memolith.demo.model_server.rules import Answer

_PIECE = re.compile(r"\S+\s*|\s+")


def turn(role: str, content: Any) -> ChatMessage:
    """Return a message. Content blocks are joined."""
    known: Any = "system" if role == "developer" else role
    return ChatMessage(known, content if isinstance(content, str) else _joined(content or ()))


def _joined(blocks: Iterable[Mapping[str, Any]]) -> str:
    return "".join(block["text"] for block in blocks if block.get("type") == "text")


def pieces(text: str) -> list[str]:
    """Split a text into pieces, as a model would stream it: each word with its white space."""
    return _PIECE.findall(text)


def tokens(texts: Iterable[str]) -> list[int]:
    """Return the number of tokens of each text."""
    return WordCounter().count(list(texts))


def counts(asked: Asked, answer: Answer) -> tuple[int, int]:
    """Return the number of input and output tokens: from the answer, or counted."""
    given, said = answer.input_tokens, answer.output_tokens
    return (
        sum(tokens(turn.content for turn in asked.turns)) if given is None else given,
        sum(tokens([answer.text])) if said is None else said,
    )


# --- Requests


Protocol = Literal["openai", "ollama", "anthropic"]


@dataclass(frozen=True, slots=True)
class Asked:
    """A request.

    Attributes:
        protocol: The API.
        path: The path of the URL.
        model: The name of the model.
        turns: The messages, system messages first. Empty in embedding requests.
        texts: The texts to embed. Empty in chat requests.
        schema: The schema of the reply, if given. Its name is empty if the API has none.
        is_stream: Whether to stream the reply.
        max_tokens: The maximum length of the reply, if given.
        temperature: The temperature, if given.
        dimensions: The dimension of the vectors, if given.
        headers: The HTTP headers, with names in lower case.
        body: The parsed body.
    """

    protocol: Protocol
    path: str
    model: str
    turns: tuple[ChatMessage, ...] = ()
    texts: tuple[str, ...] = ()
    schema: ResponseSchema | None = None
    is_stream: bool = False
    max_tokens: int | None = None
    temperature: float | None = None
    dimensions: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] = field(default_factory=dict)

    @property
    def system(self) -> str:
        """The text of the system messages."""
        return "\n\n".join(turn.content for turn in self.turns if turn.role == "system")

    @property
    def user(self) -> str:
        """The text of the last user message."""
        said = (turn.content for turn in reversed(self.turns) if turn.role == "user")
        return next(said, "")

    @property
    def key(self) -> str:
        """The API key. Empty if there is none."""
        bearer = self.headers.get("authorization", "").removeprefix("Bearer ")
        return self.headers.get("x-api-key", bearer)
