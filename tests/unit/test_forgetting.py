"""The forgetting curve of `companion`, which `standard` also uses for ranking."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memolith.policies.decay import DecayInputs, DecayParameters, EbbinghausDecay, freshness
from support.rows import check_each

COMPANION = {
    "correction": DecayParameters(0.50, 0.35),
    "fact": DecayParameters(0.70, 0.30),
    "preference": DecayParameters(0.80, 0.25),
    "tool_result": DecayParameters(1.00, 0.10),
    "context": DecayParameters(1.00, 0.10),
}


def get_strength(
    kind: str, importance: float, accesses: int, days: float, decay_factor: float = 0.95
) -> float:
    law = EbbinghausDecay(decay_factor, COMPANION)
    since = np.array([float(days)])
    left = law.strength(
        DecayInputs([kind], np.array([importance]), np.array([accesses]), since, since)
    )
    return float(left[0])


# Expected values, computed by hand from the formula.
@check_each(
    ("kind", "importance", "accesses", "days", "decay_factor", "expected"),
    [
        ("fact", 0.569, 0, 7, 0.80, 0.3),
        ("tool_result", 0.652, 2, 0, 0.80, 0.662),
        ("tool_result", 0.607, 0, 1, 0.95, 0.57665),
        ("context", 0.945, 5, 0, 0.99, 0.97),
        ("context", 1.0, 0, 1, 0.95, 0.95),
        ("correction", 1.0, 0, 1, 0.95, math.sqrt(0.95)),
        ("context", 0.5, 0, 10_000, 0.95, 0.10),
        ("context", 1.0, 100, 0, 0.95, 1.0),
    ],
)
def test_strength_matches_hand_computed_values(
    kind: str, importance: float, accesses: int, days: float, decay_factor: float, expected: float
) -> None:
    assert get_strength(kind, importance, accesses, days, decay_factor) == pytest.approx(
        expected, abs=1e-9
    )


KINDS = st.sampled_from([*COMPANION, "other"])
SHARES = st.floats(0, 1)
DAYS = st.floats(0, 5_000)


@given(KINDS, SHARES, st.integers(0, 10_000), DAYS)
def test_strength_is_between_floor_and_1(
    kind: str, importance: float, accesses: int, days: float
) -> None:
    left = get_strength(kind, importance, accesses, days)
    floor = COMPANION[kind].floor if kind in COMPANION else 0.0
    assert floor <= left <= 1


@given(KINDS, SHARES, st.integers(0, 100), DAYS, st.floats(0, 100))
def test_strength_never_grows_with_time(
    kind: str, importance: float, accesses: int, days: float, more: float
) -> None:
    assert get_strength(kind, importance, accesses, days + more) <= get_strength(
        kind, importance, accesses, days
    )


@given(KINDS, SHARES, st.integers(0, 100), DAYS)
def test_strength_never_falls_with_use(
    kind: str, importance: float, accesses: int, days: float
) -> None:
    assert get_strength(kind, importance, accesses + 1, days) >= get_strength(
        kind, importance, accesses, days
    )


def test_freshness_is_one_now_and_decays_by_hour() -> None:
    values = freshness(np.array([0.0, 24.0, 168.0, -5.0]))
    assert values == pytest.approx([1.0, 0.7866, 0.1864, 1.0], abs=1e-4)
