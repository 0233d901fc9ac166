"""Tests that documentation pages cite exist."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [
    # page, its minimum number of table rows
    ("docs/explanation/threat-model.md", 30),
]

_TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
_ROW = re.compile(r"^\|(?! *-| *\|)(.+)\|$", re.MULTILINE)


@cache
def get_function_names(file: str) -> set[str]:
    """Return the names of the functions in a test file."""
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize(("page", "lines"), PAGES)
def test_every_cited_test_exists(page: str, lines: int) -> None:
    named = _TEST.findall((ROOT / page).read_text(encoding="utf-8"))
    assert len(named) > lines
    assert [pair for pair in named if pair[1] not in get_function_names(pair[0])] == []


@pytest.mark.parametrize(("page", "lines"), PAGES)
def test_every_table_row_cites_a_test(page: str, lines: int) -> None:
    rows = _ROW.findall((ROOT / page).read_text(encoding="utf-8"))
    data_rows = [row for row in rows if "held by" not in row and set(row) - set("|- ")]
    assert len(data_rows) > lines
    assert [row for row in data_rows if not _TEST.search(row)] == []
