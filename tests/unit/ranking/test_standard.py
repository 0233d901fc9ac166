"""What the standard ranking prefers, one thing at a time."""

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


def totals(found: Candidates, cues: QueryCues | None = None) -> list[float]:
    query = Query("text", "text", ("text",), cues)
    return [float(total) for total in StandardRanking().score(query, found).total]


def test_it_is_a_ranking() -> None:
    ranking: Ranking = StandardRanking()
    assert ranking.prepare("When?", (), datetime(2024, 1, 1, tzinfo=UTC)).dense_text == "When?"


@check_each(("top_k", "pool"), [(0, 50), (5, 50), (20, 80), (100, 400)])
def test_the_pool_grows_with_what_is_wanted(top_k: int, pool: int) -> None:
    assert StandardRanking().get_pool_size(top_k) == pool


def test_nothing_has_no_scores() -> None:
    assert totals(candidates(0)) == []


def test_equal_candidates_are_worth_the_same() -> None:
    first, second = totals(candidates(2))
    assert first == second


def test_a_sibling_of_a_good_match_is_worth_more_than_a_stranger() -> None:
    _, sibling, stranger = totals(
        candidates(3, session=np.array([1, 1, 2]), text=np.array([9.0, 0.0, 0.0]))
    )
    assert sibling == pytest.approx(stranger + Weights().session_text)


def test_rows_without_a_session_are_no_siblings() -> None:
    _, second, third = totals(candidates(3, text=np.array([9.0, 0.0, 0.0])))
    assert second == third


def test_the_answer_to_a_matching_question_is_worth_more() -> None:
    found = candidates(
        3,
        text=np.array([8.0, 1.0, 1.0]),
        previous_text=np.array([0.0, 8.0, 8.0]),
        previous_traits=np.array([0, int(Trait.QUESTION), 0]),
        previous_speaker=np.array([-1, 0, 0]),
        speaker=np.array([0, 1, 1]),
    )
    _, answer, remark = totals(found)
    assert answer == pytest.approx(remark + Weights().answers_question)
    _, own, _ = totals(replace(found, speaker=np.array([0, 0, 1])))
    assert own == pytest.approx(remark)


def test_a_good_next_message_is_worth_something() -> None:
    found = candidates(
        3, similarity=np.array([0.1, 0.3, 0.5]), next_similarity=np.array([0.5, 0.1, np.nan])
    )
    parts = StandardRanking().score(Query("", "", ()), found).parts["next_similarity"]
    assert parts.tolist() == [Weights().next_similarity, 0.0, 0.0]


def test_the_one_named_comes_before_others() -> None:
    named, other, nobody = totals(
        candidates(3, speaker=np.array([4, 5, -1])), QueryCues(only_named=4, is_about_user=True)
    )
    assert named == pytest.approx(other + Weights().by_named_speaker)
    assert other == nobody


def test_the_user_comes_first_where_the_user_asks_of_himself() -> None:
    roles = [Role.USER, Role.PARTICIPANT]
    user, other = totals(candidates(2, role=roles), QueryCues(is_about_user=True))
    assert user == pytest.approx(other + Weights().by_named_speaker)


def test_the_day_that_is_asked_about_comes_first() -> None:
    at = np.array([DAY - 1, DAY, 2 * DAY - 1, 2 * DAY])
    before, first, last, after = totals(candidates(4, at=at), QueryCues(periods=((DAY, 2 * DAY),)))
    assert first == last == pytest.approx(before + Weights().date_fits)
    assert before == after


def test_a_time_counts_only_where_one_is_asked_for() -> None:
    found = candidates(2, traits=np.array([int(Trait.TIME_EXPRESSION), 0]))
    with_time, without = totals(found, QueryCues(asks_time=True))
    assert with_time == pytest.approx(without + Weights().time_asked)
    with_time, without = totals(found)
    assert with_time == without


def test_each_kind_of_answer_counts() -> None:
    kinds = Trait.NUMBER | Trait.PLACE
    found = candidates(3, traits=np.array([int(kinds), int(Trait.PLACE), int(Trait.PROPER_NOUN)]))
    both, one, none = totals(found, QueryCues(answer_kinds=kinds))
    assert both == pytest.approx(one + Weights().answer_kind)
    assert one == pytest.approx(none + Weights().answer_kind)


def test_a_question_answers_little_and_a_short_one_less() -> None:
    traits = np.array([int(Trait.QUESTION), int(Trait.QUESTION), 0])
    short, long, statement = totals(candidates(3, traits=traits, words=np.array([5, 50, 5])))
    assert short < long < statement


def test_length_counts_against_a_text_beyond_sixty_words() -> None:
    short, sixty, long = totals(candidates(3, words=np.array([0, 60, 600])))
    assert short == sixty > long


def test_only_a_persons_preference_counts() -> None:
    wish = int(Trait.PREFERENCE)
    traits = np.array([wish, 0, wish, 0])
    roles = [Role.USER, Role.USER, Role.ASSISTANT, Role.ASSISTANT]
    wished, said, advised, told = totals(candidates(4, traits=traits, role=roles))
    assert wished > said
    assert advised == told


def test_words_that_stand_around_it_count() -> None:
    held, little, none = totals(candidates(3, around=np.array([9.0, 3.0, 0.0])))
    assert held == pytest.approx(none + Weights().words_around)
    assert held > little > none


def test_the_best_session_counts_less_where_several_pieces_are_asked_for() -> None:
    found = candidates(3, session=np.array([1, 1, 2]), text=np.array([9.0, 0.0, 0.0]))
    _, sibling, stranger = totals(found, QueryCues(asks_several=True))
    weights = Weights()
    assert sibling == pytest.approx(stranger + weights.session_text + weights.several_sessions)
    assert weights.several_sessions < 0 <= weights.session_text + weights.several_sessions


def test_strength_and_freshness_decide_between_equals_only() -> None:
    strong, fresh, neither = totals(
        candidates(3, strength=np.array([1.0, 0.0, 0.0]), freshness=np.array([0.0, 1.0, 0.0]))
    )
    assert strong > neither
    assert fresh > neither
    assert max(strong, fresh) - neither < 0.05


def test_a_constant_column_is_one_where_it_is_above_zero() -> None:
    ones = np.array([3.0, 3.0])
    assert scale(ones, ones).tolist() == [1.0, 1.0]
    assert scale(np.zeros(2), np.zeros(2)).tolist() == [0.0, 0.0]
    assert scale(np.array([2.0, np.nan]), np.array([3.0])).tolist() == [0.0, 0.0]
    assert scale(np.array([1.0]), np.array([np.nan])).tolist() == [0.0]


def test_names_are_taken_from_the_participants() -> None:
    ines = Participant(7, "Ines", Role.PARTICIPANT)
    query = StandardRanking().prepare("Who is Ines?", (ines,), datetime(2024, 1, 1, tzinfo=UTC))
    assert isinstance(query.cues, QueryCues)
    assert query.cues.only_named == 7
