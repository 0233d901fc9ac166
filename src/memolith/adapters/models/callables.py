"""Adapters that use plain functions as chat models, embedders, rerankers and arbitrators."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from queue import Empty, SimpleQueue
from threading import Thread

import numpy as np
from numpy.typing import ArrayLike, NDArray

from memolith.adapters.models.http import timeout_failure
from memolith.adapters.models.resilience import describe_schema_in_prompt
from memolith.errors import ServiceFailed
from memolith.policies.merging import Operation, Verdict
from memolith.ports.models import Arbitrator, Completion, Prompt, TextRole

Message = dict[str, str]


class CallableChat:
    """A chat model from a function of messages. Thread-safe if the function is.

    A message is a dictionary with `role` and `content`. A schema is described in the system
    message. Each call runs in its own thread, which is abandoned after the timeout. Exceptions of
    the function become `ServiceFailed` without their message, which may quote the prompt.
    """

    def __init__(self, function: Callable[[list[Message]], str], timeout_s: float = 60.0) -> None:
        """Use a function with a timeout in seconds.

        The model's name is the function's `name` attribute, or its module and name.
        """
        self._function = function
        self._timeout_s = timeout_s
        module = getattr(function, "__module__", type(function).__module__)
        qualname = getattr(function, "__qualname__", type(function).__qualname__)
        self.name = str(getattr(function, "name", f"{module}.{qualname}"))

    def complete(self, prompt: Prompt) -> Completion:
        """Return the function's reply; see `ChatModel`."""
        messages = [
            {"role": turn.role, "content": turn.content}
            for turn in describe_schema_in_prompt(prompt).messages
        ]
        result = self._call(messages)
        if isinstance(result, ServiceFailed):
            raise result
        if isinstance(result, Exception):
            raise ServiceFailed(self.name, f"raised {type(result).__name__}", retryable=True)
        if not isinstance(result, str):
            raise ServiceFailed(self.name, f"returned {type(result).__name__} instead of str")
        return Completion(result)

    def stream(self, prompt: Prompt) -> Iterator[str | Completion]:
        """Yield the function's reply in one part, then the complete `Completion`."""
        reply = self.complete(prompt)
        if reply.text:
            yield reply.text
        yield reply

    def _call(self, messages: list[Message]) -> object:
        answer: SimpleQueue[object] = SimpleQueue()
        Thread(target=self._work, args=(messages, answer), daemon=True).start()
        try:
            return answer.get(timeout=self._timeout_s)
        except Empty:
            failure = timeout_failure(self.name, self._timeout_s)
        raise failure

    def _work(self, messages: list[Message], answer: SimpleQueue[object]) -> None:
        try:
            answer.put(self._function(messages))
        except Exception as error:  # noqa: BLE001 - user code: raised in the caller's thread
            answer.put(error)


# --- Embedder


_DIMENSIONS = 2


class CallableEmbedder:
    """An embedder from a function of texts.

    Vectors are normalised to length 1. The model's name is the function's `name` attribute, or its
    module and name. A store only opens with the model name that it was created with. The dimension
    is determined by embedding a word on first use. Exceptions of the function propagate, and
    nothing is stored then.
    """

    def __init__(self, function: Callable[[list[str]], ArrayLike]) -> None:
        """Use a function."""
        self._function = function
        self._dimension: int | None = None
        module = getattr(function, "__module__", type(function).__module__)
        qualname = getattr(function, "__qualname__", type(function).__qualname__)
        self._name = str(getattr(function, "name", f"{module}.{qualname}"))

    @property
    def name(self) -> str:
        """The model's name."""
        return self._name

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        if self._dimension is None:
            self._dimension = int(self._vectors(["dimension"]).shape[1])
        return self._dimension

    def embed(self, texts: Sequence[str], *, role: TextRole) -> NDArray[np.float32]:
        """Return the function's vectors of the texts, normalised to length 1."""
        del role
        if not texts:
            return np.empty((0, self.dimension), dtype=np.float32)
        vectors = self._vectors(list(texts))
        lengths = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
        unit = np.zeros_like(vectors)
        np.divide(vectors, lengths, out=unit, where=lengths > 0)
        return unit

    def _vectors(self, texts: list[str]) -> NDArray[np.float32]:
        result = self._function(texts)
        try:
            with np.errstate(over="ignore"):  # overflow becomes infinity, rejected below
                vectors = np.asarray(result, dtype=np.float32)
        except (TypeError, ValueError) as error:
            raise ServiceFailed(self._name, "did not return a list of vectors") from error
        if vectors.ndim != _DIMENSIONS or not vectors.shape[1]:
            raise ServiceFailed(self._name, f"returned vectors of shape {vectors.shape}")
        if not np.isfinite(vectors).all():
            raise ServiceFailed(self._name, "returned a vector that is not finite")
        return vectors


# --- Reranker


class CallableReranker:
    """A reranker from a function of a query and texts.

    Exceptions of the function propagate; `ServiceFailed` means that the reranker is unavailable.
    """

    def __init__(self, function: Callable[[str, list[str]], Sequence[float]]) -> None:
        """Use a function."""
        self._function = function

    def score(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """Return the function's scores."""
        return self._function(query, list(texts))


# --- Arbitrator with a timeout


_SERVICE = "arbitrator"


class TimedArbitrator:
    """Runs another arbitrator, or a function, with a timeout.

    Each call runs in its own thread, which is abandoned after the timeout. All errors become
    `ServiceFailed`, so that no memory is lost because of them.
    """

    def __init__(
        self, arbitrator: Arbitrator | Callable[[str, str], Verdict], timeout_s: float
    ) -> None:
        """Use an arbitrator with a timeout in seconds per call."""
        self._ask: Callable[[str, str], Verdict] = (
            arbitrator.arbitrate if hasattr(arbitrator, "arbitrate") else arbitrator
        )
        self._timeout_s = timeout_s

    def arbitrate(self, existing: str, candidate: str) -> Verdict:
        """Return the verdict.

        Raises:
            ServiceFailed: The arbitrator failed, timed out or returned no verdict.
        """
        answer: SimpleQueue[object] = SimpleQueue()
        work = Thread(target=self._work, args=(existing, candidate, answer), daemon=True)
        work.start()
        try:
            verdict = answer.get(timeout=self._timeout_s)
        except Empty:
            problem = f"timed out after {self._timeout_s:g} s"
            raise ServiceFailed(_SERVICE, problem, retryable=True) from None
        if isinstance(verdict, ServiceFailed):
            raise verdict
        if isinstance(verdict, Exception):
            raise ServiceFailed(_SERVICE, f"raised {type(verdict).__name__}") from verdict
        if not isinstance(verdict, Verdict):
            raise ServiceFailed(_SERVICE, f"returned {type(verdict).__name__} instead of Verdict")
        if verdict.operation not in tuple(Operation):
            raise ServiceFailed(_SERVICE, "returned a verdict with an unknown operation")
        return verdict

    def _work(self, existing: str, candidate: str, answer: SimpleQueue[object]) -> None:
        try:
            answer.put(self._ask(existing, candidate))
        except Exception as error:  # noqa: BLE001 - user code: raised in the caller's thread
            answer.put(error)
