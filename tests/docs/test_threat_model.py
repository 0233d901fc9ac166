"""Every line of the threat model names a test that there is."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "explanation" / "threat-model.md"

_TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
_ROW = re.compile(r"^\|(?! *-| *\|)(.+)\|$", re.MULTILINE)


def functions_in(file: str) -> set[str]:
    """Return the names of the functions in a file of tests."""
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_every_test_that_is_named_exists() -> None:
    named = _TEST.findall(PAGE.read_text(encoding="utf-8"))
    assert len(named) > 40
    assert [pair for pair in named if pair[1] not in functions_in(pair[0])] == []


def test_every_line_of_a_table_names_a_test() -> None:
    rows = _ROW.findall(PAGE.read_text(encoding="utf-8"))
    lines = [row for row in rows if "held by" not in row and set(row) - set("|- ")]
    assert len(lines) > 30
    assert [line for line in lines if not _TEST.search(line)] == []
