"""The preferences of the standard ranking, one at a time."""

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest

from memolith.domain.memories import Trait
from memolith.domain.messages import Participant, Role
from memolith.policies.ranking.model import Candidates, Query, Ranking
from memolith.policies.ranking.query import QueryCues
from memolith.policies.ranking.standard import StandardRanking, Weights, scale
from memolith.testing.builders import candidates
from support.rows import check_each

DAY = 86_400_000_000


def get_totals(found: Candidates, cues: QueryCues | None = None) -> list[float]:
    query = Query("text", "text", ("text",), cues)
    return [float(total) for total in StandardRanking().score(query, found).total]


def test_standard_ranking_implements_protocol() -> None:
    ranking: Ranking = StandardRanking()
    assert ranking.prepare("When?", (), datetime(2024, 1, 1, tzinfo=UTC)).dense_text == "When?"


@check_each(("top_k", "pool"), [(0, 50), (5, 50), (20, 80), (100, 400)])
def test_pool_size_grows_with_top_k(top_k: int, pool: int) -> None:
    assert StandardRanking().get_pool_size(top_k) == pool


def test_no_candidates_give_no_scores() -> None:
    assert get_totals(candidates(0)) == []


def test_equal_candidates_have_equal_scores() -> None:
    first, second = get_totals(candidates(2))
    assert first == second


def test_message_from_session_of_good_match_scores_higher() -> None:
    _, sibling, stranger = get_totals(
        candidates(3, session=np.array([1, 1, 2]), text=np.array([9.0, 0.0, 0.0]))
    )
    assert sibling == pytest.approx(stranger + Weights().session_text)


def test_rows_without_session_share_no_session() -> None:
    _, second, third = get_totals(candidates(3, text=np.array([9.0, 0.0, 0.0])))
    assert second == third


def test_answer_to_matching_question_scores_higher() -> None:
    found = candidates(
        3,
        text=np.array([8.0, 1.0, 1.0]),
        previous_text=np.array([0.0, 8.0, 8.0]),
        previous_traits=np.array([0, int(Trait.QUESTION), 0]),
        previous_speaker=np.array([-1, 0, 0]),
        speaker=np.array([0, 1, 1]),
    )
    _, answer, remark = get_totals(found)
    assert answer == pytest.approx(remark + Weights().answers_question)
    _, own, _ = get_totals(replace(found, speaker=np.array([0, 0, 1])))
    assert own == pytest.approx(remark)


def test_similar_next_message_raises_score() -> None:
    found = candidates(
        3, similarity=np.array([0.1, 0.3, 0.5]), next_similarity=np.array([0.5, 0.1, np.nan])
    )
    parts = StandardRanking().score(Query("", "", ()), found).parts["next_similarity"]
    assert parts.tolist() == [Weights().next_similarity, 0.0, 0.0]


def test_named_speaker_scores_above_others() -> None:
    named, other, nobody = get_totals(
        candidates(3, speaker=np.array([4, 5, -1])), QueryCues(only_named=4, is_about_user=True)
    )
    assert named == pytest.approx(other + Weights().by_named_speaker)
    assert other == nobody


def test_user_scores_first_for_questions_about_user() -> None:
    roles = [Role.USER, Role.PARTICIPANT]
    user, other = get_totals(candidates(2, role=roles), QueryCues(is_about_user=True))
    assert user == pytest.approx(other + Weights().by_named_speaker)


def test_requested_day_scores_first() -> None:
    at = np.array([DAY - 1, DAY, 2 * DAY - 1, 2 * DAY])
    before, first, last, after = get_totals(
        candidates(4, at=at), QueryCues(periods=((DAY, 2 * DAY),))
    )
    assert first == last == pytest.approx(before + Weights().date_fits)
    assert before == after


def test_time_expression_counts_only_for_time_questions() -> None:
    found = candidates(2, traits=np.array([int(Trait.TIME_EXPRESSION), 0]))
    with_time, without = get_totals(found, QueryCues(asks_time=True))
    assert with_time == pytest.approx(without + Weights().time_asked)
    with_time, without = get_totals(found)
    assert with_time == without


def test_each_matching_answer_kind_raises_score() -> None:
    kinds = Trait.NUMBER | Trait.PLACE
    found = candidates(3, traits=np.array([int(kinds), int(Trait.PLACE), int(Trait.PROPER_NOUN)]))
    both, one, none = get_totals(found, QueryCues(answer_kinds=kinds))
    assert both == pytest.approx(one + Weights().answer_kind)
    assert one == pytest.approx(none + Weights().answer_kind)


def test_questions_score_below_statements_and_short_ones_lowest() -> None:
    traits = np.array([int(Trait.QUESTION), int(Trait.QUESTION), 0])
    short, long, statement = get_totals(candidates(3, traits=traits, words=np.array([5, 50, 5])))
    assert short < long < statement


def test_text_over_sixty_words_is_penalised() -> None:
    short, sixty, long = get_totals(candidates(3, words=np.array([0, 60, 600])))
    assert short == sixty > long


def test_only_a_persons_preference_raises_score() -> None:
    wish = int(Trait.PREFERENCE)
    traits = np.array([wish, 0, wish, 0])
    roles = [Role.USER, Role.USER, Role.ASSISTANT, Role.ASSISTANT]
    user_wish, user_fact, assistant_wish, assistant_fact = get_totals(
        candidates(4, traits=traits, role=roles)
    )
    assert user_wish > user_fact
    assert assistant_wish == assistant_fact


def test_surrounding_words_raise_score() -> None:
    most, little, none = get_totals(candidates(3, around=np.array([9.0, 3.0, 0.0])))
    assert most == pytest.approx(none + Weights().words_around)
    assert most > little > none


def test_session_bonus_is_smaller_for_several_answers() -> None:
    found = candidates(3, session=np.array([1, 1, 2]), text=np.array([9.0, 0.0, 0.0]))
    _, sibling, stranger = get_totals(found, QueryCues(asks_several=True))
    weights = Weights()
    assert sibling == pytest.approx(stranger + weights.session_text + weights.several_sessions)
    assert weights.several_sessions < 0 <= weights.session_text + weights.several_sessions


def test_strength_and_freshness_only_break_ties() -> None:
    strong, fresh, neither = get_totals(
        candidates(3, strength=np.array([1.0, 0.0, 0.0]), freshness=np.array([0.0, 1.0, 0.0]))
    )
    assert strong > neither
    assert fresh > neither
    assert max(strong, fresh) - neither < 0.05


def test_constant_positive_column_scales_to_one() -> None:
    ones = np.array([3.0, 3.0])
    assert scale(ones, ones).tolist() == [1.0, 1.0]
    assert scale(np.zeros(2), np.zeros(2)).tolist() == [0.0, 0.0]
    assert scale(np.array([2.0, np.nan]), np.array([3.0])).tolist() == [0.0, 0.0]
    assert scale(np.array([1.0]), np.array([np.nan])).tolist() == [0.0]


def test_prepared_query_recognises_participant_names() -> None:
    ines = Participant(7, "Ines", Role.PARTICIPANT)
    query = StandardRanking().prepare("Who is Ines?", (ines,), datetime(2024, 1, 1, tzinfo=UTC))
    assert isinstance(query.cues, QueryCues)
    assert query.cues.only_named == 7
