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


def build_message(role: str, content: Any) -> ChatMessage:
    """Return a message. Content blocks are joined."""
    known_role: Any = "system" if role == "developer" else role
    text = content if isinstance(content, str) else _join_text(content or ())
    return ChatMessage(known_role, text)


def _join_text(blocks: Iterable[Mapping[str, Any]]) -> str:
    return "".join(block["text"] for block in blocks if block.get("type") == "text")


def pieces(text: str) -> list[str]:
    """Split a text into pieces, as a model would stream it: each word with its white space."""
    return _PIECE.findall(text)


def token_counts(texts: Iterable[str]) -> list[int]:
    """Return the number of tokens of each text."""
    return WordCounter().count(list(texts))


def count_tokens(request: ReceivedRequest, answer: Answer) -> tuple[int, int]:
    """Return the number of input and output tokens: from the answer, or counted."""
    input_tokens, output_tokens = answer.input_tokens, answer.output_tokens
    if input_tokens is None:
        input_tokens = sum(token_counts(one.content for one in request.messages))
    if output_tokens is None:
        output_tokens = sum(token_counts([answer.text]))
    return input_tokens, output_tokens


# --- Requests


Protocol = Literal["openai", "ollama", "anthropic"]


@dataclass(frozen=True, slots=True)
class ReceivedRequest:
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
    messages: tuple[ChatMessage, ...] = ()
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
        return "\n\n".join(one.content for one in self.messages if one.role == "system")

    @property
    def user(self) -> str:
        """The text of the last user message."""
        contents = (one.content for one in reversed(self.messages) if one.role == "user")
        return next(contents, "")

    @property
    def key(self) -> str:
        """The API key. Empty if there is none."""
        bearer = self.headers.get("authorization", "").removeprefix("Bearer ")
        return self.headers.get("x-api-key", bearer)
