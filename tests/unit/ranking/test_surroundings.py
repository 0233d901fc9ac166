"""How well a message and those near it hold the words together."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memolith.policies.ranking.scoring import WINDOW_DECAY, max_score_by_item, score_windows

NONE = -1


def test_a_terms_score_is_that_of_the_best_passage() -> None:
    held = max_score_by_item(
        np.array([0, 0, 1]), np.array([1, 1, 0]), np.array([2.0, 3.0, 4.0]), terms=2, items=2
    )
    assert held.tolist() == [[0.0, 3.0], [4.0, 0.0]]


def test_the_words_of_a_neighbour_count_less() -> None:
    held = np.array([[4.0, 0.0]])
    assert score_windows(held, [0, 1], np.array([[0, 1], [NONE, 0]])).tolist() == [
        4.0,
        WINDOW_DECAY * 4.0,
    ]


def test_words_that_stand_in_two_messages_add_up() -> None:
    held = np.array([[4.0, 0.0], [0.0, 2.0]])
    assert score_windows(held, [0, 1], np.array([[0], [1]])).tolist() == [4.0 + WINDOW_DECAY * 2.0]


def test_a_word_that_is_said_again_counts_once() -> None:
    held = np.array([[4.0, 4.0]])
    assert score_windows(held, [0, 1], np.array([[0], [1]])).tolist() == [4.0]


tables = st.integers(1, 5).flatmap(
    lambda terms: st.lists(
        st.lists(st.floats(0, 20), min_size=terms, max_size=terms), min_size=1, max_size=12
    )
)


@given(tables, st.integers(0, 2))
def test_it_is_at_least_what_the_message_itself_holds_and_at_most_all(
    table: list[list[float]], reach: int
) -> None:
    held, size = np.array(table).T, len(table)
    rows = np.arange(size)
    steps = np.arange(-reach, reach + 1)
    there = rows + steps[:, None]
    near = np.where((there >= 0) & (there < size), there, NONE)
    found = score_windows(held, abs(steps).tolist(), near)
    assert (found >= held.sum(axis=0) - 1e-9).all()
    assert (found <= held.max(axis=1).sum() + 1e-9).all()
    if not reach:
        assert found == pytest.approx(held.sum(axis=0))
