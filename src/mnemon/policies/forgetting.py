"""How much is left of a memory: its strength, and how fresh it is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

FRESHNESS_PER_HOUR = 0.01
"""`companion`: freshness is e^(−0.01·hours): 0.79 after a day, 0.19 after a week."""

_REINFORCEMENT = 0.005
_REINFORCEMENT_TOP = 0.08


@dataclass(frozen=True, slots=True)
class Fading:
    """How one kind of memory fades.

    Attributes:
        modifier: Its share of the profile's rate.
        floor: What it never falls under.
    """

    modifier: float
    floor: float


@dataclass(frozen=True, slots=True)
class Ebbinghaus:
    """Exponential forgetting that slows down with use (the law of `companion`).

    strength = max(importance·e^(−rate·modifier/stability·days) + min(0.005·accesses, 0.08),
    floor), at most 1, with rate = −ln(decay_factor) and stability = 1 + ln(1 + accesses).

    Attributes:
        decay_factor: What is left after a day without access, for a modifier of 1; 0..1.
        kinds: How each kind fades; others as `other`.
        other: How a kind not listed fades.
    """

    decay_factor: float
    kinds: Mapping[str, Fading]
    other: Fading = Fading(1.0, 0.0)

    def strength(
        self,
        kinds: Sequence[str],
        importance: NDArray[np.float64],
        access_count: NDArray[np.int64],
        days: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """Return what is left of each memory, 0..1, days after its last access."""
        fadings = [self.kinds.get(kind, self.other) for kind in kinds]
        modifier = np.array([fading.modifier for fading in fadings], dtype=np.float64)
        floor = np.array([fading.floor for fading in fadings], dtype=np.float64)
        stability = 1.0 + np.log1p(access_count)
        rate = -math.log(self.decay_factor) * modifier / stability
        reinforcement = np.minimum(access_count * _REINFORCEMENT, _REINFORCEMENT_TOP)
        left = importance * np.exp(-rate * np.maximum(days, 0.0)) + reinforcement
        strength: NDArray[np.float64] = np.minimum(np.maximum(left, floor), 1.0)
        return strength


def freshness(hours: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return e^(−0.01·hours), 1.0 for what lies in the future."""
    fresh: NDArray[np.float64] = np.exp(-FRESHNESS_PER_HOUR * np.maximum(hours, 0.0))
    return fresh
