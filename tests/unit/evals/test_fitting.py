"""Weights that tell evidence from the rest."""

import numpy as np
import pytest
from numpy.typing import NDArray

from memolith.evals.fitting import RankingExample, fit_ranking


def questions(
    weights: NDArray[np.float64], count: int, *, data_set: str = "a", evidence: int = 1
) -> list[RankingExample]:
    """Return questions whose evidence is what these weights put first."""
    generator = np.random.default_rng(1)
    examples = []
    for _ in range(count):
        parts = generator.normal(size=(30, len(weights)))
        best = np.argsort(-(parts @ weights))[:evidence]
        examples.append(RankingExample(data_set, parts, np.isin(np.arange(30), best)))
    return examples


def test_the_weights_that_made_the_order_are_found() -> None:
    made = np.array([2.0, -1.0, 0.5])
    found = fit_ranking(questions(made, 200))
    assert found / found[0] == pytest.approx(made / made[0], abs=0.1)


def test_several_pieces_of_evidence_are_not_held_against_each_other() -> None:
    made = np.array([2.0, -1.0, 0.5])
    found = fit_ranking(questions(made, 200, evidence=4))
    assert found / found[0] == pytest.approx(made / made[0], abs=0.1)


def test_a_part_that_is_always_alike_weighs_nothing() -> None:
    examples = [
        RankingExample(one.data_set, np.column_stack([one.parts, np.ones(30)]), one.is_evidence)
        for one in questions(np.array([1.0, 1.0]), 20)
    ]
    assert fit_ranking(examples)[2] == pytest.approx(0.0)


def test_a_part_in_another_unit_weighs_the_same() -> None:
    examples = questions(np.array([1.0, 2.0]), 50)
    scaled = [
        RankingExample(one.data_set, one.parts * [1.0, 10.0], one.is_evidence) for one in examples
    ]
    assert fit_ranking(scaled) * [1.0, 10.0] == pytest.approx(fit_ranking(examples), rel=1e-3)


def test_a_data_set_counts_the_same_however_large_it_is() -> None:
    one_way = questions(np.array([1.0, 0.0]), 10, data_set="a")
    other_way = questions(np.array([0.0, 1.0]), 10, data_set="b")
    few = fit_ranking([*one_way, *other_way])
    assert fit_ranking([*one_way, *other_way * 20]) == pytest.approx(few, rel=1e-3)


def test_questions_without_a_choice_take_no_part() -> None:
    examples = questions(np.array([1.0, 1.0]), 10)
    nothing = RankingExample("a", np.ones((4, 2)), np.zeros(4, dtype=bool))
    everything = RankingExample("a", np.ones((4, 2)), np.ones(4, dtype=bool))
    assert np.array_equal(fit_ranking([*examples, nothing, everything]), fit_ranking(examples))
    with pytest.raises(ValueError, match="no question"):
        fit_ranking([nothing, everything])
