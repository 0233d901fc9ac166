"""The clock."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """Provides the current time. Thread-safe."""

    def now(self) -> datetime:
        """Return the current time in UTC, timezone-aware."""
        ...
