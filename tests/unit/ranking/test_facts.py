"""The ranking of `facts`: vector, text and decay."""

from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memolith.policies.ranking.model import Query, Ranking
from memolith.policies.ranking.scoring import SATURATION_MIDPOINT, saturate
from memolith.profiles.facts import facts
from memolith.testing.builders import candidates
from support.rows import check_each

QUERY = Query("text", "text", ("text",))
SHARES = st.floats(0, 1)


def test_query_text_is_searched_unchanged() -> None:
    ranking: Ranking = facts().ranking
    query = ranking.prepare("Which units, which?", (), datetime(2024, 1, 1, tzinfo=UTC))
    assert query == Query("Which units, which?", "Which units, which?", ("unit",))


@check_each(("top_k", "pool"), [(0, 200), (5, 200), (100, 400)])
def test_pool_size_grows_with_top_k(top_k: int, pool: int) -> None:
    assert facts().ranking.get_pool_size(top_k) == pool


def test_every_candidate_may_be_returned() -> None:
    found = candidates(2, best_similarity=np.array([-0.3, np.nan]))
    scores = facts().ranking.score(QUERY, found)
    assert scores.kept.all()
    assert scores.parts["vector"].tolist() == [0.0, 0.0]


def test_score_is_independent_of_other_candidates() -> None:
    alone = facts().ranking.score(QUERY, candidates(1, text=np.array([3.0]))).total[0]
    among = facts().ranking.score(QUERY, candidates(2, text=np.array([3.0, 30.0]))).total[0]
    assert alone == among


def test_no_candidates_give_no_scores() -> None:
    assert len(facts().ranking.score(QUERY, candidates(0)).total) == 0


def test_saturation_is_one_half_at_midpoint() -> None:
    assert saturate(np.array([0.0, SATURATION_MIDPOINT, 1e9])) == pytest.approx([0.0, 0.5, 1.0])


@given(st.floats(0, 1e3), st.floats(0, 1e3))
def test_saturation_is_within_0_and_1_and_monotonic(one: float, other: float) -> None:
    low, high = saturate(np.array(sorted([one, other])))
    assert 0 <= low <= high < 1


@given(st.floats(-1, 1), st.floats(0, 50), SHARES)
def test_score_is_within_0_and_1_and_sums_its_parts(
    near: float, bm25: float, strength: float
) -> None:
    found = candidates(
        1, best_similarity=np.array([near]), text=np.array([bm25]), strength=np.array([strength])
    )
    scores = facts().ranking.score(QUERY, found)
    assert 0 <= scores.total[0] <= 1 + 1e-9
    assert scores.total[0] == pytest.approx(sum(part[0] for part in scores.parts.values()))
