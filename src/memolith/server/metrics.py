"""What the server counts, as Prometheus reads it. Never an owner, a key or a text."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Final

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

MULTIPROCESS_VARIABLE: Final = "PROMETHEUS_MULTIPROC_DIR"
"""The variable that names the folder in which several processes count together."""

# When each series began is said by no rule of ours, and doubles what is read at each scrape.
disable_created_metrics()  # type: ignore[no-untyped-call] # the library gives it no types

_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_BUCKETS_S: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)

_COUNTERS: Final = {
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
        self._count_waiting_owners = waiting
        self._requests = self._new_histogram(
            "memolith_request_seconds", "How long requests took.", "method", "route", "status"
        )
        self._steps = self._new_histogram("memolith_step_seconds", "How long steps took.", "step")
        self._by_step: dict[str, Histogram] = {}
        self._failed_steps = self._new_counter(
            "memolith_step_failures", "Steps that failed.", "step"
        )
        self._counts = {
            name: self._new_counter(f"memolith_{name}", told) for name, told in _COUNTERS.items()
        }
        self.memory_failures = self._new_counter(
            "memolith_memory_failures",
            "How often a chat went on without its memory, by what failed.",
            "stage",
            "kind",
        )
        self.active_requests = self._new_gauge("memolith_requests_under_way", "Requests under way.")
        self.pending_exchanges = self._new_gauge(
            "memolith_replies_waiting", "Exchanges of proxied chats that are still to be kept."
        )

    def observe(self, method: str, route: str, status: int, taken_s: float) -> None:
        """Count a request; unknown routes and methods count as one: nobody can make up more."""
        known = method if method in _METHODS else "-"
        self._requests.labels(known, route or "-", str(status)).observe(taken_s)

    @contextmanager
    def span(self, name: str) -> Iterator[None]:
        """See `steps.Watcher`."""
        began_s = perf_counter()
        try:
            yield
        except Exception:
            self._failed_steps.labels(name).inc()
            raise
        finally:
            self._get_step_histogram(name).observe(perf_counter() - began_s)

    def count(self, name: str, number: int) -> None:
        """See `steps.Watcher`."""
        if name in self._counts:
            self._counts[name].inc(number)

    def text(self) -> bytes:
        """Return them as Prometheus reads them."""
        registry = self.registry
        if os.environ.get(MULTIPROCESS_VARIABLE):
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call] # has no types
        return generate_latest(registry) + self._render_store_metrics()

    def _render_store_metrics(self) -> bytes:
        """Return what is not counted but looked up: the same whichever process is asked."""
        try:
            waiting = self._count_waiting_owners()
        except MemolithError:
            return b""  # what was counted is told all the same
        now = CollectorRegistry()
        told = "Owners of whom something waits to be learned from by a model, and is due."
        Gauge("memolith_owners_waiting", told, registry=now).set(waiting)
        return generate_latest(now)

    def _get_step_histogram(self, name: str) -> Histogram:
        """Return the histogram of a step; looked up once, since steps are many."""
        found = self._by_step.get(name)
        if found is None:
            found = self._by_step[name] = self._steps.labels(name)
        return found

    def _new_histogram(self, name: str, description: str, *labels: str) -> Histogram:
        return Histogram(name, description, labels, buckets=_BUCKETS_S, registry=self.registry)

    def _new_counter(self, name: str, description: str, *labels: str) -> Counter:
        return Counter(name, description, labels, registry=self.registry)

    def _new_gauge(self, name: str, description: str) -> Gauge:
        return Gauge(name, description, registry=self.registry, multiprocess_mode="livesum")


def remove_process(pid: int) -> None:
    """Leave out from now on what a process that has ended had under way."""
    mark_process_dead(pid)  # type: ignore[no-untyped-call] # has no types
