"""The ranking of `companion`: a similarity floor, then similarity, strength and freshness."""

from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memolith.policies.ranking.model import Query, Ranking
from memolith.policies.ranking.scoring import SATURATION_MIDPOINT
from memolith.profiles.companion import companion
from memolith.testing.builders import candidates
from support.rows import check_each

QUERY = Query("text", "text", ("text",))
SHARES = st.floats(0, 1)


def test_query_text_is_searched_unchanged() -> None:
    ranking: Ranking = companion().ranking
    query = ranking.prepare("Which units, which?", (), datetime(2024, 1, 1, tzinfo=UTC))
    assert query == Query("Which units, which?", "Which units, which?", ("unit",))


@check_each(("top_k", "pool"), [(0, 200), (5, 200), (100, 400)])
def test_pool_size_grows_with_top_k(top_k: int, pool: int) -> None:
    assert companion().ranking.get_pool_size(top_k) == pool


def test_candidate_below_similarity_floor_is_dropped() -> None:
    near = np.array([0.4999, 0.5, 0.9])
    found = candidates(3, best_similarity=near, strength=np.ones(3), freshness=np.ones(3))
    assert companion().ranking.score(QUERY, found).kept.tolist() == [False, True, True]


def test_candidate_without_vector_is_scored_by_its_words() -> None:
    none = np.full(2, np.nan)
    scores = companion().ranking.score(
        QUERY, candidates(2, best_similarity=none, text=np.array([0.0, SATURATION_MIDPOINT]))
    )
    assert scores.kept.tolist() == [False, True]
    assert scores.parts["similarity"].tolist() == [0.0, 0.25]


def test_no_candidates_give_no_scores() -> None:
    scores = companion().ranking.score(QUERY, candidates(0))
    assert (len(scores.total), len(scores.kept)) == (0, 0)


@given(SHARES, SHARES, SHARES)
def test_score_is_within_0_and_1_and_sums_its_parts(
    near: float, strength: float, fresh: float
) -> None:
    found = candidates(
        1,
        best_similarity=np.array([near]),
        strength=np.array([strength]),
        freshness=np.array([fresh]),
    )
    scores = companion().ranking.score(QUERY, found)
    assert 0 <= scores.total[0] <= 1 + 1e-9
    assert scores.total[0] == pytest.approx(sum(part[0] for part in scores.parts.values()))
    assert scores.total[0] == pytest.approx(0.5 * near + 0.2 * strength + 0.3 * fresh)
