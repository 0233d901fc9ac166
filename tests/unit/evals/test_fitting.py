"""Fitting of ranking weights that separate evidence from other messages."""

import numpy as np
import pytest
from numpy.typing import NDArray

from memolith.evals.fitting import RankingExample, fit_ranking


def make_examples(
    weights: NDArray[np.float64], count: int, *, data_set: str = "a", evidence: int = 1
) -> list[RankingExample]:
    """Return questions whose evidence these weights rank first."""
    generator = np.random.default_rng(1)
    examples = []
    for _ in range(count):
        parts = generator.normal(size=(30, len(weights)))
        best = np.argsort(-(parts @ weights))[:evidence]
        examples.append(RankingExample(data_set, parts, np.isin(np.arange(30), best)))
    return examples


def test_fit_recovers_original_weights() -> None:
    made = np.array([2.0, -1.0, 0.5])
    found = fit_ranking(make_examples(made, 200))
    assert found / found[0] == pytest.approx(made / made[0], abs=0.1)


def test_several_evidence_messages_do_not_compete() -> None:
    made = np.array([2.0, -1.0, 0.5])
    found = fit_ranking(make_examples(made, 200, evidence=4))
    assert found / found[0] == pytest.approx(made / made[0], abs=0.1)


def test_constant_component_gets_zero_weight() -> None:
    examples = [
        RankingExample(one.data_set, np.column_stack([one.parts, np.ones(30)]), one.is_evidence)
        for one in make_examples(np.array([1.0, 1.0]), 20)
    ]
    assert fit_ranking(examples)[2] == pytest.approx(0.0)


def test_weight_is_independent_of_unit() -> None:
    examples = make_examples(np.array([1.0, 2.0]), 50)
    scaled = [
        RankingExample(one.data_set, one.parts * [1.0, 10.0], one.is_evidence) for one in examples
    ]
    assert fit_ranking(scaled) * [1.0, 10.0] == pytest.approx(fit_ranking(examples), rel=1e-3)


def test_dataset_weight_is_independent_of_its_size() -> None:
    one_way = make_examples(np.array([1.0, 0.0]), 10, data_set="a")
    other_way = make_examples(np.array([0.0, 1.0]), 10, data_set="b")
    few = fit_ranking([*one_way, *other_way])
    assert fit_ranking([*one_way, *other_way * 20]) == pytest.approx(few, rel=1e-3)


def test_questions_without_contrast_are_ignored() -> None:
    examples = make_examples(np.array([1.0, 1.0]), 10)
    nothing = RankingExample("a", np.ones((4, 2)), np.zeros(4, dtype=bool))
    everything = RankingExample("a", np.ones((4, 2)), np.ones(4, dtype=bool))
    assert np.array_equal(fit_ranking([*examples, nothing, everything]), fit_ranking(examples))
    with pytest.raises(ValueError, match="no question"):
        fit_ranking([nothing, everything])
