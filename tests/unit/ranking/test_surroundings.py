"""The score of a message and its neighbours for the words of a query."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memolith.policies.ranking.scoring import WINDOW_DECAY, max_score_by_item, score_windows

NONE = -1


def test_term_score_is_that_of_best_passage() -> None:
    scores = max_score_by_item(
        np.array([0, 0, 1]), np.array([1, 1, 0]), np.array([2.0, 3.0, 4.0]), terms=2, items=2
    )
    assert scores.tolist() == [[0.0, 3.0], [4.0, 0.0]]


def test_words_of_neighbour_count_less() -> None:
    scores = np.array([[4.0, 0.0]])
    assert score_windows(scores, [0, 1], np.array([[0, 1], [NONE, 0]])).tolist() == [
        4.0,
        WINDOW_DECAY * 4.0,
    ]


def test_different_words_of_two_messages_add_up() -> None:
    scores = np.array([[4.0, 0.0], [0.0, 2.0]])
    assert score_windows(scores, [0, 1], np.array([[0], [1]])).tolist() == [
        4.0 + WINDOW_DECAY * 2.0
    ]


def test_repeated_word_counts_once() -> None:
    scores = np.array([[4.0, 4.0]])
    assert score_windows(scores, [0, 1], np.array([[0], [1]])).tolist() == [4.0]


tables = st.integers(1, 5).flatmap(
    lambda terms: st.lists(
        st.lists(st.floats(0, 20), min_size=terms, max_size=terms), min_size=1, max_size=12
    )
)


@given(tables, st.integers(0, 2))
def test_window_score_is_between_own_and_total_score(table: list[list[float]], reach: int) -> None:
    scores, size = np.array(table).T, len(table)
    rows = np.arange(size)
    steps = np.arange(-reach, reach + 1)
    there = rows + steps[:, None]
    near = np.where((there >= 0) & (there < size), there, NONE)
    found = score_windows(scores, abs(steps).tolist(), near)
    assert (found >= scores.sum(axis=0) - 1e-9).all()
    assert (found <= scores.max(axis=1).sum() + 1e-9).all()
    if not reach:
        assert found == pytest.approx(scores.sum(axis=0))
