"""Preparation of a question and extraction of its cues."""

from datetime import UTC, datetime, timedelta, timezone

from memolith.domain.memories import Trait
from memolith.domain.messages import Participant, Role
from memolith.policies.ranking.query import (
    MAX_YEARS_BACK,
    QueryCues,
    find_periods,
    get_cues,
    prepare_query,
    strip_phrasing,
)
from support.rows import check_each

NOW = datetime(2024, 6, 1, 12, tzinfo=UTC)
INES = Participant(0, "Ines", Role.PARTICIPANT)
TOM = Participant(1, "Tom Weber", Role.PARTICIPANT)
USER = Participant(2, None, Role.USER)
ASSISTANT = Participant(3, "assistant", Role.ASSISTANT)
EVERYBODY = (INES, TOM, USER, ASSISTANT)


def read_cues(text: str) -> QueryCues:
    return get_cues(prepare_query(text, EVERYBODY, NOW))


def get_days(text: str) -> list[tuple[str, int]]:
    """Return each period as its first day and its length in days."""
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    return [
        (
            (epoch + timedelta(microseconds=start)).date().isoformat(),
            (end - start) // 86_400_000_000,
        )
        for start, end in find_periods(text, NOW)
    ]


@check_each(
    ("text", "left"),
    [
        ("Can you remind me what my dog is called?", "what my dog is called?"),
        ("What did I say about the garden?", "What the garden?"),
        ("What did we discuss about the garden?", "What about the garden?"),
        ("Did I mention a budget for the kitchen?", "a budget for the kitchen?"),
        ("How did you recommend storing apples?", "How storing apples?"),
        ("Which plants have we talked about so far?", "Which plants?"),
        ("How many tools did I buy across our conversations?", "How many tools did I buy?"),
        ("Do you remember the name of my sister?", "the name of my sister?"),
        ("Could you give me a short summary of the move?", "the move?"),
        ("What did I plant, in order? Mention ONLY and ONLY three items.", "What did I plant?."),
        ("Welchen Hund habe ich dir erwähnt?", "Welchen Hund?"),
        ("Was haben wir über den Garten besprochen?", "Was über den Garten?"),
    ],
)
def test_phrasing_about_conversation_is_removed(text: str, left: str) -> None:
    assert strip_phrasing(text) == left


@check_each(
    "text",
    [
        "Which units should I use?",
        "What is the order of the planets?",
        "Where do you think I should work on my essay?",
        "Welche Stadt mag ich am liebsten?",
        "Was sagt mein Arzt zum Salz?",
    ],
)
def test_other_questions_are_unchanged(text: str) -> None:
    assert strip_phrasing(text) == text


def test_participant_name_is_searched_by_keyword_only() -> None:
    query = prepare_query("When did Ines's sister visit?", EVERYBODY, NOW)
    assert query.dense_text == "When did sister visit?"
    assert "ine" in " ".join(query.terms)


def test_part_of_name_identifies_participant() -> None:
    assert read_cues("Where does Tom live?").only_named == TOM.number
    assert read_cues("Where does Tom Weber live?").only_named == TOM.number


def test_two_names_identify_no_single_participant() -> None:
    assert read_cues("Where did Ines and Tom meet?").only_named is None


def test_name_within_word_is_ignored() -> None:
    assert read_cues("Is Tomorrow a film?").only_named is None


def test_role_is_not_participant_name() -> None:
    query = prepare_query("What did the assistant cook?", EVERYBODY, NOW)
    assert read_cues("What did the assistant cook?").only_named is None
    assert "assistant" in query.dense_text


def test_name_alone_is_not_removed() -> None:
    query = prepare_query("Ines?", EVERYBODY, NOW)
    assert query.dense_text == "Ines?"
    assert query.terms


@check_each("text", ["Did I mention", "the", "", "?!", "Do you remember?"])
def test_question_of_phrasing_only_is_unchanged(text: str) -> None:
    assert prepare_query(text, EVERYBODY, NOW).dense_text == text


@check_each(
    ("text", "expected"),
    [
        ("on 8 May 2023", [("2023-05-08", 1)]),
        ("on May 8th, 2023?", [("2023-05-08", 1)]),
        ("on the 8th of May, 2023", [("2023-05-08", 1)]),
        ("am 8. Mai 2023", [("2023-05-08", 1)]),
        ("am 08.05.2023", [("2023-05-08", 1)]),
        ("on 2023-05-08", [("2023-05-08", 1)]),
        ("in May 2023", [("2023-05-01", 31)]),
        ("im Februar 2024", [("2024-02-01", 29)]),
        ("in 2022", [("2022-01-01", 365)]),
        ("between May 3 and May 5, 2023", [("2023-05-05", 1)]),
        ("on 31 June 2023", []),
        ("on 2023-13-01", []),
        ("I may march on", []),
        ("room 2023-1", []),
        ("version 12.2023.4", []),
        ("no date", []),
    ],
)
def test_dates_become_periods(text: str, expected: list[tuple[str, int]]) -> None:
    assert set(expected) <= set(get_days(text))
    if "between" not in text:
        assert get_days(text) == expected


def test_relative_date_is_counted_from_time_of_question() -> None:
    assert get_days("What did we discuss yesterday, and in May 2023?") == [
        ("2023-05-01", 31),
        ("2024-05-31", 1),
    ]
    assert get_days("Was war letzte Woche?") == [("2024-05-19", 8)]


@check_each("text", ["last December", "Last  december?", "since late last dec"])
def test_last_month_name_means_one_past_month(text: str) -> None:
    assert get_days(f"What did we plan {text}") == [("2023-12-01", 31)]


def test_last_before_full_date_is_ignored() -> None:
    assert get_days("late last May 2023") == get_days("in May 2023")


def test_year_is_taken_from_time_of_question_in_utc() -> None:
    ahead = datetime(2027, 1, 1, 5, tzinfo=timezone(timedelta(hours=14)))
    assert find_periods("in May", ahead) == find_periods("in May", ahead.astimezone(UTC))


@check_each("month", ["APRİL", "aprıl", "April"])
def test_turkish_letter_i_is_recognised_in_month_name(month: str) -> None:
    assert find_periods(f"in {month} 2023", NOW) == find_periods("in April 2023", NOW)


def test_date_without_year_matches_recent_years() -> None:
    assert get_days("in May") == [
        (f"{year}-05-01", 31) for year in range(2024 - MAX_YEARS_BACK + 1, 2025)
    ]
    assert ("2024-05-08", 1) in get_days("What was on May 8?")


@check_each(
    "text",
    [
        "When did it rain?",
        "How long ago did she move?",
        "What year was it?",
        "In which month did he start?",
        "Wann war das?",
        "An welchem Tag war das?",
    ],
)
def test_question_about_time_is_detected(text: str) -> None:
    assert read_cues(text).asks_time


@check_each("text", ["What did she say?", "How long is the pool?", "Wo war das?"])
def test_question_without_time_is_not_detected(text: str) -> None:
    assert not read_cues(text).asks_time


@check_each(
    ("text", "kind"),
    [
        ("How many eggs are left?", Trait.NUMBER),
        ("Wie alt ist der Hund?", Trait.NUMBER),
        ("Where did they go?", Trait.PLACE),
        ("Which city did she see?", Trait.PLACE | Trait.PROPER_NOUN),
        ("Who called?", Trait.PROPER_NOUN | Trait.NONE),
        ("What is the title of her song?", Trait.PROPER_NOUN),
        ("Why did he leave?", Trait.NONE),
    ],
)
def test_answer_kind_is_detected(text: str, kind: Trait) -> None:
    assert read_cues(text).answer_kinds == kind


@check_each(
    ("text", "about_user"),
    [
        ("What is my name?", True),
        ("Which units should I use?", True),
        ("Wie heißt mein Hund?", True),
        ("How did you recommend storing my apples?", False),
        ("What would you suggest to me?", False),
        ("Who won the cup?", False),
    ],
)
def test_question_about_user_is_detected(text: str, about_user: bool) -> None:  # noqa: FBT001
    assert read_cues(text).is_about_user is about_user


def test_query_of_another_ranking_has_no_cues() -> None:
    query = prepare_query("When?", (), NOW)
    other = type(query)(query.text, query.dense_text, query.terms, cues={"mine": 1})
    assert get_cues(other) == QueryCues()


@check_each(
    "text",
    [
        "In what order did I plant the trees?",
        "Can you summarise how the garden came about?",
        "What books has Ines read?",
        "Which kinds of tea does Tom like?",
        "How many times did I visit Lyon?",
        "What are the names of her cats?",
        "What do Ines and Tom both enjoy?",
        "Wie viele Bücher habe ich gelesen?",
        "Welche Städte haben wir besucht?",
    ],
)
def test_question_with_several_answers_is_detected(text: str) -> None:
    assert read_cues(text).asks_several


@check_each(
    "text",
    [
        "What is the name of my dog?",
        "When did Ines move to Porto?",
        "Where does Tom live?",
        "What did his friends say?",
        "Which glass is mine?",
        "Wann zieht Tom um?",
    ],
)
def test_question_with_one_answer_is_detected(text: str) -> None:
    assert not read_cues(text).asks_several
