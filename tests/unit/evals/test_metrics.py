"""Metrics compared with hand-computed values, and their general properties."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memolith.evals import runner

RANKED = ("a", "b", "c", "d")

ids = st.sampled_from([f"m{i}" for i in range(30)])
rankings = st.lists(ids, unique=True)
evidences = st.sets(ids, min_size=1)


def test_recall_is_share_of_evidence_found() -> None:
    assert runner.recall_at(RANKED, ("b", "x"), 2) == 0.5
    assert runner.recall_at(RANKED, ("d",), 3) == 0.0


def test_any_and_all_use_same_cutoff() -> None:
    assert runner.any_at(RANKED, ("b", "d"), 2) == 1.0
    assert runner.all_at(RANKED, ("b", "d"), 2) == 0.0
    assert runner.all_at(RANKED, ("b", "d"), 4) == 1.0


def test_reciprocal_rank_uses_first_hit() -> None:
    assert runner.reciprocal_rank(RANKED, ("d", "b")) == 0.5
    assert runner.reciprocal_rank(RANKED, ("x",)) == 0.0


def test_ndcg_is_normalised_by_all_evidence() -> None:
    found = 1 / math.log2(3)
    best = 1 + 1 / math.log2(3)
    assert runner.ndcg_at(RANKED, ("b", "never retrieved"), 10) == pytest.approx(found / best)


def test_result_of_many_messages_takes_many_ranks() -> None:
    assert runner.expand_results([("a", "b"), ("b",), (), ("c", "a")]) == ("a", "b", "c")


def test_session_ranks_by_its_first_message() -> None:
    session_of = {"a": "s2", "b": "s1", "c": "s2"}
    assert runner.get_sessions(("a", "b", "c", "unknown"), session_of) == ("s2", "s1")


@given(rankings, evidences, st.integers(1, 30))
def test_metrics_are_ordered_and_within_bounds(
    ranked: list[str], evidence: set[str], k: int
) -> None:
    low, share, high = (
        measure(ranked, evidence, k) for measure in (runner.all_at, runner.recall_at, runner.any_at)
    )
    assert 0.0 <= low <= share <= high <= 1.0
    assert 0.0 <= runner.ndcg_at(ranked, evidence, k) <= 1.0 + 1e-12
    assert runner.recall_at(ranked, evidence, k + 1) >= share


@given(evidences)
def test_evidence_ranked_first_scores_perfectly(evidence: set[str]) -> None:
    ranked = sorted(evidence)
    assert runner.ndcg_at(ranked, evidence, 10) == pytest.approx(1.0)
    assert runner.reciprocal_rank(ranked, evidence) == 1.0


@given(st.lists(st.floats(0, 1), min_size=1, max_size=50), st.integers(0, 2**32))
def test_interval_is_reproducible_and_within_values(values: list[float], seed: int) -> None:
    first = runner.bootstrap_interval(values, np.random.default_rng(seed), samples=50)
    again = runner.bootstrap_interval(values, np.random.default_rng(seed), samples=50)
    assert first == again
    assert min(values) - 1e-9 <= first.low <= first.high <= max(values) + 1e-9


def test_interval_narrows_with_more_questions() -> None:
    few = runner.bootstrap_interval([0.0, 1.0] * 10, np.random.default_rng(1))
    many = runner.bootstrap_interval([0.0, 1.0] * 1_000, np.random.default_rng(1))
    assert many.high - many.low < few.high - few.low


def test_empty_values_have_no_mean() -> None:
    interval = runner.bootstrap_interval([], np.random.default_rng(1))
    assert math.isnan(interval.mean)
