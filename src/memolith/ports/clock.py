"""The time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from datetime import datetime


class Clock(Protocol):
    """Tells the time. Thread-safe."""

    def now(self) -> datetime:
        """Return the present instant in UTC, timezone-aware."""
        ...
