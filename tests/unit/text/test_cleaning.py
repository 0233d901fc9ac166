"""Cleaning, by example."""

import unicodedata

import pytest

from memolith.errors import InvalidInput
from memolith.text.cleaning import clean
from support.rows import check_each


@check_each(
    ("given", "expected"),
    [
        ("  two words \n", "two words"),
        ("a\r\nb\rc", "a\nb\nc"),
        ("a\n\n\n\n\nb", "a\n\nb"),
        ("a\n\nb", "a\n\nb"),
        ("a\n \n \nb", "a\n \n \nb"),
        ("a\tb  c", "a\tb  c"),
        ("nul\x00l, bell\x07, escape\x1b[0m, C1\x85", "null, bell, escape[0m, C1"),
        ("e\u0301", "é"),
        ("lone \ud83d half", "lone \ufffd half"),
        ("half at the end \udc00", "half at the end \ufffd"),
        ("two halves \ud83d\ude00", "two halves 😀"),
        ("**bold** and `code`", "**bold** and `code`"),
        ("مرحبا \u200f!", "مرحبا \u200f!"),
        ("👩\u200d👩\u200d👧", "👩\u200d👩\u200d👧"),
    ],
)
def test_text_is_cleaned(given: str, expected: str) -> None:
    assert clean(given) == expected


@check_each("fence", ["```", "~~~~", "  ```python"])
def test_blank_lines_in_fenced_code_are_preserved(fence: str) -> None:
    mark = fence.strip().removesuffix("python")
    text = f"before\n\n{fence}\nx = 1\n\n\n\ny = 2\n{mark}\n\nafter"
    assert clean(text) == text


def test_blank_lines_around_fenced_code_are_reduced_to_one() -> None:
    assert clean("a\n\n\n\n```\nb\n```\n\n\n\nc") == "a\n\n```\nb\n```\n\nc"


def test_blank_lines_after_unclosed_fence_are_preserved() -> None:
    assert clean("a\n```\nb\n\n\n\nc") == "a\n```\nb\n\n\n\nc"


def test_cleaning_of_indented_fence_is_idempotent() -> None:
    once = clean("    ```\na\n\n\n\nb")
    assert clean(once) == once


@check_each("text", ["", "   ", "\n\t\r\n", "\x00\x01", "\u200b\u2060", "\ufeff"])
def test_invisible_text_is_rejected(text: str) -> None:
    with pytest.raises(InvalidInput, match="note: is empty"):
        clean(text, field="note")


@check_each("text", [None, 7, b"bytes", ["list"]])
def test_value_of_another_type_is_rejected(text: object) -> None:
    with pytest.raises(InvalidInput, match=f"must be text, not {type(text).__name__}") as caught:
        clean(text)  # type: ignore[arg-type]
    assert caught.value.field == "content"


def test_limit_counts_cleaned_text_and_is_named() -> None:
    assert clean("  12345  ", limit=5) == "12345"
    with pytest.raises(InvalidInput, match="1,234 characters long; the limit is 1,000"):
        clean("x" * 1234, limit=1000)


@check_each(
    "marks",
    [
        "\u0301\u0316" * 40,
        "\u0f73\u0f75\u0f81" * 40,
        "\u0344\u0301\u0316" * 40,
        "\u0316" * 40 + "\u0301" * 40,
    ],
)
def test_long_runs_of_combining_marks_are_normalised_exactly(marks: str) -> None:
    text = f"a{marks}b{marks}"
    assert clean(text) == unicodedata.normalize("NFC", text)


@pytest.mark.timeout(20)  # quadratic algorithms would take minutes
@pytest.mark.parametrize(
    "text",
    [
        "a" + "\u0301\u0316" * 500_000,
        "a" + "\n" * 100_000 + "b",
        "```\n" * 250_000,
        "`" * 1_000_000,
        "\ud800" * 500_000,
    ],
    ids=["marks", "newlines", "fences", "backticks", "surrogates"],
)
def test_hostile_megabyte_is_cleaned_in_linear_time(text: str) -> None:
    assert clean(text)
