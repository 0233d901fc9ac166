"""The system clock."""

from __future__ import annotations

from datetime import UTC, datetime


class SystemClock:
    """A `Clock` that reads the system time."""

    def now(self) -> datetime:
        """Return the current time in UTC."""
        return datetime.now(UTC)
