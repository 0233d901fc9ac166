"""The suite's own loop over the rows of a corpus: see tests/support/rows.py."""

from __future__ import annotations

import pytest

from support.rows import check_each


def test_every_failing_row_is_reported() -> None:
    @check_each(("number", "limit"), [(1, 2), (3, 2), (4, 2)])
    def is_below(number: int, limit: int) -> None:
        assert number < limit

    with pytest.raises(AssertionError, match=r"2 of 3 rows failed") as raised:
        is_below()
    assert "3, 2\n" in str(raised.value)
    assert "4, 2\n" in str(raised.value)
    assert "1, 2\n" not in str(raised.value)


def test_an_error_or_failure_of_a_row_is_reported() -> None:
    @check_each("kind", ["error", "failure"])
    def fail(kind: str) -> None:
        if kind == "error":
            raise KeyError(kind)
        pytest.fail("deliberately")

    with pytest.raises(AssertionError, match=r"KeyError: 'error'[\s\S]*Failed: deliberately"):
        fail()


def test_rows_share_the_fixtures_of_their_test() -> None:
    seen: list[str] = []

    @check_each("word", ["one", "two"])
    def collect(seen: list[str], word: str) -> None:
        seen.append(word)

    collect(seen=seen)
    assert seen == ["one", "two"]


@check_each("word", ["one", "two"])
@check_each("number", [1, 2])
def test_decorated_tests_take_only_their_fixtures(
    word: str, number: int, request: pytest.FixtureRequest
) -> None:
    assert word in {"one", "two"}
    assert number in {1, 2}
    assert request.fixturenames[-1] != "word"
    assert "number" not in request.fixturenames


def test_a_test_is_skipped_only_where_all_rows_are() -> None:
    @check_each("word", ["one", "two"])
    def skip_two(word: str) -> None:
        if word == "two":
            pytest.skip(word)

    skip_two()

    @check_each("word", ["one", "two"])
    def skip_all(word: str) -> None:
        pytest.skip(word)

    with pytest.raises(pytest.skip.Exception, match="one"):
        skip_all()


def test_an_empty_corpus_and_a_short_row_are_errors() -> None:
    with pytest.raises(AssertionError, match="no rows"):
        check_each("word", [])
    with pytest.raises(AssertionError, match="values"):
        check_each("word, number", [("one",)])
