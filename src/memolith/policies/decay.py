"""Compute the strength and the freshness of memories over time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

FRESHNESS_PER_HOUR = 0.01
"""`companion`: freshness is e^(−0.01·hours), that is 0.79 after a day and 0.19 after a week."""

_REINFORCEMENT_PER_ACCESS = 0.005
_MAX_REINFORCEMENT = 0.08

_HOUR = timedelta(hours=1)
_HOURS_PER_DAY = 24.0


@dataclass(frozen=True, slots=True)
class DecayInputs:
    """Columns that strength is computed from, one row per memory.

    Attributes:
        kind: Kinds.
        importance: Importance at creation, 0..1.
        access_count: Number of recalls.
        days_since_use: Days since the last recall, or since creation; negative for the future.
        days_since_update: Days since creation or the last change.
    """

    kind: Sequence[str]
    importance: NDArray[np.float64]
    access_count: NDArray[np.int64]
    days_since_use: NDArray[np.float64]
    days_since_update: NDArray[np.float64]


class DecayPolicy(Protocol):
    """A decay function of stored values and time. Pure."""

    def strength(self, inputs: DecayInputs) -> NDArray[np.float64]:
        """Return the strength of each memory, 0..1."""
        ...


@dataclass(frozen=True, slots=True)
class DecayParameters:
    """Decay of one kind of memory.

    Attributes:
        modifier: Factor of the profile's decay rate.
        floor: Minimum strength.
    """

    modifier: float
    floor: float


@dataclass(frozen=True, slots=True)
class EbbinghausDecay:
    """Exponential decay that slows down with use (`companion` and `standard`).

    strength = max(importance·e^(−rate·modifier/stability·days) + min(0.005·accesses, 0.08), floor),
    at most 1, with rate = −ln(decay_factor) and stability = 1 + ln(1 + accesses).

    Attributes:
        decay_factor: Share of strength left after a day without use, for modifier 1; 0..1.
        parameters_by_kind: Decay of each kind.
        default_parameters: Decay of other kinds.
    """

    decay_factor: float
    parameters_by_kind: Mapping[str, DecayParameters]
    default_parameters: DecayParameters = DecayParameters(1.0, 0.0)

    def strength(self, inputs: DecayInputs) -> NDArray[np.float64]:
        """Return the strength of each memory, 0..1."""
        parameters = [
            self.parameters_by_kind.get(kind, self.default_parameters) for kind in inputs.kind
        ]
        modifier = np.array([each.modifier for each in parameters], dtype=np.float64)
        floor = np.array([each.floor for each in parameters], dtype=np.float64)
        stability = 1.0 + np.log1p(inputs.access_count)
        rate = -math.log(self.decay_factor) * modifier / stability
        reinforcement = np.minimum(
            inputs.access_count * _REINFORCEMENT_PER_ACCESS, _MAX_REINFORCEMENT
        )
        days = np.maximum(inputs.days_since_use, 0.0)
        decayed = inputs.importance * np.exp(-rate * days) + reinforcement
        strength: NDArray[np.float64] = np.minimum(np.maximum(decayed, floor), 1.0)
        return strength


@dataclass(frozen=True, slots=True)
class HalfLifeDecay:
    """Exponential decay since the last change (`facts`).

    strength = e^(−λ·hours since update), with λ = `decay_lambda(lifetime)`.

    Attributes:
        lifetimes: Lifetime by kind; other kinds do not decay.
    """

    lifetimes: Mapping[str, timedelta]

    def strength(self, inputs: DecayInputs) -> NDArray[np.float64]:
        """Return the strength of each memory, 0..1."""
        rates = np.array([decay_lambda(self.lifetimes.get(kind)) for kind in inputs.kind])
        hours = np.maximum(inputs.days_since_update, 0.0) * _HOURS_PER_DAY
        strength: NDArray[np.float64] = np.exp(-rates * hours)
        return strength


def decay_lambda(lifetime: timedelta | None) -> float:
    """Return λ per hour: ln 2 / (lifetime/2), or 0 without a lifetime."""
    return 0.0 if lifetime is None else math.log(2.0) / (lifetime / _HOUR / 2.0)


@dataclass(frozen=True, slots=True)
class NoDecay:
    """No decay: strength is importance."""

    def strength(self, inputs: DecayInputs) -> NDArray[np.float64]:
        """Return the importance of each memory."""
        return inputs.importance


def freshness(hours: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return e^(−0.01·hours); 1.0 for the future."""
    scores: NDArray[np.float64] = np.exp(-FRESHNESS_PER_HOUR * np.maximum(hours, 0.0))
    return scores


# --- Eviction above the capacity (`facts`)


def select_weakest(
    strength: NDArray[np.float64],
    importance: NDArray[np.float64],
    created_at: NDArray[np.int64],
    count: int,
) -> NDArray[np.int64]:
    """Return the rows to evict: weakest first, then least important, then oldest."""
    rows: NDArray[np.int64] = np.lexsort((created_at, importance, strength))[:count]
    return rows
