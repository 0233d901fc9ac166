"""The likelihood that any result answers the question."""

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memolith.domain.messages import Participant, Role
from memolith.policies.ranking.model import Candidates, Query
from memolith.policies.ranking.query import QueryCues
from memolith.policies.ranking.relevance import (
    Relevance,
    RelevanceSignals,
    SearchExtent,
    build_signals,
)
from memolith.policies.ranking.relevance_fitted import FITTED
from memolith.policies.ranking.standard import StandardRanking
from memolith.ports.store import Postings
from memolith.testing.builders import candidates
from support.rows import check_each

RANKING = StandardRanking()
KNOWN = SearchExtent(passages=100, max_score=10.0)
QUERY = Query("the ferry", "the ferry", ("ferri",))
OF_ANNA = replace(QUERY, cues=QueryCues(only_named=1))
SIGNS = st.builds(
    RelevanceSignals,
    nearness=st.floats(-1, 1),
    words=st.floats(0, 3),
    passages=st.integers(0, 10**9),
    speaker_lead=st.none() | st.floats(-20, 20),
)
WEIGHTS = st.sampled_from(list(FITTED.values()))


def get_signals(found: Candidates, query: Query = QUERY) -> RelevanceSignals:
    signals = build_signals(query, found, RANKING.score(query, found), KNOWN)
    assert signals is not None
    return signals


@given(WEIGHTS, SIGNS)
def test_likelihood_is_within_0_and_1(weights: Relevance, of: RelevanceSignals) -> None:
    assert 0.0 <= weights.likelihood(of) <= 1.0


@given(WEIGHTS, SIGNS, st.floats(0, 1), st.floats(0, 1))
def test_likelihood_never_falls_with_similarity_or_words(
    weights: Relevance, of: RelevanceSignals, nearer: float, more: float
) -> None:
    better = replace(of, nearness=of.nearness + nearer, words=of.words + more)
    assert weights.likelihood(better) >= weights.likelihood(of)


@given(WEIGHTS, SIGNS, st.integers(0, 10**9))
def test_likelihood_never_grows_with_number_of_passages(
    weights: Relevance, of: RelevanceSignals, more: int
) -> None:
    among_more = replace(of, passages=of.passages + more)
    assert weights.likelihood(among_more) <= weights.likelihood(of)


@given(WEIGHTS, SIGNS, st.floats(-20, 20), st.floats(0, 20))
def test_lead_of_other_speakers_never_raises_likelihood(
    weights: Relevance, of: RelevanceSignals, ahead: float, more: float
) -> None:
    unknown = weights.likelihood(replace(of, speaker_lead=None))
    behind = weights.likelihood(replace(of, speaker_lead=ahead))
    assert behind <= weights.likelihood(replace(of, speaker_lead=ahead + more)) <= unknown


def test_likelihood_without_results_is_zero() -> None:
    nothing = candidates(0)
    signals = build_signals(QUERY, nothing, RANKING.score(QUERY, nothing), KNOWN)
    assert signals is None
    assert all(each.likelihood(signals) == 0.0 for each in FITTED.values())


def test_signals_take_best_value_of_each_search() -> None:
    found = candidates(
        3, best_similarity=np.array([0.2, np.nan, 0.4]), text=np.array([5.0, 1.0, 0.0])
    )
    assert get_signals(found) == RelevanceSignals(
        nearness=0.4, words=0.5, passages=100, speaker_lead=None
    )


def test_candidate_without_vector_has_zero_similarity() -> None:
    assert get_signals(candidates(2, best_similarity=np.full(2, np.nan))).nearness == 0.0


def make_candidates(*speakers: int) -> Candidates:
    """Return candidates by these speakers, best first."""
    best = np.linspace(1.0, 0.0, len(speakers))
    return candidates(len(speakers), similarity=best, text=best, speaker=np.array(speakers))


def test_named_speaker_leads_or_trails_other_speakers() -> None:
    first, second = (
        get_signals(make_candidates(1, 2), OF_ANNA).speaker_lead,
        get_signals(make_candidates(2, 1), OF_ANNA).speaker_lead,
    )
    assert first is not None
    assert second == pytest.approx(-first)
    assert first > 0


def test_speaker_lead_is_independent_of_speaker_weight() -> None:
    weighty = StandardRanking(replace(RANKING.weights, by_named_speaker=5.0))
    found = make_candidates(2, 1)
    signals = build_signals(OF_ANNA, found, weighty.score(OF_ANNA, found), KNOWN)
    assert signals is not None
    assert signals.speaker_lead == pytest.approx(get_signals(found, OF_ANNA).speaker_lead)


@check_each("speakers", [(1, 1), (2, 2), (1, -1), (-1, -1)])
def test_speaker_lead_needs_two_speakers(speakers: tuple[int, ...]) -> None:
    assert get_signals(make_candidates(*speakers), OF_ANNA).speaker_lead is None


def test_speaker_lead_needs_exactly_one_named_speaker() -> None:
    people = [Participant(1, "Anna", Role.PARTICIPANT), Participant(2, "Ben", Role.PARTICIPANT)]
    now = datetime(2026, 1, 1, tzinfo=UTC)
    questions = {
        "When does the ferry leave?": None,
        "Did Anna and Ben take the ferry?": None,
        "Did Anna take the ferry?": 1.0,
    }
    for text, ahead in questions.items():
        signals = get_signals(make_candidates(1, 2), RANKING.prepare(text, people, now))
        assert (signals.speaker_lead is None) is (ahead is None), text


def test_unknown_words_have_largest_weight() -> None:
    postings = Postings(
        passages=np.array([1]),
        lengths=np.array([4.0]),
        term=np.array([0]),
        slot=np.array([0]),
        frequency=np.array([1.0]),
        document_frequency=np.array([1, 0]),
        total=10,
        mean_length=4.0,
    )
    known, unknown = np.log(1 + 9.5 / 1.5), np.log(1 + 10.5 / 0.5)
    extent = SearchExtent.from_postings(postings)
    assert extent.passages == 10
    assert extent.max_score == pytest.approx(known + unknown)
    assert unknown > known
