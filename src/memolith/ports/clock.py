"""The time."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """Tells the time. Thread-safe."""

    def now(self) -> datetime:
        """Return the present instant in UTC, timezone-aware."""
        ...
