"""A model that is asked again where it fails, and left alone where it keeps failing."""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final, TypeVar

from memolith.errors import LimitReached, ServiceFailed
from memolith.policies.retrying import Breaking, Circuit, Retrying
from memolith.ports.chat import Reply

if TYPE_CHECKING:
    from memolith.ports.chat import ChatModel, Prompt

T = TypeVar("T")

CALLS_AT_ONCE: Final = 4
"""A guess: what a service for one user bears."""

_log = logging.getLogger(__name__)


class Care:
    """How a service has done lately, and how it is treated: shared by all who ask it.

    Thread-safe.
    """

    def __init__(
        self,
        *,
        retrying: Retrying | None = None,
        breaking: Breaking | None = None,
        calls_at_once: int = CALLS_AT_ONCE,
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
        self._retrying = retrying or Retrying()
        self._breaking = breaking or Breaking()
        self._slots = threading.BoundedSemaphore(calls_at_once)
        self._now_s = monotonic_s
        self._sleep = sleep
        self._chance = chance or random.Random().random  # noqa: S311 - no secret
        self._circuit = Circuit()
        self._lock = threading.Lock()

    def run(self, service: str, call: Callable[[], T]) -> T:
        """Return what a call returns, made again where it fails and may yet succeed.

        Raises:
            ServiceFailed: It failed to the end, or the service is left alone.
        """
        began_s = self._now_s()
        tries = 0
        while True:
            tries += 1
            try:
                return self._watched(service, call)
            except LimitReached:
                raise
            except ServiceFailed as failure:
                pause_s = self._pause_s(failure, tries, began_s)
                if pause_s is None:
                    raise
                _log.info("%s; tried again in %.1f s", failure, pause_s)
            self._sleep(pause_s)

    def one_of_few(self, service: str, call: Callable[[], T]) -> T:
        """Return what a call returns, waiting while too many are under way.

        Raises:
            ServiceFailed: None of them ended.
        """
        if not self._slots.acquire(timeout=self._retrying.total_s):
            raise ServiceFailed(service, "is busy with other calls of ours", retryable=True)
        try:
            return call()
        finally:
            self._slots.release()

    def fail(self) -> None:
        """Note that a call failed after it had begun to answer."""
        self._now(lambda circuit, now_s: circuit.failed(self._breaking, now_s))

    def _watched(self, service: str, call: Callable[[], T]) -> T:
        self._admit(service)
        try:
            result = call()
        except LimitReached:
            self._now(lambda circuit, now_s: circuit.unasked(now_s))
            raise
        except ServiceFailed as failure:
            if failure.retryable:
                self.fail()
            else:  # it answered, if only that it won't: the fault is with what was asked
                self._now(lambda circuit, _now_s: circuit.answered())
            raise
        except BaseException:
            self._now(lambda circuit, now_s: circuit.unasked(now_s))
            raise
        self._now(lambda circuit, _now_s: circuit.answered())
        return result

    def _admit(self, service: str) -> None:
        with self._lock:
            now_s = self._now_s()
            wait_s = self._circuit.wait_s(now_s)
            failures = self._circuit.failures
            if not wait_s:
                self._circuit = self._circuit.asking(self._breaking, now_s)
                return
        raise ServiceFailed(
            service,
            f"is left alone after {failures} failures in a row: again in {wait_s:.0f} s",
            retryable=True,
            retry_after_s=wait_s,
        )

    def _now(self, change: Callable[[Circuit, float], Circuit]) -> None:
        with self._lock:
            self._circuit = change(self._circuit, self._now_s())

    def _pause_s(self, failure: ServiceFailed, tries: int, began_s: float) -> float | None:
        if not failure.retryable:
            return None
        elapsed_s = self._now_s() - began_s
        return self._retrying.pause_s(tries, elapsed_s, failure.retry_after_s, self._chance())


class SteadyChat:
    """A model that is asked again where it fails, and left alone where it keeps failing.

    Thread-safe.
    """

    def __init__(self, model: ChatModel, care: Care | None = None) -> None:
        """Ask this model, with that care."""
        self.name = model.name
        self._model: Any = model
        self._care = care or Care()

    def around(self, wrap: Callable[[ChatModel], ChatModel]) -> SteadyChat:
        """Return the same with the model in a wrapping, which so sees each try of a call."""
        return SteadyChat(wrap(self._model), self._care)

    def complete(self, prompt: Prompt) -> Reply:
        """Return the reply to a prompt; see `ChatModel`."""

        def call() -> Reply:
            reply: Reply = self._model.complete(prompt)
            return reply

        return self._care.one_of_few(self.name, lambda: self._care.run(self.name, call))

    def stream(self, prompt: Prompt) -> Iterator[str | Reply]:
        """Yield the reply in pieces, then whole; see `StreamingModel`.

        It is asked again only while nothing has come yet. A model that can't stream gives its
        reply in one piece.
        """
        first, pieces = self._care.run(self.name, lambda: _begun(self._pieces(prompt)))
        try:
            yield from first
            yield from pieces
        except ServiceFailed as failure:
            if failure.retryable:
                self._care.fail()
            raise
        finally:
            close_pieces(pieces)

    def close(self) -> None:
        """End the connections, where the model holds any."""
        if hasattr(self._model, "close"):
            self._model.close()

    def _pieces(self, prompt: Prompt) -> Any:
        if hasattr(self._model, "stream"):
            return self._model.stream(prompt)
        return _in_one(self._model.complete(prompt))


def _begun(pieces: Any) -> tuple[list[str | Reply], Any]:
    """Return what comes first of a stream, and the rest."""
    return [piece for _, piece in zip(range(1), pieces, strict=False)], pieces


def close_pieces(pieces: Any) -> None:
    """End a stream before its end, where it holds anything."""
    if hasattr(pieces, "close"):
        pieces.close()


def _in_one(reply: Reply) -> Iterator[str | Reply]:
    if reply.text:
        yield reply.text
    yield reply
