"""Fixtures of the durability tests, and a summary table of their trials."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.durability.store_checks import COLUMNS, Tally
from support.postgres import new_database

_PROPERTY = "durability"


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The location of a new store: a file path, or the URL of a new database."""
    if request.param == "sqlite":
        yield str(tmp_path / "memory.db")
        return
    with new_database(request.getfixturevalue("postgres_url")) as url:
        yield url


@pytest.fixture
def tally(request: pytest.FixtureRequest) -> Iterator[Tally]:
    """The counts of one test; they enter the table whether the test passes or fails."""
    counts = Tally()
    yield counts
    name = request.node.originalname or request.node.name
    request.node.user_properties.append((_PROPERTY, (name, counts.values())))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    rows = _sum_counts(terminalreporter)
    if not rows:
        return
    terminalreporter.section("nothing lost")
    width = max(map(len, rows))
    write = terminalreporter.write_line
    write(" ".join([" " * width, *(f"{name:>12}" for name in COLUMNS)]))
    for name, values in rows.items():
        write(" ".join([f"{name:<{width}}", *(f"{value:>12,}" for value in values)]))


def _sum_counts(reporter: pytest.TerminalReporter) -> dict[str, list[int]]:
    """Return the summed counts of the tests with one name."""
    rows: dict[str, list[int]] = {}
    for report in (each for reports in reporter.stats.values() for each in reports):
        if getattr(report, "when", None) != "teardown":
            continue
        for name, (test, values) in report.user_properties:
            if name == _PROPERTY:
                before = rows.get(test, [0] * len(values))
                rows[test] = [a + b for a, b in zip(before, values, strict=True)]
    return rows
