"""A plain function as a language model."""

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
    """Makes a model of a function from messages to a text. Thread-safe if the function is.

    A message is a dictionary with `role` and `content`. A schema is asked for in words, at the end
    of the system's message. Each call has a thread of its own, which is left behind where it takes
    too long. What the function raises is a `ServiceFailed`: its own words may hold what was asked.
    """

    def __init__(self, function: Callable[[list[Message]], str], timeout_s: float = 60.0) -> None:
        """Use this function, and wait so long for it.

        The model's name is the function's `name` attribute, or its module and name.
        """
        self._function = function
        self._timeout_s = timeout_s
        module = getattr(function, "__module__", type(function).__module__)
        own = getattr(function, "__qualname__", type(function).__qualname__)
        self.name = str(getattr(function, "name", f"{module}.{own}"))

    def complete(self, prompt: Prompt) -> Completion:
        """Return the function's reply; see `ChatModel`."""
        messages = [
            {"role": turn.role, "content": turn.content}
            for turn in describe_schema_in_prompt(prompt).messages
        ]
        given = self._call(messages)
        if isinstance(given, ServiceFailed):
            raise given
        if isinstance(given, Exception):
            raise ServiceFailed(self.name, f"raised {type(given).__name__}", retryable=True)
        if not isinstance(given, str):
            raise ServiceFailed(self.name, f"gave a {type(given).__name__}, not a text")
        return Completion(given)

    def stream(self, prompt: Prompt) -> Iterator[str | Completion]:
        """Yield the function's reply in one piece, then again as a `Reply`."""
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
        except Exception as error:  # noqa: BLE001 - another's code: it is told to whoever waits
            answer.put(error)


# --- A plain function as an embedder


_DIMENSIONS = 2


class CallableEmbedder:
    """Makes an embedder of a function from texts to vectors.

    Vectors are brought to length 1. The model's name is the function's `name` attribute, or
    its module and name: a store made with one function is not opened with another. The
    dimension is found by embedding a word, when it is first asked for. What the function raises
    passes through as it is; nothing is stored then.
    """

    def __init__(self, function: Callable[[list[str]], ArrayLike]) -> None:
        """Use this function."""
        self._function = function
        self._dimension: int | None = None
        module = getattr(function, "__module__", type(function).__module__)
        own = getattr(function, "__qualname__", type(function).__qualname__)
        self._name = str(getattr(function, "name", f"{module}.{own}"))

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
        """Return the function's vectors of the texts, each of length 1."""
        del role
        if not texts:
            return np.empty((0, self.dimension), dtype=np.float32)
        vectors = self._vectors(list(texts))
        lengths = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
        unit = np.zeros_like(vectors)
        np.divide(vectors, lengths, out=unit, where=lengths > 0)
        return unit

    def _vectors(self, texts: list[str]) -> NDArray[np.float32]:
        given = self._function(texts)
        try:
            with np.errstate(over="ignore"):  # what is too large becomes infinite, and is refused
                vectors = np.asarray(given, dtype=np.float32)
        except (TypeError, ValueError) as error:
            raise ServiceFailed(self._name, "gave what is no list of vectors") from error
        if vectors.ndim != _DIMENSIONS or not vectors.shape[1]:
            raise ServiceFailed(self._name, f"gave vectors of shape {vectors.shape}")
        if not np.isfinite(vectors).all():
            raise ServiceFailed(self._name, "gave a vector that is not finite")
        return vectors


# --- A plain function as a reranker


class CallableReranker:
    """Makes a reranker of a function from a query and texts to scores.

    What the function raises passes through as it is; `ServiceFailed` means that it can't be had.
    """

    def __init__(self, function: Callable[[str, list[str]], Sequence[float]]) -> None:
        """Use this function."""
        self._function = function

    def score(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """Return the function's scores."""
        return self._function(query, list(texts))


# --- An arbitrator for whom nobody waits too long


_SERVICE = "arbitrator"


class TimedArbitrator:
    """Asks another arbitrator, or a function, and gives up after a while.

    Each question has a thread of its own, which is left behind where it takes too long. Whatever
    goes wrong is a `ServiceFailed`, so that no memory is lost by it.
    """

    def __init__(
        self, arbitrator: Arbitrator | Callable[[str, str], Verdict], timeout_s: float
    ) -> None:
        """Ask this one, for at most so long each time."""
        self._ask: Callable[[str, str], Verdict] = (
            arbitrator.arbitrate if hasattr(arbitrator, "arbitrate") else arbitrator
        )
        self._timeout_s = timeout_s

    def arbitrate(self, existing: str, candidate: str) -> Verdict:
        """Return the verdict.

        Raises:
            ServiceFailed: It failed, gave no verdict, or took too long.
        """
        answer: SimpleQueue[object] = SimpleQueue()
        work = Thread(target=self._work, args=(existing, candidate, answer), daemon=True)
        work.start()
        try:
            given = answer.get(timeout=self._timeout_s)
        except Empty:
            problem = f"gave no answer within {self._timeout_s:g} s"
            raise ServiceFailed(_SERVICE, problem, retryable=True) from None
        if isinstance(given, ServiceFailed):
            raise given
        if isinstance(given, Exception):
            raise ServiceFailed(_SERVICE, f"raised {type(given).__name__}") from given
        if not isinstance(given, Verdict):
            raise ServiceFailed(_SERVICE, f"gave a {type(given).__name__}, not a Verdict")
        if given.operation not in tuple(Operation):
            raise ServiceFailed(_SERVICE, "gave a verdict of no operation that there is")
        return given

    def _work(self, existing: str, candidate: str, answer: SimpleQueue[object]) -> None:
        try:
            answer.put(self._ask(existing, candidate))
        except Exception as error:  # noqa: BLE001 - another's code: it is told to whoever waits
            answer.put(error)
