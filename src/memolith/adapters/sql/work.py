"""Work that waits, as columns hold it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from memolith.adapters.sql.damage import decoding
from memolith.adapters.sql.values import instant_or_none, micros
from memolith.domain.work import Progress
from memolith.ports.usage import Spent

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

WAITS, PARKED = 1, 2
"""The marks of a message that waits to be learned from, and of one that waits for a word; 0 is
that of all others."""

_TOKEN_BYTES = 16
_HOUR = 3_600_000_000
"""In microseconds."""


def new_token() -> bytes:
    """Return what tells a claim from all others."""
    return os.urandom(_TOKEN_BYTES)


def hour_of(at: datetime) -> int:
    """Return the hour of a time, counted from 1970 in UTC."""
    return micros(at) // _HOUR


@decoding
def progress_of(row: Sequence[Any] | None) -> Progress:
    """Return the progress of a row: up to where, failures, when; None: of no such session."""
    if row is None:
        return Progress()
    to, failures, at = row
    return Progress(to, failures, instant_or_none(at))


@decoding
def spent_of(rows: Iterable[Sequence[Any]]) -> dict[str, Spent]:
    """Return what was spent of rows: purpose, calls, tokens in, tokens out."""
    return {purpose: Spent(*counts) for purpose, *counts in rows}
