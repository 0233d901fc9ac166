"""Model interfaces: chat, embedding, reranking, arbitration, transcription and token counting."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from memolith.policies.merging import Verdict


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message of a prompt.

    Attributes:
        role: The author of the message.
        content: The text.
    """

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class ResponseSchema:
    """JSON schema of a structured reply.

    Attributes:
        name: The schema's name, required by services: letters, digits and `_`.
        json: The JSON schema. Its objects require all of their properties and allow no others, as
            the strict modes of services demand.
    """

    name: str
    json: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Prompt:
    """A request to a language model.

    Attributes:
        messages: The messages in order, system messages first.
        schema: The schema of the reply; None for free text.
        max_tokens: Maximum length of the reply.
        purpose: The purpose of the call ("extraction", "arbitration", "summary", "chat", …), for
            logs and usage counts; never sent to the model.
    """

    messages: tuple[ChatMessage, ...]
    schema: ResponseSchema | None = None
    max_tokens: int = 1_024
    purpose: str = "chat"


@dataclass(frozen=True, slots=True)
class Completion:
    """A language model's reply.

    Attributes:
        text: The text.
        input_tokens: Tokens of the prompt, as counted by the service; 0 if it does not report them.
        output_tokens: Tokens of the reply, likewise.
        is_complete: False if the service truncated the reply at its maximum length, or filtered it.
    """

    text: str
    input_tokens: int = 0
    output_tokens: int = 0
    is_complete: bool = True


class ChatModel(Protocol):
    """A language model. Thread-safe.

    Attributes:
        name: Service and model, for logs and usage counts: "openai:gpt-…".
    """

    @property
    def name(self) -> str:
        """Service and model."""
        ...

    def complete(self, prompt: Prompt) -> Completion:
        """Return the reply to a prompt.

        If the prompt has a schema and the service supports schemas, the schema is sent. The reply
        may still violate it.

        Raises:
            ServiceFailed: There is no reply; `retryable` indicates whether a retry may succeed.
        """
        ...


class StreamingChatModel(ChatModel, Protocol):
    """A language model that can stream its reply."""

    def stream(self, prompt: Prompt) -> Iterator[str | Completion]:
        """Yield the reply's text in pieces, then the whole `Completion`.

        Raises:
            ServiceFailed: There is no reply, or it was interrupted; discard the text received so
                far.
        """
        ...


class OwnerChatModels(Protocol):
    """Provides a language model for each owner, with usage counting and limits.

    Attributes:
        name: Service and model.
    """

    @property
    def name(self) -> str:
        """Service and model."""
        ...

    def get_model(self, owner_id: str) -> StreamingChatModel:
        """Return the model for calls on behalf of an owner.

        Its calls raise `LimitReached` if the owner has exceeded the hourly limit.
        """
        ...


# --- Embedding


TextRole = Literal["query", "document"]
"""The role of an embedded text; some models use a different prefix for each."""


class Embedder(Protocol):
    """Computes vectors whose cosine measures similarity of meaning. Thread-safe.

    Attributes:
        name: The model's name, as recorded in the store. A different name means a different model.
        dimension: The length of its vectors.
    """

    @property
    def name(self) -> str:
        """The model's name."""
        ...

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        ...

    def embed(self, texts: Sequence[str], *, role: TextRole) -> NDArray[np.float32]:
        """Return one vector per text, in order.

        A text's vector does not depend on the other texts of the call.

        Returns:
            Shape (len(texts), dimension), finite. Each row has length 1, or length 0 if the text
            has nothing to embed.

        Raises:
            ServiceFailed: The service failed or returned an invalid response.
        """
        ...


@runtime_checkable
class RemoteEmbedder(Protocol):
    """An embedder that calls a service, which may be the only one to know the dimension.

    Attributes:
        known_dimension: The length of its vectors; None if only a request can determine it.
    """

    @property
    def known_dimension(self) -> int | None:
        """The length of a vector, if known without a request."""
        ...

    def close(self) -> None:
        """Close the connections."""
        ...


# --- Reranking


class Reranker(Protocol):
    """Scores texts for a query, reading query and text together. Thread-safe."""

    def score(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """Return the relevance of each text, in order; higher is better, on any scale.

        A text's score depends on the query and the text only, not on the other texts of the call.

        Raises:
            ServiceFailed: The model is not available, or failed.
        """
        ...


# --- Arbitration


class Arbitrator(Protocol):
    """Decides how a new memory relates to a similar existing one. Thread-safe."""

    def arbitrate(self, existing: str, candidate: str) -> Verdict:
        """Return the verdict on the candidate; implementations must answer within 30 seconds.

        Raises:
            ServiceFailed: There is no verdict; both memories are kept then.
        """
        ...


# --- Transcription


class Transcriber(Protocol):
    """Transcribes recorded speech. Thread-safe."""

    def transcribe(self, audio: bytes, name: str) -> str:
        """Return the spoken text; empty if there is none.

        Args:
            audio: The recording, in any file format that the service supports.
            name: The file's name; its extension determines the format.

        Raises:
            ServiceFailed: The service failed.
        """
        ...

    def close(self) -> None:
        """Close the connections."""
        ...


# --- Token counting


class TokenCounter(Protocol):
    """Counts the tokens of texts in a prompt or an embedder's input. Thread-safe."""

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text, in order, without special tokens.

        The empty text has 0 tokens. The same text always has the same number.
        """
        ...
