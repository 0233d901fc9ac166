"""How likely it is that anything found answers the question."""

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
ASKED = Query("the ferry", "the ferry", ("ferri",))
OF_ANNA = replace(ASKED, cues=QueryCues(only_named=1))
SIGNS = st.builds(
    RelevanceSignals,
    nearness=st.floats(-1, 1),
    words=st.floats(0, 3),
    passages=st.integers(0, 10**9),
    speaker_lead=st.none() | st.floats(-20, 20),
)
WEIGHTS = st.sampled_from(list(FITTED.values()))


def signs(found: Candidates, query: Query = ASKED) -> RelevanceSignals:
    told = build_signals(query, found, RANKING.score(query, found), KNOWN)
    assert told is not None
    return told


@given(WEIGHTS, SIGNS)
def test_a_likelihood_is_a_share(weights: Relevance, of: RelevanceSignals) -> None:
    assert 0.0 <= weights.likelihood(of) <= 1.0


@given(WEIGHTS, SIGNS, st.floats(0, 1), st.floats(0, 1))
def test_what_is_nearer_or_has_more_of_the_words_is_no_less_likely(
    weights: Relevance, of: RelevanceSignals, nearer: float, more: float
) -> None:
    better = replace(of, nearness=of.nearness + nearer, words=of.words + more)
    assert weights.likelihood(better) >= weights.likelihood(of)


@given(WEIGHTS, SIGNS, st.integers(0, 10**9))
def test_the_best_of_more_is_no_likelier(
    weights: Relevance, of: RelevanceSignals, more: int
) -> None:
    among_more = replace(of, passages=of.passages + more)
    assert weights.likelihood(among_more) <= weights.likelihood(of)


@given(WEIGHTS, SIGNS, st.floats(-20, 20), st.floats(0, 20))
def test_what_others_said_makes_it_no_likelier(
    weights: Relevance, of: RelevanceSignals, ahead: float, more: float
) -> None:
    unknown = weights.likelihood(replace(of, speaker_lead=None))
    behind = weights.likelihood(replace(of, speaker_lead=ahead))
    assert behind <= weights.likelihood(replace(of, speaker_lead=ahead + more)) <= unknown


def test_where_nothing_was_found_nothing_is_relevant() -> None:
    nothing = candidates(0)
    told = build_signals(ASKED, nothing, RANKING.score(ASKED, nothing), KNOWN)
    assert told is None
    assert all(each.likelihood(told) == 0.0 for each in FITTED.values())


def test_the_signs_are_of_the_best_in_each() -> None:
    found = candidates(
        3, best_similarity=np.array([0.2, np.nan, 0.4]), text=np.array([5.0, 1.0, 0.0])
    )
    assert signs(found) == RelevanceSignals(
        nearness=0.4, words=0.5, passages=100, speaker_lead=None
    )


def test_what_has_no_vector_is_near_to_nothing() -> None:
    assert signs(candidates(2, best_similarity=np.full(2, np.nan))).nearness == 0.0


def said_by(*speakers: int) -> Candidates:
    """Return candidates by these speakers, each better than the one after it."""
    best = np.linspace(1.0, 0.0, len(speakers))
    return candidates(len(speakers), similarity=best, text=best, speaker=np.array(speakers))


def test_what_another_person_said_is_ahead_or_behind() -> None:
    first, second = (
        signs(said_by(1, 2), OF_ANNA).speaker_lead,
        signs(said_by(2, 1), OF_ANNA).speaker_lead,
    )
    assert first is not None
    assert second == pytest.approx(-first)
    assert first > 0


def test_that_the_ranking_prefers_who_is_named_changes_nothing() -> None:
    weighty = StandardRanking(replace(RANKING.weights, by_named_speaker=5.0))
    found = said_by(2, 1)
    told = build_signals(OF_ANNA, found, weighty.score(OF_ANNA, found), KNOWN)
    assert told is not None
    assert told.speaker_lead == pytest.approx(signs(found, OF_ANNA).speaker_lead)


@check_each("speakers", [(1, 1), (2, 2), (1, -1), (-1, -1)])
def test_without_two_who_spoke_nobody_is_ahead(speakers: tuple[int, ...]) -> None:
    assert signs(said_by(*speakers), OF_ANNA).speaker_lead is None


def test_where_nobody_or_several_are_named_nobody_is_ahead() -> None:
    people = [Participant(1, "Anna", Role.PARTICIPANT), Participant(2, "Ben", Role.PARTICIPANT)]
    now = datetime(2026, 1, 1, tzinfo=UTC)
    asked = {
        "When does the ferry leave?": None,
        "Did Anna and Ben take the ferry?": None,
        "Did Anna take the ferry?": 1.0,
    }
    for text, ahead in asked.items():
        told = signs(said_by(1, 2), RANKING.prepare(text, people, now))
        assert (told.speaker_lead is None) is (ahead is None), text


def test_words_that_stand_nowhere_weigh_most() -> None:
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
