from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memolith.policies.ranking.scoring import find_unique, log_mean_exp, max_by_row, select_best

SCORES = st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0]), max_size=40)


@given(SCORES, st.integers(0, 50), st.randoms())
def test_best_selection_equals_full_sort(scores: list[float], limit: int, random: object) -> None:
    numbers = list(range(len(scores)))
    random.shuffle(numbers)  # type: ignore[attr-defined]
    places = select_best(np.array(scores), np.array(numbers, dtype=np.int64), limit)
    expected = sorted(range(len(scores)), key=lambda place: (-scores[place], numbers[place]))
    assert places.tolist() == expected[:limit]


@given(st.lists(st.integers(-3, 3), max_size=20))
def test_unique_numbers_are_sorted_and_complete(numbers: list[int]) -> None:
    assert find_unique(np.array(numbers, dtype=np.int64)).tolist() == sorted(set(numbers))


def test_log_mean_exp_lies_between_mean_and_maximum() -> None:
    rows = np.array([0, 0, 2])
    values = np.array([0.1, 0.9, 0.4])
    soft = log_mean_exp(rows, values, 3)
    assert 0.5 < soft[0] < 0.9
    assert np.isnan(soft[1])
    assert soft[2] == pytest.approx(0.4)


def test_row_without_values_gets_empty_value() -> None:
    found = max_by_row(np.array([0, 0]), np.array([-0.5, -0.2]), 2, 7.0)
    assert found.tolist() == [-0.2, 7.0]
