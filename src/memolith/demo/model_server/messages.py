"""What the protocols share: turns, pieces of a text, counts."""

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
    """Return a turn; content that comes in blocks is joined."""
    known: Any = "system" if role == "developer" else role
    return ChatMessage(known, content if isinstance(content, str) else _joined(content or ()))


def _joined(blocks: Iterable[Mapping[str, Any]]) -> str:
    return "".join(block["text"] for block in blocks if block.get("type") == "text")


def pieces(text: str) -> list[str]:
    """Return a text in pieces, as a model would stream it: a word and the space after it."""
    return _PIECE.findall(text)


def tokens(texts: Iterable[str]) -> list[int]:
    """Return how many tokens each text has."""
    return WordCounter().count(list(texts))


def counts(asked: Asked, answer: Answer) -> tuple[int, int]:
    """Return how many tokens were asked and said: as the answer has it, or counted."""
    given, said = answer.input_tokens, answer.output_tokens
    return (
        sum(tokens(turn.content for turn in asked.turns)) if given is None else given,
        sum(tokens([answer.text])) if said is None else said,
    )


# --- What the scripted model is asked, the same for every protocol


Protocol = Literal["openai", "ollama", "anthropic"]


@dataclass(frozen=True, slots=True)
class Asked:
    """One request.

    Attributes:
        protocol: Whose protocol it came in.
        path: Where it was sent.
        model: Which model it names.
        turns: What is said, system turns first; none where vectors are asked for.
        texts: What is to be embedded; none where a reply is asked for.
        schema: What the reply must look like, where the service was told; its name is "" where
            the protocol has none.
        is_stream: Whether the reply is to come in pieces.
        max_tokens: The most that the reply may take, where it was told.
        temperature: Likewise.
        dimensions: How long the vectors are to be, where it was told.
        headers: As they came, names in small letters.
        body: All of it, as it came.
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
        """What the system turns say."""
        return "\n\n".join(turn.content for turn in self.turns if turn.role == "system")

    @property
    def user(self) -> str:
        """What the user said last."""
        said = (turn.content for turn in reversed(self.turns) if turn.role == "user")
        return next(said, "")

    @property
    def key(self) -> str:
        """The key that came with it, "" for none."""
        bearer = self.headers.get("authorization", "").removeprefix("Bearer ")
        return self.headers.get("x-api-key", bearer)
