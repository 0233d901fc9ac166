"""Retries, circuit breaker and schema fallback for chat models and services."""

from __future__ import annotations

import json
import logging
import random
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Final, TypeVar

from memolith.errors import LimitReached, ServiceFailed
from memolith.policies.retries import BreakerPolicy, CircuitState, RetryPolicy
from memolith.ports.models import ChatMessage, ChatModel, Completion, Prompt

T = TypeVar("T")

MAX_CONCURRENT_CALLS: Final = 4
"""Largest number of concurrent calls to a service. A guess."""

_log = logging.getLogger(__name__)


class ServiceGuard:
    """Retries, circuit breaker and concurrency limit of one service, shared by its callers.

    Thread-safe.
    """

    def __init__(
        self,
        *,
        retry_policy: RetryPolicy | None = None,
        breaker_policy: BreakerPolicy | None = None,
        max_concurrent_calls: int = MAX_CONCURRENT_CALLS,
        monotonic_s: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] = time.sleep,
        chance: Callable[[], float] | None = None,
    ) -> None:
        """Configure the guard.

        Args:
            retry_policy: Number of attempts and their backoff.
            breaker_policy: When the circuit opens.
            max_concurrent_calls: Largest number of concurrent calls, not counting streams.
            monotonic_s: Monotonic clock in seconds.
            sleep: Waits a number of seconds.
            chance: Returns random numbers from 0 to 1.
        """
        self._retry_policy = retry_policy or RetryPolicy()
        self._breaker_policy = breaker_policy or BreakerPolicy()
        self._slots = threading.BoundedSemaphore(max_concurrent_calls)
        self._now_s = monotonic_s
        self._sleep = sleep
        self._chance = chance or random.Random().random  # noqa: S311 - not for cryptography
        self._circuit = CircuitState()
        self._lock = threading.Lock()

    def call_with_retries(self, service: str, call: Callable[[], T]) -> T:
        """Return the result of a call, retrying failures that may be temporary.

        Raises:
            ServiceFailed: All attempts failed, or the circuit is open.
        """
        began_s = self._now_s()
        tries = 0
        while True:
            tries += 1
            try:
                return self._call_through_circuit(service, call)
            except LimitReached:
                raise
            except ServiceFailed as failure:
                pause_s = self._pause_s(failure, tries, began_s)
                if pause_s is None:
                    raise
                _log.info("%s; retrying in %.1f s", failure, pause_s)
            self._sleep(pause_s)

    def limit_concurrency(self, service: str, call: Callable[[], T]) -> T:
        """Return the result of a call, waiting while too many calls are running.

        Raises:
            ServiceFailed: No slot became free in time.
        """
        if not self._slots.acquire(timeout=self._retry_policy.max_total_s):
            raise ServiceFailed(
                service, "too many concurrent calls; try again later", retryable=True
            )
        try:
            return call()
        finally:
            self._slots.release()

    def record_failure(self) -> None:
        """Record a failure of a call whose reply had started."""
        self._update_circuit(
            lambda circuit, now_s: circuit.record_failure(self._breaker_policy, now_s)
        )

    def _call_through_circuit(self, service: str, call: Callable[[], T]) -> T:
        self._admit(service)
        try:
            result = call()
        except LimitReached:
            self._update_circuit(lambda circuit, now_s: circuit.release_trial(now_s))
            raise
        except ServiceFailed as failure:
            if failure.retryable:
                self.record_failure()
            else:  # the service works: the request was at fault
                self._update_circuit(lambda circuit, _now_s: circuit.record_success())
            raise
        except BaseException:
            self._update_circuit(lambda circuit, now_s: circuit.release_trial(now_s))
            raise
        self._update_circuit(lambda circuit, _now_s: circuit.record_success())
        return result

    def _admit(self, service: str) -> None:
        with self._lock:
            now_s = self._now_s()
            wait_s = self._circuit.get_wait_s(now_s)
            failures = self._circuit.failures
            if not wait_s:
                self._circuit = self._circuit.begin_call(self._breaker_policy, now_s)
                return
        raise ServiceFailed(
            service,
            f"circuit open after {failures} consecutive failures; retry in {wait_s:.0f} s",
            retryable=True,
            retry_after_s=wait_s,
        )

    def _update_circuit(self, change: Callable[[CircuitState, float], CircuitState]) -> None:
        with self._lock:
            self._circuit = change(self._circuit, self._now_s())

    def _pause_s(self, failure: ServiceFailed, tries: int, began_s: float) -> float | None:
        if not failure.retryable:
            return None
        elapsed_s = self._now_s() - began_s
        return self._retry_policy.get_pause_s(
            tries, elapsed_s, failure.retry_after_s, self._chance()
        )


class ResilientChat:
    """A chat model with retries and a circuit breaker. Thread-safe."""

    def __init__(self, model: ChatModel, guard: ServiceGuard | None = None) -> None:
        """Use a model and a guard."""
        self.name = model.name
        self._model: Any = model
        self._guard = guard or ServiceGuard()

    def with_wrapper(self, wrap: Callable[[ChatModel], ChatModel]) -> ResilientChat:
        """Return a copy with a wrapped model; the wrapper sees each attempt of a call."""
        return ResilientChat(wrap(self._model), self._guard)

    def complete(self, prompt: Prompt) -> Completion:
        """Return the reply to a prompt; see `ChatModel`."""

        def call() -> Completion:
            reply: Completion = self._model.complete(prompt)
            return reply

        return self._guard.limit_concurrency(
            self.name, lambda: self._guard.call_with_retries(self.name, call)
        )

    def stream(self, prompt: Prompt) -> Iterator[str | Completion]:
        """Yield the parts of a reply, then the complete one; see `StreamingChatModel`.

        Failures are retried only before the first part. A model without streaming yields its reply
        in one part.
        """
        first, pieces = self._guard.call_with_retries(
            self.name, lambda: _read_first_piece(self._open_stream(prompt))
        )
        try:
            yield from first
            yield from pieces
        except ServiceFailed as failure:
            if failure.retryable:
                self._guard.record_failure()
            raise
        finally:
            close_stream(pieces)

    def close(self) -> None:
        """Close the connections, if the model has any."""
        if hasattr(self._model, "close"):
            self._model.close()

    def _open_stream(self, prompt: Prompt) -> Any:
        if hasattr(self._model, "stream"):
            return self._model.stream(prompt)
        return _single_piece_stream(self._model.complete(prompt))


def _read_first_piece(pieces: Any) -> tuple[list[str | Completion], Any]:
    """Return the first part of a stream in a list, and the rest of the stream."""
    return [piece for _, piece in zip(range(1), pieces, strict=False)], pieces


def close_stream(pieces: Any) -> None:
    """Close a stream early."""
    if hasattr(pieces, "close"):
        pieces.close()


def _single_piece_stream(reply: Completion) -> Iterator[str | Completion]:
    if reply.text:
        yield reply.text
    yield reply


# --- Schema fallback


_SCHEMA_REFUSED: Final = frozenset({400, 422})
"""Status codes with which services reject unknown request fields."""


def describe_schema_in_prompt(prompt: Prompt) -> Prompt:
    """Return the prompt with its schema described at the end of the system message.

    There is only one system message, since many chat templates do not support two.
    """
    if prompt.schema is None:
        return prompt
    instruction = (
        "Reply with one JSON value and nothing else: no explanation, no code fence."
        f" It must match this JSON schema:\n{json.dumps(dict(prompt.schema.json))}"
    )
    first, *rest = prompt.messages
    if first.role != "system":
        return replace(
            prompt, messages=(ChatMessage("system", instruction), *prompt.messages), schema=None
        )
    turn = ChatMessage("system", f"{first.content}\n\n{instruction}")
    return replace(prompt, messages=(turn, *rest), schema=None)


class SchemaFallback:
    """Sends schemas to a service until it rejects one, then describes them in the prompt.

    Thread-safe.

    Attributes:
        is_supported: Whether the service supports schemas, as far as known.
    """

    def __init__(self) -> None:
        """Assume that schemas are supported."""
        self.is_supported = True

    def call(self, prompt: Prompt, ask: Callable[[Prompt], T]) -> T:
        """Return the reply to a prompt, with its schema in the request or described in the prompt.

        Raises:
            ServiceFailed: Both requests failed.
        """
        if prompt.schema is None or not self.is_supported:
            return ask(describe_schema_in_prompt(prompt))
        try:
            return ask(prompt)
        except ServiceFailed as failure:
            if failure.status not in _SCHEMA_REFUSED:
                raise
        reply = ask(describe_schema_in_prompt(prompt))
        self.is_supported = False  # only now: the prompt may have been rejected for another reason
        return reply
