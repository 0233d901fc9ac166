"""Check every row of a corpus in one test, and report all rows that fail."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any

import pytest

Check = Callable[..., None]

_SHOWN = 300
"""Maximum length of a row in a report, in characters."""


def check_each(names: str | Sequence[str], rows: Iterable[Any]) -> Callable[[Check], Check]:
    """Call a test function for every row; fail once, with every failing row and its error.

    Takes the arguments of `pytest.mark.parametrize`, but makes one test of all rows, which share
    its fixtures. Use it for corpora of texts, pairs and expected values. Use `parametrize` for
    adapters, profiles and everything that changes its fixtures.

    Args:
        names: Parameter names: a sequence, a comma-separated string, or a single name whose values
            are the rows themselves.
        rows: At least one row. The test is skipped only if the function skips all rows.
    """
    parameters = [name.strip() for name in names.split(",")] if isinstance(names, str) else names
    is_single = isinstance(names, str) and len(parameters) == 1
    table = [_values(row, is_single=is_single) for row in rows]
    assert table, "the corpus has no rows"
    assert {len(row) for row in table} == {len(parameters)}, "a row has too few or too many values"

    def decorate(function: Check) -> Check:
        @wraps(function)
        def test(**fixtures: Any) -> None:
            failures: list[str] = []
            skipped: list[str] = []
            for row in table:
                try:
                    function(**fixtures, **dict(zip(parameters, row, strict=True)))
                except pytest.skip.Exception as skip:
                    skipped.append(str(skip))
                except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001 - reported below
                    failures.append(f"{_shown(row)}\n    {type(error).__name__}: {error}")
            if failures:
                message = f"{len(failures)} of {len(table)} rows failed:\n"
                raise AssertionError(message + "\n".join(failures))
            if len(skipped) == len(table):
                pytest.skip(skipped[0])

        signature = inspect.signature(function)
        left = [each for name, each in signature.parameters.items() if name not in parameters]
        test.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]
        return test

    return decorate


def _values(row: Any, *, is_single: bool) -> Sequence[Any]:
    if isinstance(row, type(pytest.param())):
        assert not row.marks, "a row of a corpus has no marks"
        return row.values
    return (row,) if is_single else tuple(row)


def _shown(row: Sequence[Any]) -> str:
    text = ", ".join(map(repr, row))
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
