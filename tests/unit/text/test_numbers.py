from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memolith.text.numbers import parse_numbers
from support.rows import check_each


@check_each(
    ("text", "numbers"),
    [
        ("1,000 and 1.000 and 1k and a thousand", "1000"),
        ("1.5 million", "1500000"),
        ("85k", "85000"),
        ("twenty-five, or twenty five", "25"),
        ("two hundred and fifty", "250"),
        ("five hundred million", "500000000"),
        ("ten thousand", "10000"),
        ("two and three", "2 3"),
        ("two, three", "2 3"),
        ("at 5pm on 2024-05-08", "5 8 2024"),
        ("10:30, the 3rd, 007", "10 30 3 7"),
        ("3,5 Prozent am 12.03.2024", "3.5 12 3 2024"),
        ("Bootstrap 5.3.0, am 12.03.24", "5.3.0 12 3 24"),
        ("zwei Hunde, zwölf Katzen, dreißig Jahre", "2 12 30"),
        ("one dog, ein Hund", ""),
        ("no numbers at all", ""),
        ("", ""),
        ("million million million million", "1000000000000000"),
    ],
)
def test_numbers_are_parsed_into_one_notation(text: str, numbers: str) -> None:
    assert parse_numbers(text) == frozenset(numbers.split())


@given(st.integers(2, 10**12))
def test_number_is_parsed_with_and_without_separators(number: int) -> None:
    assert parse_numbers(f"{number:,}") == parse_numbers(str(number)) == {str(number)}


@given(st.text())
def test_any_text_is_parsed_without_empty_numbers(text: str) -> None:
    assert all(parse_numbers(text))
