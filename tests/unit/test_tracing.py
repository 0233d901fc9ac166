"""Tracing of spans and counts for active observers, in order of completion."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

from memolith.tracing import count, observe, span, trace_calls


@dataclass
class RecordingObserver:
    """Record the reported events."""

    events: list[str] = field(default_factory=list)

    @contextmanager
    def span(self, name: str) -> Iterator[None]:
        self.events.append(f"{name} begins")
        try:
            yield
        finally:
            self.events.append(f"{name} ends")

    def count(self, name: str, number: int) -> None:
        self.events.append(f"{number} {name}")


@trace_calls("whole")
def work(number: int) -> int:
    """Do something."""
    with span("part"):
        count("things", number)
    return number


def test_nothing_is_reported_without_active_observer() -> None:
    notes = RecordingObserver()
    with observe(notes):
        pass
    assert work(3) == 3
    assert notes.events == []
    assert work.__doc__ == "Do something."


def test_every_active_observer_gets_all_events() -> None:
    one, other = RecordingObserver(), RecordingObserver()
    with observe(one), observe(other):
        work(3)
    assert one.events == ["whole begins", "part begins", "3 things", "part ends", "whole ends"]
    assert other.events == one.events


def test_exception_in_span_is_reraised() -> None:
    notes = RecordingObserver()
    with pytest.raises(ValueError, match="no"), observe(notes), span("a"):
        raise ValueError("no")
    assert notes.events == ["a begins", "a ends"]
