"""A model that is asked again where it fails, and left alone where it keeps failing."""

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
"""A guess: what a service for one user bears."""

_log = logging.getLogger(__name__)


class ServiceGuard:
    """How a service has done lately, and how it is treated: shared by all who ask it.

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
        """Treat a service by these rules.

        Args:
            retrying: How often it is asked again.
            breaking: When it is left alone.
            calls_at_once: How many calls may be under way, streams aside.
            monotonic_s: A clock that never goes back, in seconds.
            sleep: Waits so many seconds.
            chance: Gives numbers from 0 to 1.
        """
        self._retry_policy = retry_policy or RetryPolicy()
        self._breaker_policy = breaker_policy or BreakerPolicy()
        self._slots = threading.BoundedSemaphore(max_concurrent_calls)
        self._now_s = monotonic_s
        self._sleep = sleep
        self._chance = chance or random.Random().random  # noqa: S311 - no secret
        self._circuit = CircuitState()
        self._lock = threading.Lock()

    def call_with_retries(self, service: str, call: Callable[[], T]) -> T:
        """Return what a call returns, made again where it fails and may yet succeed.

        Raises:
            ServiceFailed: It failed to the end, or the service is left alone.
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
                _log.info("%s; tried again in %.1f s", failure, pause_s)
            self._sleep(pause_s)

    def limit_concurrency(self, service: str, call: Callable[[], T]) -> T:
        """Return what a call returns, waiting while too many are under way.

        Raises:
            ServiceFailed: None of them ended.
        """
        if not self._slots.acquire(timeout=self._retry_policy.max_total_s):
            raise ServiceFailed(service, "is busy with other calls of ours", retryable=True)
        try:
            return call()
        finally:
            self._slots.release()

    def record_failure(self) -> None:
        """Note that a call failed after it had begun to answer."""
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
            else:  # it answered, if only that it won't: the fault is with what was asked
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
            f"is left alone after {failures} failures in a row: again in {wait_s:.0f} s",
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
    """A model that is asked again where it fails, and left alone where it keeps failing.

    Thread-safe.
    """

    def __init__(self, model: ChatModel, guard: ServiceGuard | None = None) -> None:
        """Ask this model, with that care."""
        self.name = model.name
        self._model: Any = model
        self._guard = guard or ServiceGuard()

    def with_wrapper(self, wrap: Callable[[ChatModel], ChatModel]) -> ResilientChat:
        """Return the same with the model in a wrapping, which so sees each try of a call."""
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
        """Yield the reply in pieces, then whole; see `StreamingModel`.

        It is asked again only while nothing has come yet. A model that can't stream gives its
        reply in one piece.
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
        """End the connections, where the model holds any."""
        if hasattr(self._model, "close"):
            self._model.close()

    def _open_stream(self, prompt: Prompt) -> Any:
        if hasattr(self._model, "stream"):
            return self._model.stream(prompt)
        return _single_piece_stream(self._model.complete(prompt))


def _read_first_piece(pieces: Any) -> tuple[list[str | Completion], Any]:
    """Return what comes first of a stream, and the rest."""
    return [piece for _, piece in zip(range(1), pieces, strict=False)], pieces


def close_stream(pieces: Any) -> None:
    """End a stream before its end, where it holds anything."""
    if hasattr(pieces, "close"):
        pieces.close()


def _single_piece_stream(reply: Completion) -> Iterator[str | Completion]:
    if reply.text:
        yield reply.text
    yield reply


# --- Replies to a schema: by the service where it can, else asked for in words


_SCHEMA_REFUSED: Final = frozenset({400, 422})
"""What services answer to a field that they do not know."""


def describe_schema_in_prompt(prompt: Prompt) -> Prompt:
    """Return a prompt that asks for its schema in words: where the system speaks, at its end.

    It stands in the one system turn, since many chat templates take no second one.
    """
    if prompt.schema is None:
        return prompt
    asked = (
        "Reply with one JSON value and nothing else: no explanation, no code fence."
        f" It must match this JSON schema:\n{json.dumps(dict(prompt.schema.json))}"
    )
    first, *rest = prompt.messages
    if first.role != "system":
        return replace(
            prompt, messages=(ChatMessage("system", asked), *prompt.messages), schema=None
        )
    turn = ChatMessage("system", f"{first.content}\n\n{asked}")
    return replace(prompt, messages=(turn, *rest), schema=None)


class SchemaFallback:
    """Whether a service takes schemas: found out once, and remembered. Thread-safe.

    Attributes:
        are_taken: Whether it does, as far as is known.
    """

    def __init__(self) -> None:
        """Suppose that it does."""
        self.is_supported = True

    def call(self, prompt: Prompt, ask: Callable[[Prompt], T]) -> T:
        """Return what a service replies: asked with the schema or, if it refuses that, in words.

        Raises:
            ServiceFailed: It gave no reply to either.
        """
        if prompt.schema is None or not self.is_supported:
            return ask(describe_schema_in_prompt(prompt))
        try:
            return ask(prompt)
        except ServiceFailed as failure:
            if failure.status not in _SCHEMA_REFUSED:
                raise
        reply = ask(describe_schema_in_prompt(prompt))
        self.is_supported = False  # only now: the prompt itself might have been what was refused
        return reply
