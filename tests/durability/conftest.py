"""After the tests: a table of what the trials have come to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.durability.store_checks import COLUMNS, Tally
from support.postgres import new_database

_PROPERTY = "durability"


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Where a new store is to be: the file, or the URL of a database of its own."""
    if request.param == "sqlite":
        yield str(tmp_path / "memory.db")
        return
    with new_database(request.getfixturevalue("postgres_url")) as url:
        yield url


@pytest.fixture
def tally(request: pytest.FixtureRequest) -> Iterator[Tally]:
    """What the test counts; it goes into the table whether the test passes or not."""
    counted = Tally()
    yield counted
    name = request.node.originalname or request.node.name
    request.node.user_properties.append((_PROPERTY, (name, counted.values())))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    rows = _rows(terminalreporter)
    if not rows:
        return
    terminalreporter.section("nothing lost")
    width = max(map(len, rows))
    write = terminalreporter.write_line
    write(" ".join([" " * width, *(f"{name:>12}" for name in COLUMNS)]))
    for name, values in rows.items():
        write(" ".join([f"{name:<{width}}", *(f"{value:>12,}" for value in values)]))


def _rows(reporter: pytest.TerminalReporter) -> dict[str, list[int]]:
    """Return the sums of what tests of one name have counted."""
    rows: dict[str, list[int]] = {}
    for report in (each for reports in reporter.stats.values() for each in reports):
        if getattr(report, "when", None) != "teardown":
            continue
        for name, (test, values) in report.user_properties:
            if name == _PROPERTY:
                before = rows.get(test, [0] * len(values))
                rows[test] = [a + b for a, b in zip(before, values, strict=True)]
    return rows
