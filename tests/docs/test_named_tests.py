"""Where a page says which test holds what it says, there is that test."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [
    # page, how many lines of tables it has at least
    ("docs/explanation/threat-model.md", 30),
]

_TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
_ROW = re.compile(r"^\|(?! *-| *\|)(.+)\|$", re.MULTILINE)


@cache
def functions_in(file: str) -> set[str]:
    """Return the names of the functions in a file of tests."""
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize(("page", "lines"), PAGES)
def test_every_test_that_is_named_exists(page: str, lines: int) -> None:
    named = _TEST.findall((ROOT / page).read_text(encoding="utf-8"))
    assert len(named) > lines
    assert [pair for pair in named if pair[1] not in functions_in(pair[0])] == []


@pytest.mark.parametrize(("page", "lines"), PAGES)
def test_every_line_of_a_table_names_a_test(page: str, lines: int) -> None:
    rows = _ROW.findall((ROOT / page).read_text(encoding="utf-8"))
    told = [row for row in rows if "held by" not in row and set(row) - set("|- ")]
    assert len(told) > lines
    assert [row for row in told if not _TEST.search(row)] == []
