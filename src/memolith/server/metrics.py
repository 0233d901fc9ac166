"""Prometheus metrics of the server. They contain no owners, keys or texts."""

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
"""Environment variable with the directory that several processes share for metrics."""

# No alert uses creation times, and they double the size of the output.
disable_created_metrics()  # type: ignore[no-untyped-call] # untyped library

_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_BUCKETS_S: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)

_COUNTERS: Final = {
    "memories_stored": "New memories stored.",
    "learn_done": "Exchanges learned from in the background.",
    "learn_failures": "Exchanges whose learning failed; they are retried or become dead letters.",
    "consolidate_done": "Summaries created in the background.",
    "consolidate_failures": "Failed summaries; they are retried.",
}


class Metrics:
    """Metrics of this process, or of all processes that share a directory. Thread-safe."""

    def __init__(self, waiting: Callable[[], int] = lambda: 0) -> None:
        """Create the metrics; `waiting` returns the number of owners with pending learning."""
        self.registry = CollectorRegistry()
        self._count_waiting_owners = waiting
        self._requests = self._new_histogram(
            "memolith_request_seconds",
            "Duration of requests in seconds.",
            "method",
            "route",
            "status",
        )
        self._steps = self._new_histogram(
            "memolith_span_seconds", "Duration of steps in seconds.", "step"
        )
        self._by_step: dict[str, Histogram] = {}
        self._failed_steps = self._new_counter("memolith_span_failures", "Failed steps.", "step")
        self._counts = {
            name: self._new_counter(f"memolith_{name}", told) for name, told in _COUNTERS.items()
        }
        self.memory_failures = self._new_counter(
            "memolith_memory_failures",
            "Proxied chats that continued without memory, by failed stage.",
            "stage",
            "kind",
        )
        self.active_requests = self._new_gauge(
            "memolith_requests_in_progress", "Requests being processed."
        )
        self.pending_exchanges = self._new_gauge(
            "memolith_exchanges_pending", "Exchanges of proxied chats not stored yet."
        )

    def observe(self, method: str, route: str, status: int, taken_s: float) -> None:
        """Record a request; unknown routes and methods are merged to bound the series."""
        known = method if method in _METHODS else "-"
        self._requests.labels(known, route or "-", str(status)).observe(taken_s)

    @contextmanager
    def span(self, name: str) -> Iterator[None]:
        """See `tracing.Observer`."""
        began_s = perf_counter()
        try:
            yield
        except Exception:
            self._failed_steps.labels(name).inc()
            raise
        finally:
            self._get_step_histogram(name).observe(perf_counter() - began_s)

    def count(self, name: str, number: int) -> None:
        """See `tracing.Observer`."""
        if name in self._counts:
            self._counts[name].inc(number)

    def text(self) -> bytes:
        """Return the metrics in Prometheus' text format."""
        registry = self.registry
        if os.environ.get(MULTIPROCESS_VARIABLE):
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call] # untyped library
        return generate_latest(registry) + self._render_store_metrics()

    def _render_store_metrics(self) -> bytes:
        """Return the metrics that are read from the store; they are the same in every process."""
        try:
            waiting = self._count_waiting_owners()
        except MemolithError:
            return b""  # still report the other metrics
        now = CollectorRegistry()
        told = "Owners with learning work that is due."
        Gauge("memolith_owners_pending", told, registry=now).set(waiting)
        return generate_latest(now)

    def _get_step_histogram(self, name: str) -> Histogram:
        """Return the cached histogram of a step."""
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
    """Remove the gauges of a process that ended."""
    mark_process_dead(pid)  # type: ignore[no-untyped-call] # untyped library
