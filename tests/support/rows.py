"""Check every row of a corpus in one test, and report all rows that fail."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

import pytest

Row = TypeVar("Row")

_SHOWN = 300
"""Characters of a row that a report shows."""


def check_each(rows: Iterable[Row], check: Callable[[Row], object]) -> None:
    """Call a check for every row; fail once, with every row that failed and its error.

    Args:
        rows: The rows of a corpus, at least one.
        check: Raises an exception for a bad row. It may skip a row with `pytest.skip`, but not
            all of them.

    Raises:
        AssertionError: A row failed, or there are no rows.
    """
    total, skipped = 0, []
    failures: list[str] = []
    for row in rows:
        total += 1
        try:
            check(row)
        except pytest.skip.Exception as skip:
            skipped.append(str(skip))
        except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001 - all rows are reported
            failures.append(f"{_shown(row)}\n    {type(error).__name__}: {error}")
    assert total, "the corpus has no rows"
    if failures:
        message = f"{len(failures)} of {total} rows failed:\n"
        raise AssertionError(message + "\n".join(failures))
    if len(skipped) == total:
        pytest.skip(skipped[0])


def _shown(row: object) -> str:
    text = repr(row)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
