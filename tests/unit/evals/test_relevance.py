"""Fitting of relevance weights that separate answered questions from others."""

import math
from collections.abc import Sequence

import numpy as np
import pytest

from memolith.evals.fitting import AskedQuestion, auc, fit_relevance
from memolith.policies.ranking.relevance import Relevance, RelevanceSignals

TRUE = Relevance(
    constant=-3.0, nearness=8.0, words=2.0, extent=-0.5, speaker_constant=0.5, speaker_lead=2.0
)


def make_questions(
    count: int, *, data_set: str = "a", true: Relevance = TRUE
) -> list[AskedQuestion]:
    """Return questions that are answered as often as these weights predict."""
    chance = np.random.default_rng(1)
    made = []
    for _ in range(count):
        signals = RelevanceSignals(
            chance.uniform(0, 1), chance.uniform(0, 1), int(chance.integers(2, 2_000))
        )
        made.append(AskedQuestion(data_set, signals, chance.uniform() < true.likelihood(signals)))
    return made


def make_swapped_questions(count: int) -> list[AskedQuestion]:
    """Return questions about a named person; half name the wrong speaker."""
    chance = np.random.default_rng(2)
    made = []
    for _ in range(count):
        is_swapped = bool(chance.uniform() < 0.5)
        signals = RelevanceSignals(
            0.9, 1.0, 100, speaker_lead=chance.normal(-0.5 if is_swapped else 0.5)
        )
        made.append(AskedQuestion("a", signals, not is_swapped, is_swapped))
    return made


def get_likelihoods(weights: Relevance, examples: Sequence[AskedQuestion]) -> list[float]:
    return [weights.likelihood(one.signals) for one in examples]


def test_fit_recovers_original_weights() -> None:
    found = fit_relevance(make_questions(4_000))
    weights = found.nearness, found.words, found.extent
    assert weights == pytest.approx((8.0, 2.0, -0.5), rel=0.2, abs=0.3)


def test_answered_questions_weigh_as_much_as_others() -> None:
    examples = make_questions(2_000)
    estimates = get_likelihoods(fit_relevance(examples), examples)
    sides = [
        [t for t, one in zip(estimates, examples, strict=True) if one.is_answered is so]
        for so in (True, False)
    ]
    assert np.mean(sides[0]) == pytest.approx(1.0 - np.mean(sides[1]), abs=0.01)


def test_dataset_weight_is_independent_of_its_size() -> None:
    other = Relevance(-1.0, 1.0, 5.0, 0.0, 0.0, 0.0)
    one, two = make_questions(300), make_questions(300, data_set="b", true=other)
    few, many = fit_relevance([*one, *two]), fit_relevance([*one, *two * 5])
    assert (many.nearness, many.words) == pytest.approx((few.nearness, few.words), rel=1e-3)


def test_speaker_weight_is_learned_from_swapped_questions() -> None:
    found = fit_relevance([*make_questions(500), *make_swapped_questions(2_000)])
    # Two normal distributions, one deviation apart.
    assert found.speaker_lead == pytest.approx(1.0, abs=0.15)
    assert found.speaker_constant == pytest.approx(0.0, abs=0.15)


def test_swapped_questions_change_no_other_weight() -> None:
    alone = fit_relevance(make_questions(500))
    others = [one for one in make_swapped_questions(100) if one.is_swapped]
    assert fit_relevance([*make_questions(500), *others]).nearness == pytest.approx(
        alone.nearness, rel=1e-6
    )


def test_speaker_weight_is_zero_without_swapped_questions() -> None:
    found = fit_relevance(make_questions(200))
    near = RelevanceSignals(1.0, 1.0, 2)
    behind = RelevanceSignals(1.0, 1.0, 2, speaker_lead=-20.0)
    assert found.likelihood(behind) == found.likelihood(near)


def test_questions_without_results_are_ignored() -> None:
    examples = make_questions(200)
    assert fit_relevance([*examples, AskedQuestion("a", None, is_answered=False)]) == fit_relevance(
        examples
    )


def test_fit_without_both_classes_is_rejected() -> None:
    answered = [one for one in make_questions(50) if one.is_answered]
    with pytest.raises(ValueError, match="no data set"):
        fit_relevance(answered)


def test_constant_signal_gets_zero_weight() -> None:
    examples = [
        AskedQuestion(
            "a", RelevanceSignals(one.signals.nearness, one.signals.words, 100), one.is_answered
        )
        for one in make_questions(200)
        if one.signals
    ]
    assert math.isclose(fit_relevance(examples).extent, 0.0, abs_tol=1e-6)


def test_auc_counts_ordered_pairs_and_half_of_ties() -> None:
    assert auc([0.9, 0.5], [0.1, 0.5]) == pytest.approx(0.875)
    assert auc([0.1], [0.9]) == 0.0
    with pytest.raises(ValueError, match="are required"):
        auc([], [0.5])
