"""How strong memories are now, by their profile's law."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from memolith.policies.forgetting import DecayInputs

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from numpy.typing import NDArray

    from memolith.domain.memories import Memory
    from memolith.ports.store import UsageStats
    from memolith.ports.upkeep import MemoryStats
    from memolith.profiles.model import Profile

_MICROSECONDS_PER_DAY = 86_400_000_000.0
_SECONDS_PER_DAY = 86_400.0


def days_since(times: NDArray[np.int64], now: datetime) -> NDArray[np.float64]:
    """Return the days from each time, in microseconds since 1970, until now."""
    elapsed = now.timestamp() * 1e6 - times
    days: NDArray[np.float64] = elapsed.astype(np.float64) / _MICROSECONDS_PER_DAY
    return days


def compute_strengths(
    profile: Profile, kinds: Sequence[str], usage: UsageStats | MemoryStats, now: datetime
) -> NDArray[np.float64]:
    """Return what is left of each memory now, 0..1."""
    return profile.decay.strength(
        DecayInputs(
            kinds,
            usage.importance,
            usage.access_count,
            days_since(usage.used_at, now),
            days_since(usage.updated_at, now),
        )
    )


def refresh_strengths(profile: Profile, memories: Sequence[Memory], now: datetime) -> list[Memory]:
    """Return memories with the strength that they have now."""
    left = profile.decay.strength(
        DecayInputs(
            [memory.kind for memory in memories],
            np.array([memory.importance for memory in memories], dtype=np.float64),
            np.array([memory.access_count for memory in memories], dtype=np.int64),
            _days_between(now, [memory.accessed_at or memory.created_at for memory in memories]),
            _days_between(now, [memory.updated_at for memory in memories]),
        )
    )
    return [
        replace(memory, strength=float(strength))
        for memory, strength in zip(memories, left, strict=True)
    ]


def _days_between(now: datetime, times: Sequence[datetime]) -> NDArray[np.float64]:
    elapsed = [(now - each).total_seconds() / _SECONDS_PER_DAY for each in times]
    return np.array(elapsed, dtype=np.float64)
