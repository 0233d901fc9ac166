"""A clock that stands until it is moved."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime, timedelta


class SettableClock:
    """A `Clock` that tells the time it was given."""

    def __init__(self, now: datetime) -> None:
        """Take the time, with its zone."""
        self._now = now

    def now(self) -> datetime:
        """Return the time it stands at."""
        return self._now

    def advance(self, by: timedelta) -> None:
        """Move it."""
        self._now += by
