"""Steps and counts: told while somebody watches, and in the order in which they end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

from memolith.tracing import count, observe, span, trace_calls


@dataclass
class Notes:
    """What was told."""

    told: list[str] = field(default_factory=list)

    @contextmanager
    def span(self, name: str) -> Iterator[None]:
        self.told.append(f"{name} begins")
        try:
            yield
        finally:
            self.told.append(f"{name} ends")

    def count(self, name: str, number: int) -> None:
        self.told.append(f"{number} {name}")


@trace_calls("whole")
def work(number: int) -> int:
    """Do something."""
    with span("part"):
        count("things", number)
    return number


def test_nobody_is_told_where_nobody_watches() -> None:
    notes = Notes()
    with observe(notes):
        pass
    assert work(3) == 3
    assert notes.told == []
    assert work.__doc__ == "Do something."


def test_all_who_watch_are_told() -> None:
    one, other = Notes(), Notes()
    with observe(one), observe(other):
        work(3)
    assert one.told == ["whole begins", "part begins", "3 things", "part ends", "whole ends"]
    assert other.told == one.told


def test_what_is_raised_in_a_step_goes_on() -> None:
    notes = Notes()
    with pytest.raises(ValueError, match="no"), observe(notes), span("a"):
        raise ValueError("no")
    assert notes.told == ["a begins", "a ends"]
