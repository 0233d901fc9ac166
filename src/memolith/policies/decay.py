"""How much is left of a memory: its strength, and how fresh it is."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

FRESHNESS_PER_HOUR = 0.01
"""`companion`: freshness is e^(−0.01·hours): 0.79 after a day, 0.19 after a week."""

_REINFORCEMENT_PER_ACCESS = 0.005
_MAX_REINFORCEMENT = 0.08

_HOUR = timedelta(hours=1)
_HOURS_PER_DAY = 24.0


@dataclass(frozen=True, slots=True)
class DecayInputs:
    """What the strength of memories is computed from; one row each.

    Attributes:
        kind: Their kinds.
        importance: As judged when they were stored, 0..1.
        access_count: How often they were recalled.
        days_since_use: Since they were last recalled, else stored; negative: in the future.
        days_since_update: Since they were last stored or changed.
    """

    kind: Sequence[str]
    importance: NDArray[np.float64]
    access_count: NDArray[np.int64]
    days_since_use: NDArray[np.float64]
    days_since_update: NDArray[np.float64]


class DecayPolicy(Protocol):
    """A law by which memories fade: a function of what is stored and the time, and no more."""

    def strength(self, inputs: DecayInputs) -> NDArray[np.float64]:
        """Return what is left of each memory, 0..1."""
        ...


@dataclass(frozen=True, slots=True)
class DecayParameters:
    """How one kind of memory fades.

    Attributes:
        modifier: Its share of the profile's rate.
        floor: What it never falls under.
    """

    modifier: float
    floor: float


@dataclass(frozen=True, slots=True)
class EbbinghausDecay:
    """Exponential forgetting that slows down with use (the law of `companion`).

    strength = max(importance·e^(−rate·modifier/stability·days) + min(0.005·accesses, 0.08),
    floor), at most 1, with rate = −ln(decay_factor) and stability = 1 + ln(1 + accesses).

    Attributes:
        decay_factor: What is left after a day without access, for a modifier of 1; 0..1.
        kinds: How each kind fades; others as `other`.
        other: How a kind not listed fades.
    """

    decay_factor: float
    parameters_by_kind: Mapping[str, DecayParameters]
    default_parameters: DecayParameters = DecayParameters(1.0, 0.0)

    def strength(self, inputs: DecayInputs) -> NDArray[np.float64]:
        """Return what is left of each memory, 0..1."""
        fadings = [
            self.parameters_by_kind.get(kind, self.default_parameters) for kind in inputs.kind
        ]
        modifier = np.array([fading.modifier for fading in fadings], dtype=np.float64)
        floor = np.array([fading.floor for fading in fadings], dtype=np.float64)
        stability = 1.0 + np.log1p(inputs.access_count)
        rate = -math.log(self.decay_factor) * modifier / stability
        reinforcement = np.minimum(
            inputs.access_count * _REINFORCEMENT_PER_ACCESS, _MAX_REINFORCEMENT
        )
        days = np.maximum(inputs.days_since_use, 0.0)
        left = inputs.importance * np.exp(-rate * days) + reinforcement
        strength: NDArray[np.float64] = np.minimum(np.maximum(left, floor), 1.0)
        return strength


@dataclass(frozen=True, slots=True)
class HalfLifeDecay:
    """Exponential forgetting since the last change, by halves (the law of `facts`).

    strength = e^(−λ·hours since update), with λ = `decay_lambda(lasting)`.

    Attributes:
        lasting: How long memories of a kind last; others never fade.
    """

    lifetimes: Mapping[str, timedelta]

    def strength(self, inputs: DecayInputs) -> NDArray[np.float64]:
        """Return what is left of each memory, 0..1."""
        rates = np.array([decay_lambda(self.lifetimes.get(kind)) for kind in inputs.kind])
        hours = np.maximum(inputs.days_since_update, 0.0) * _HOURS_PER_DAY
        strength: NDArray[np.float64] = np.exp(-rates * hours)
        return strength


def decay_lambda(lifetime: timedelta | None) -> float:
    """Return λ per hour of what lasts so long: ln 2 / (lasting/2); None, for good: 0."""
    return 0.0 if lifetime is None else math.log(2.0) / (lifetime / _HOUR / 2.0)


@dataclass(frozen=True, slots=True)
class NoDecay:
    """Nothing fades: a memory is as strong as it is important."""

    def strength(self, inputs: DecayInputs) -> NDArray[np.float64]:
        """Return the importance of each memory."""
        return inputs.importance


def freshness(hours: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return e^(−0.01·hours), 1.0 for what lies in the future."""
    fresh: NDArray[np.float64] = np.exp(-FRESHNESS_PER_HOUR * np.maximum(hours, 0.0))
    return fresh


# --- Which memories go where there are too many (the profile `facts`)


def select_weakest(
    strength: NDArray[np.float64],
    importance: NDArray[np.float64],
    created_at: NDArray[np.int64],
    count: int,
) -> NDArray[np.int64]:
    """Return the rows that go first: least strength, then least importance, then oldest."""
    rows: NDArray[np.int64] = np.lexsort((created_at, importance, strength))[:count]
    return rows
