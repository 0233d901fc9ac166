from __future__ import annotations

from datetime import date

from hypothesis import given
from hypothesis import strategies as st

from memolith.text.dates import DateRange, resolve_dates, resolve_past_dates
from support.rows import check_each

REFERENCE_DATE = date(2024, 5, 1)  # a Wednesday


def get_ranges(text: str, said: date = REFERENCE_DATE) -> list[tuple[str, int]]:
    return [(str(days.first), days.count_days) for days in resolve_dates(text, said)]


@check_each(
    ("text", "first", "count"),
    [
        ("yesterday", "2024-04-30", 1),
        ("Gestern war es schön", "2024-04-30", 1),
        ("the day after tomorrow", "2024-05-03", 1),
        ("übermorgen", "2024-05-03", 1),
        ("3 days ago", "2024-04-28", 1),
        ("two weeks ago", "2024-04-15", 7),
        ("vor einem Monat", "2024-04-01", 30),
        ("in 2 years", "2026-01-01", 365),
        ("last week", "2024-04-22", 7),
        ("nächste Woche", "2024-05-06", 7),
        ("this weekend", "2024-05-04", 2),
        ("last month", "2024-04-01", 30),
        ("next year", "2025-01-01", 365),
        ("next Friday", "2024-05-03", 1),
        ("next Friday", "2024-05-10", 1),
        ("on Mondays", "2024-04-29", 1),
        ("last May", "2023-05-01", 31),
        ("last summer", "2023-06-01", 92),
        ("on the 15th", "2024-05-15", 1),
        ("8 May 2023", "2023-05-08", 1),
        ("on 2023-05-08", "2023-05-08", 1),
        ("in 2019", "2019-01-01", 365),
    ],
)
def test_phrase_is_resolved_to_days(text: str, first: str, count: int) -> None:
    assert (first, count) in get_ranges(text)


def test_day_of_statement_is_always_included() -> None:
    assert get_ranges("hello") == [("2024-05-01", 1)]


def test_month_of_complete_date_is_not_resolved_separately() -> None:
    assert get_ranges("8 May 2023") == [("2024-05-01", 1), ("2023-05-08", 1)]


@check_each("said", [date.min, date.max, date(1_001, 1, 1), date(8_999, 12, 31)])
def test_no_phrase_exceeds_calendar(said: date) -> None:
    assert get_ranges("999 years ago, in 999 years, 999 weeks ago, in 999 months, last May", said)


@given(st.text(), st.dates())
def test_any_text_is_resolved_to_some_days(text: str, said: date) -> None:
    assert DateRange(said, said) in resolve_dates(text, said)


def get_past_ranges(text: str, asked: date = REFERENCE_DATE) -> list[tuple[str, int]]:
    return [(str(days.first), days.count_days) for days in resolve_past_dates(text, asked)]


@check_each(
    ("text", "expected"),
    [
        ("What did we discuss yesterday?", [("2024-04-30", 1)]),
        ("What did I eat last night?", [("2024-04-30", 1)]),
        ("the day before yesterday", [("2024-04-29", 1)]),
        ("three days ago", [("2024-04-28", 1)]),
        ("vor 3 Tagen", [("2024-04-28", 1)]),
        ("a couple of months ago", [("2024-03-01", 31), ("2024-02-01", 29)]),
        ("last week", [("2024-04-21", 8)]),
        ("letzte Woche", [("2024-04-21", 8)]),
        ("two weeks ago", [("2024-04-14", 8)]),
        ("last weekend", [("2024-04-27", 2)]),
        ("last month", [("2024-04-01", 30)]),
        ("im letzten Jahr", [("2023-01-01", 365)]),
        ("in the past week", [("2024-04-24", 8)]),
        ("over the last three months", [("2024-01-29", 94)]),
        ("last Wednesday", [("2024-04-24", 1)]),
        ("letzten Dienstag", [("2024-04-30", 1)]),
        ("last May", [("2023-05-01", 31)]),
        ("last April", [("2024-04-01", 30)]),
        ("last winter", [("2023-12-01", 91)]),
        ("last summer", [("2023-06-01", 92)]),
    ],
)
def test_question_is_resolved_to_past_days(text: str, expected: list[tuple[str, int]]) -> None:
    assert get_past_ranges(text) == expected


@check_each(
    "text",
    [
        "What do I do today?",
        "this week",
        "on Monday",
        "next week",
        "tomorrow",
        "my last job",
        "the last week of the course",
        "on the last day",
        "the last time we met",
        "in three days",
        "How long did it last?",
    ],
)
def test_phrase_about_possible_plan_has_no_past_days(text: str) -> None:
    assert get_past_ranges(text) == []


@check_each("asked", [date.min, date.max, date(1_001, 1, 1), date(1_002, 1, 1)])
def test_no_question_exceeds_calendar(asked: date) -> None:
    resolve_past_dates(
        "999 years ago, in the last 999 years, the past 999 months, last winter", asked
    )


PHRASES = "last past the 3 few ago vor weeks years month monday may summer yesterday letzte tagen"


@given(st.lists(st.sampled_from(PHRASES.split()), max_size=8).map(" ".join), st.dates())
def test_past_days_are_never_in_future(text: str, asked: date) -> None:
    assert all(days.first <= asked for days in resolve_past_dates(text, asked))
