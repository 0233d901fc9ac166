"""Work that waits, as columns hold it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from memolith.adapters.sql.damage import translate_decode_errors
from memolith.adapters.sql.values import instant_or_none, micros
from memolith.domain.work import ConsolidationProgress
from memolith.ports.usage import ModelUsage

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

PENDING, DEAD_LETTER = 1, 2
"""The marks of a message that waits to be learned from, and of one that waits for a word; 0 is
that of all others."""

_TOKEN_BYTES = 16
_HOUR_MICROSECONDS = 3_600_000_000
"""In microseconds."""


def create_token() -> bytes:
    """Return what tells a claim from all others."""
    return os.urandom(_TOKEN_BYTES)


def hour_of(at: datetime) -> int:
    """Return the hour of a time, counted from 1970 in UTC."""
    return micros(at) // _HOUR_MICROSECONDS


@translate_decode_errors
def decode_progress(row: Sequence[Any] | None) -> ConsolidationProgress:
    """Return the progress of a row: up to where, failures, when; None: of no such session."""
    if row is None:
        return ConsolidationProgress()
    to, failures, at = row
    return ConsolidationProgress(to, failures, instant_or_none(at))


@translate_decode_errors
def decode_usage(rows: Iterable[Sequence[Any]]) -> dict[str, ModelUsage]:
    """Return what was spent of rows: purpose, calls, tokens in, tokens out."""
    return {purpose: ModelUsage(*counts) for purpose, *counts in rows}
