"""Weights that tell answered questions from others."""

import math
from collections.abc import Sequence

import numpy as np
import pytest

from memolith.evals.fitting import AskedQuestion, auc, fit_relevance
from memolith.policies.ranking.relevance import Relevance, RelevanceSignals

TRUE = Relevance(
    constant=-3.0, nearness=8.0, words=2.0, extent=-0.5, speaker_constant=0.5, speaker_lead=2.0
)


def questions(count: int, *, data_set: str = "a", true: Relevance = TRUE) -> list[AskedQuestion]:
    """Return questions that are answered as often as these weights say."""
    chance = np.random.default_rng(1)
    made = []
    for _ in range(count):
        told = RelevanceSignals(
            chance.uniform(0, 1), chance.uniform(0, 1), int(chance.integers(2, 2_000))
        )
        made.append(AskedQuestion(data_set, told, chance.uniform() < true.likelihood(told)))
    return made


def swapped(count: int) -> list[AskedQuestion]:
    """Return questions that name somebody, half of them about what another one said."""
    chance = np.random.default_rng(2)
    made = []
    for _ in range(count):
        is_swapped = bool(chance.uniform() < 0.5)
        told = RelevanceSignals(
            0.9, 1.0, 100, speaker_lead=chance.normal(-0.5 if is_swapped else 0.5)
        )
        made.append(AskedQuestion("a", told, not is_swapped, is_swapped))
    return made


def likelihoods(weights: Relevance, asked: Sequence[AskedQuestion]) -> list[float]:
    return [weights.likelihood(one.signals) for one in asked]


def test_the_weights_that_made_the_answers_are_found() -> None:
    found = fit_relevance(questions(4_000))
    told = found.nearness, found.words, found.extent
    assert told == pytest.approx((8.0, 2.0, -0.5), rel=0.2, abs=0.3)


def test_answered_questions_count_as_much_as_all_others() -> None:
    asked = questions(2_000)
    told = likelihoods(fit_relevance(asked), asked)
    sides = [
        [t for t, one in zip(told, asked, strict=True) if one.is_answered is so]
        for so in (True, False)
    ]
    assert np.mean(sides[0]) == pytest.approx(1.0 - np.mean(sides[1]), abs=0.01)


def test_a_data_set_counts_the_same_however_large_it_is() -> None:
    other = Relevance(-1.0, 1.0, 5.0, 0.0, 0.0, 0.0)
    one, two = questions(300), questions(300, data_set="b", true=other)
    few, many = fit_relevance([*one, *two]), fit_relevance([*one, *two * 5])
    assert (many.nearness, many.words) == pytest.approx((few.nearness, few.words), rel=1e-3)


def test_who_said_it_is_learned_from_what_others_said() -> None:
    found = fit_relevance([*questions(500), *swapped(2_000)])
    assert found.speaker_lead == pytest.approx(1.0, abs=0.15)  # of two normals, one deviation apart
    assert found.speaker_constant == pytest.approx(0.0, abs=0.15)


def test_what_others_said_changes_nothing_else() -> None:
    alone = fit_relevance(questions(500))
    others = [one for one in swapped(100) if one.is_swapped]
    assert fit_relevance([*questions(500), *others]).nearness == pytest.approx(
        alone.nearness, rel=1e-6
    )


def test_without_what_others_said_it_counts_nothing() -> None:
    found = fit_relevance(questions(200))
    near = RelevanceSignals(1.0, 1.0, 2)
    behind = RelevanceSignals(1.0, 1.0, 2, speaker_lead=-20.0)
    assert found.likelihood(behind) == found.likelihood(near)


def test_questions_for_which_nothing_was_found_teach_nothing() -> None:
    asked = questions(200)
    assert fit_relevance([*asked, AskedQuestion("a", None, is_answered=False)]) == fit_relevance(
        asked
    )


def test_without_both_sorts_there_is_nothing_to_learn() -> None:
    answered = [one for one in questions(50) if one.is_answered]
    with pytest.raises(ValueError, match="no data set"):
        fit_relevance(answered)


def test_a_sign_that_is_always_alike_weighs_nothing() -> None:
    asked = [
        AskedQuestion(
            "a", RelevanceSignals(one.signals.nearness, one.signals.words, 100), one.is_answered
        )
        for one in questions(200)
        if one.signals
    ]
    assert math.isclose(fit_relevance(asked).extent, 0.0, abs_tol=1e-6)


def test_the_area_counts_pairs_in_order_and_ties_for_half() -> None:
    assert auc([0.9, 0.5], [0.1, 0.5]) == pytest.approx(0.875)
    assert auc([0.1], [0.9]) == 0.0
    with pytest.raises(ValueError, match="are required"):
        auc([], [0.5])
