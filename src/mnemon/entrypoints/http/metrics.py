"""What the server counts, as Prometheus reads it. Never an owner, a key or a text."""

from __future__ import annotations

import os
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

SHARED: Final = "PROMETHEUS_MULTIPROC_DIR"
"""The variable that names the folder in which several processes count together."""

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


class Metrics:
    """The figures of one process, or of all that count together."""

    def __init__(self) -> None:
        """Begin with none."""
        self.registry = CollectorRegistry()
        self._requests = Histogram(
            "mnemon_request_seconds",
            "How long requests took.",
            ("method", "route", "status"),
            buckets=_SECONDS,
            registry=self.registry,
        )
        self.memory_failures = Counter(
            "mnemon_memory_failures",
            "How often a chat went on without its memory, by what failed.",
            ("stage", "kind"),
            registry=self.registry,
        )

    def observe(self, method: str, route: str, status: int, taken_s: float) -> None:
        """Count a request; unknown routes count as one, so that nobody can make up more."""
        self._requests.labels(method, route or "-", str(status)).observe(taken_s)

    def text(self) -> bytes:
        """Return them as Prometheus reads them."""
        registry = self.registry
        if os.environ.get(SHARED):
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call] # has no types
        return generate_latest(registry)
