"""What the server counts, as Prometheus reads it. Never an owner, a key or a text."""

from __future__ import annotations

import os
from contextlib import contextmanager
from time import perf_counter
from typing import TYPE_CHECKING, Final

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

from memolith.errors import MemolithError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SHARED: Final = "PROMETHEUS_MULTIPROC_DIR"
"""The variable that names the folder in which several processes count together."""

# When each series began is said by no rule of ours, and doubles what is read at each scrape.
disable_created_metrics()  # type: ignore[no-untyped-call] # the library gives it no types

_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)

_COUNTS: Final = {
    "memories_stored": "Memories that were stored and had not been there.",
    "learn_done": "Exchanges that a model has learned from in the background.",
    "learn_failures": "Exchanges of which learning failed; they are tried again, or parked.",
    "consolidate_done": "Summaries that were made in the background.",
    "consolidate_failures": "Summaries that failed; they are tried again.",
}


class Metrics:
    """The figures of one process, or of all that count together. Thread-safe."""

    def __init__(self, waiting: Callable[[], int] = lambda: 0) -> None:
        """Begin with none; `waiting` tells how many owners wait to be learned from."""
        self.registry = CollectorRegistry()
        self._waiting = waiting
        self._requests = self._histogram(
            "memolith_request_seconds", "How long requests took.", "method", "route", "status"
        )
        self._steps = self._histogram("memolith_step_seconds", "How long steps took.", "step")
        self._by_step: dict[str, Histogram] = {}
        self._failed_steps = self._counter("memolith_step_failures", "Steps that failed.", "step")
        self._counts = {
            name: self._counter(f"memolith_{name}", told) for name, told in _COUNTS.items()
        }
        self.memory_failures = self._counter(
            "memolith_memory_failures",
            "How often a chat went on without its memory, by what failed.",
            "stage",
            "kind",
        )
        self.under_way = self._gauge("memolith_requests_under_way", "Requests under way.")
        self.replies_waiting = self._gauge(
            "memolith_replies_waiting", "Exchanges of proxied chats that are still to be kept."
        )

    def observe(self, method: str, route: str, status: int, taken_s: float) -> None:
        """Count a request; unknown routes and methods count as one: nobody can make up more."""
        known = method if method in _METHODS else "-"
        self._requests.labels(known, route or "-", str(status)).observe(taken_s)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """See `steps.Watcher`."""
        began_s = perf_counter()
        try:
            yield
        except Exception:
            self._failed_steps.labels(name).inc()
            raise
        finally:
            self._timed(name).observe(perf_counter() - began_s)

    def count(self, name: str, number: int) -> None:
        """See `steps.Watcher`."""
        if name in self._counts:
            self._counts[name].inc(number)

    def text(self) -> bytes:
        """Return them as Prometheus reads them."""
        registry = self.registry
        if os.environ.get(SHARED):
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call] # has no types
        return generate_latest(registry) + self._of_the_store()

    def _of_the_store(self) -> bytes:
        """Return what is not counted but looked up: the same whichever process is asked."""
        try:
            waiting = self._waiting()
        except MemolithError:
            return b""  # what was counted is told all the same
        now = CollectorRegistry()
        told = "Owners of whom something waits to be learned from by a model, and is due."
        Gauge("memolith_owners_waiting", told, registry=now).set(waiting)
        return generate_latest(now)

    def _timed(self, name: str) -> Histogram:
        """Return the histogram of a step; looked up once, since steps are many."""
        found = self._by_step.get(name)
        if found is None:
            found = self._by_step[name] = self._steps.labels(name)
        return found

    def _histogram(self, name: str, told: str, *labels: str) -> Histogram:
        return Histogram(name, told, labels, buckets=_SECONDS, registry=self.registry)

    def _counter(self, name: str, told: str, *labels: str) -> Counter:
        return Counter(name, told, labels, registry=self.registry)

    def _gauge(self, name: str, told: str) -> Gauge:
        return Gauge(name, told, registry=self.registry, multiprocess_mode="livesum")


def forget_process(pid: int) -> None:
    """Leave out from now on what a process that has ended had under way."""
    mark_process_dead(pid)  # type: ignore[no-untyped-call] # has no types
