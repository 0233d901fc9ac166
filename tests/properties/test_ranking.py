"""Properties of the standard ranking for any candidates and question."""

from dataclasses import fields, replace
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from memolith.domain.memories import Trait
from memolith.domain.messages import Participant, Role
from memolith.policies.ranking.model import Candidates, Query
from memolith.policies.ranking.query import QueryCues, find_periods, prepare_query, strip_phrasing
from memolith.policies.ranking.standard import StandardRanking, Weights, scale
from memolith.text.analysis import terms

NOW = datetime(2024, 6, 1, tzinfo=UTC)
PEOPLE = (Participant(0, "Ines Silva", Role.PARTICIPANT), Participant(1, None, Role.USER))

cosines = st.one_of(st.just(float("nan")), st.floats(-1, 1).map(lambda x: round(x, 6)))
bm25s = st.floats(0, 60).map(lambda x: round(x, 6))
traits = st.integers(0, 2 * int(Trait.PREFERENCE) - 1)
rows = st.fixed_dictionaries(
    {
        "similarity": cosines,
        "best_similarity": cosines,
        "text": bm25s,
        "next_similarity": cosines,
        "previous_text": bm25s,
        "previous_traits": traits,
        "previous_speaker": st.integers(-1, 3),
        "around": bm25s,
        "is_memory": st.booleans(),
        "kind": st.sampled_from(["episode", "fact", "preference"]),
        "session": st.integers(-1, 4),
        "sequence": st.integers(0, 50),
        "speaker": st.integers(-1, 3),
        "role": st.sampled_from(list(Role)),
        "at": st.integers(-(10**15), 3 * 10**15),
        "traits": traits,
        "words": st.integers(0, 5_000),
        "importance": st.floats(0, 1),
        "strength": st.floats(0, 1),
        "freshness": st.floats(0, 1),
        "substring_words": st.integers(0, 9),
    }
)
tables = st.lists(rows, max_size=30)
cues = st.builds(
    QueryCues,
    only_named=st.none() | st.integers(0, 3),
    is_about_user=st.booleans(),
    periods=st.lists(st.tuples(st.integers(0, 10**15), st.integers(0, 2 * 10**15)), max_size=3).map(
        tuple
    ),
    asks_time=st.booleans(),
    answer_kinds=traits.map(Trait),
    asks_several=st.booleans(),
)
WORDS = (
    "can you remind me what did I say we discuss mention Ines Silva's in May 8 2023 on March "
    "5th, when where how many who ? ! . so far across our conversations hast du mir gesagt "
    "user assistant the a kayak garden"
)
questions = st.text(max_size=300) | st.lists(st.sampled_from(WORDS.split())).map(" ".join)

LISTS = {"kind", "role"}
FLOATS = {"similarity", "best_similarity", "text", "next_similarity", "previous_text", "around"}


def build_candidates(table: list[dict[str, Any]]) -> Candidates:
    values: dict[str, Any] = {}
    for column in fields(Candidates):
        cells = [row[column.name] for row in table]
        if column.name in LISTS:
            values[column.name] = cells
        elif column.name == "is_memory":
            values[column.name] = np.array(cells, dtype=bool)
        elif column.name in FLOATS | {"importance", "strength", "freshness"}:
            values[column.name] = np.array(cells, dtype=np.float64)
        else:
            values[column.name] = np.array(cells, dtype=np.int64)
    return Candidates(**values)


def build_query(found: QueryCues) -> Query:
    return Query("text", "text", ("text",), found)


@given(tables, cues)
def test_score_parts_are_named_finite_and_add_up(
    table: list[dict[str, Any]], found: QueryCues
) -> None:
    scores = StandardRanking().score(build_query(found), build_candidates(table))
    assert set(scores.parts) == {weight.name for weight in fields(Weights)}
    assert all(part.shape == (len(table),) for part in scores.parts.values())
    assert np.isfinite(scores.total).all()
    assert np.allclose(sum(scores.parts.values(), np.zeros(len(table))), scores.total)
    assert scores.kept.all()


@given(tables, cues, st.randoms(use_true_random=False))
def test_order_of_candidates_does_not_change_scores(
    table: list[dict[str, Any]], found: QueryCues, random: Any
) -> None:
    order = list(range(len(table)))
    random.shuffle(order)
    straight = StandardRanking().score(build_query(found), build_candidates(table)).total
    shuffled = (
        StandardRanking()
        .score(build_query(found), build_candidates([table[i] for i in order]))
        .total
    )
    assert np.array_equal(shuffled, straight[order])


@given(tables, cues, st.sampled_from([0.25, 2.0, 8.0]))
def test_unit_of_text_scores_does_not_change_the_total(
    table: list[dict[str, Any]], found: QueryCues, factor: float
) -> None:
    given_ = build_candidates(table)
    other = replace(
        given_,
        text=given_.text * factor,
        previous_text=given_.previous_text * factor,
        around=given_.around * factor,
    )
    first = StandardRanking().score(build_query(found), given_).total
    second = StandardRanking().score(build_query(found), other).total
    assert np.allclose(first, second)


@given(tables, cues)
def test_empty_search_adds_nothing_to_scores(table: list[dict[str, Any]], found: QueryCues) -> None:
    words = {"text": 0.0, "previous_text": 0.0, "around": 0.0}
    nothing = words | {"similarity": np.nan, "next_similarity": np.nan}
    scores = StandardRanking().score(
        build_query(found), build_candidates([row | nothing for row in table])
    )
    for name in (
        "similarity",
        "text",
        "session_similarity",
        "session_text",
        "answers_question",
        "words_around",
        "several_sessions",
    ):
        assert not scores.parts[name].any()


@given(rows, cues, st.floats(0.1, 60))
def test_only_text_match_gets_the_full_weight(
    row: dict[str, Any], found: QueryCues, text: float
) -> None:
    scores = StandardRanking().score(build_query(found), build_candidates([row | {"text": text}]))
    assert scores.parts["text"].tolist() == [Weights().text]


@given(rows, tables, cues, bm25s, bm25s)
def test_better_text_match_never_scores_lower(
    row: dict[str, Any], others: list[dict[str, Any]], found: QueryCues, first: float, second: float
) -> None:
    low, high = sorted((first, second))
    table = [row | {"text": low}, row | {"text": high}, *others]
    total = StandardRanking().score(build_query(found), build_candidates(table)).total
    assert total[1] >= total[0]


@given(st.lists(cosines), st.lists(cosines))
def test_scaling_maps_values_to_0_to_1_in_order(values: list[float], over: list[float]) -> None:
    result = scale(np.array(values), np.array(over))
    assert ((result >= 0.0) & (result <= 1.0)).all()
    known = ~np.isnan(np.array(values))
    assert not result[~known].any()
    order = np.argsort(np.array(values)[known], kind="stable")
    assert (np.diff(result[known][order]) >= 0.0).all()


@given(questions)
def test_prepared_question_keeps_some_words(text: str) -> None:
    ready = prepare_query(text, PEOPLE, NOW)
    assert ready.text == text
    assert bool(ready.dense_text.strip()) == bool(text.strip())
    assert bool(ready.terms) == bool(terms(text))
    assert len(set(ready.terms)) == len(ready.terms)
    assert ready == prepare_query(text, PEOPLE, NOW)


@given(questions)
def test_stripped_question_is_a_subsequence_of_the_original(text: str) -> None:
    rest = iter("".join(text.replace("’", "'").split()))
    assert all(character in rest for character in "".join(strip_phrasing(text).split()))


@given(questions)
def test_periods_are_not_empty(text: str) -> None:
    assert all(start < end for start, end in find_periods(text, NOW))


@given(st.dates(date(1950, 1, 1), date(2099, 12, 31)))
def test_full_date_in_any_form_is_its_day(at: date) -> None:
    start = round(datetime(at.year, at.month, at.day, tzinfo=UTC).timestamp()) * 1_000_000
    day = (start, start + 86_400_000_000)
    month = at.strftime("%B")
    for text in (
        f"{at.day} {month} {at.year}",
        f"{at.day} {month}, {at.year}",
        f"{month} {at.day}, {at.year}",
        f"{month} {at.day}th {at.year}",
        at.strftime("%Y-%m-%d"),
        at.strftime("%d.%m.%Y"),
    ):
        assert find_periods(f"What happened on {text}?", NOW) == (day,)
