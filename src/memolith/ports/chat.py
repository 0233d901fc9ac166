"""Language models: what is said to one, and what it replies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One turn of what a model is given.

    Attributes:
        role: Who speaks.
        content: The text.
    """

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class ResponseSchema:
    """What a reply in JSON must look like.

    Attributes:
        name: Of the thing, as services ask for one: letters, digits and `_`.
        json: A JSON schema whose objects list all their properties as required and allow no
            others, as the strict modes of services want it.
    """

    name: str
    json: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Prompt:
    """All that a model is asked at once.

    Attributes:
        turns: What is said, in order; system turns first.
        schema: What the reply must look like; None: free text.
        max_tokens: The most that the reply may take.
        purpose: What it is for ("extraction", "arbitration", "summary", "chat", …): it stands in
            logs and counts, never in what is sent.
    """

    messages: tuple[ChatMessage, ...]
    schema: ResponseSchema | None = None
    max_tokens: int = 1_024
    purpose: str = "chat"


@dataclass(frozen=True, slots=True)
class Completion:
    """What a model said.

    Attributes:
        text: Its words.
        input_tokens: What was asked took, as the service counted; 0 where it does not say.
        output_tokens: Likewise, the reply.
        is_whole: Whether the model came to its end: not where the service cut the reply for its
            length, or filtered it.
    """

    text: str
    input_tokens: int = 0
    output_tokens: int = 0
    is_complete: bool = True


class ChatModel(Protocol):
    """A language model. Thread-safe.

    Attributes:
        name: Service and model, as logs and counts name it: "openai:gpt-…".
    """

    @property
    def name(self) -> str:
        """Service and model."""
        ...

    def complete(self, prompt: Prompt) -> Completion:
        """Return the reply to a prompt.

        Where there is a schema and the service takes one, it is asked to keep to it; the reply
        may still be anything.

        Raises:
            ServiceFailed: There is no reply; `retryable` says whether there may be later.
        """
        ...


class StreamingChatModel(ChatModel, Protocol):
    """A language model whose reply can be read while it is made."""

    def stream(self, prompt: Prompt) -> Iterator[str | Completion]:
        """Yield the reply's text in pieces, then the whole `Reply`.

        Raises:
            ServiceFailed: There is no reply, or it broke off: what came so far is not a reply.
        """
        ...


class OwnerChatModels(Protocol):
    """A language model as each owner may use it: counted, and within the owner's limits.

    Attributes:
        name: Service and model.
    """

    @property
    def name(self) -> str:
        """Service and model."""
        ...

    def get_model(self, owner_id: str) -> StreamingChatModel:
        """Return the model for what is done for an owner.

        Its calls raise `LimitReached` where the owner has used up what an hour allows.
        """
        ...
