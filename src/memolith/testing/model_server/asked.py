"""What the scripted model is asked, the same for every protocol."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memolith.ports.chat import ChatMessage, ResponseSchema

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
