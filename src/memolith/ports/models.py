"""Language models: what is said to one, and what it replies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from memolith.policies.merging import Verdict


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


# --- Texts to vectors


TextRole = Literal["query", "document"]
"""What a text is embedded as; some models want a different prefix for each."""


class Embedder(Protocol):
    """Maps texts to vectors whose cosine says how near they are in meaning. Thread-safe.

    Attributes:
        name: The model, as the store keeps it: another name is another model.
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
        """Return one vector a text, in order.

        A text's vector does not depend on what else is in the call.

        Returns:
            Shape (len(texts), dimension), finite, each row of length 1 or, where a text has
            nothing to embed, of length 0.

        Raises:
            ServiceFailed: A service did not answer as it should.
        """
        ...


@runtime_checkable
class RemoteEmbedder(Protocol):
    """Of an embedder that asks a service, whose vectors may be of a length that only that knows.

    Attributes:
        known_dimension: The length of its vectors; None where the service would have to be asked.
    """

    @property
    def known_dimension(self) -> int | None:
        """The length of a vector, where it is known without asking."""
        ...

    def close(self) -> None:
        """Let go of connections."""
        ...


# --- The reranker: reads a query and a text together, and says how well they go together


class Reranker(Protocol):
    """Scores texts for a query. Thread-safe."""

    def score(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """Return how relevant each text is, in their order; more is better, on any scale.

        A text's score depends on the query and the text, not on what else is in the call.

        Raises:
            ServiceFailed: The model is not there, or failed.
        """
        ...


# --- The arbitrator: who tells what becomes of a new memory that is near to a known one


class Arbitrator(Protocol):
    """Decides between two texts, as a language model does. Thread-safe."""

    def arbitrate(self, existing: str, candidate: str) -> Verdict:
        """Return what becomes of the candidate; within 30 seconds, else nobody waits for it.

        Raises:
            ServiceFailed: It can't tell; both are kept then.
        """
        ...


# --- Speech to text


class Transcriber(Protocol):
    """Writes down what is said in a recording. Thread-safe."""

    def transcribe(self, audio: bytes, name: str) -> str:
        """Return what is said; empty: nothing.

        Args:
            audio: The recording, a file of any kind that the service knows.
            name: The file's name, by whose ending its kind is known.

        Raises:
            ServiceFailed: The service failed.
        """
        ...

    def close(self) -> None:
        """Let go of what is held open."""
        ...


# --- Counting tokens


class TokenCounter(Protocol):
    """Counts what a text costs in a prompt, or in an embedder's window. Thread-safe."""

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text, in order, without special tokens.

        The empty text has 0. The same text always has the same number.
        """
        ...
