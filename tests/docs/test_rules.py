"""The report of profile rules lists every conformance test."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_report_lists_every_conformance_test(tmp_path: Path) -> None:
    program = tmp_path / "tools" / "rules.py"
    program.parent.mkdir()
    program.write_text((ROOT / "tools" / "rules.py").read_text("utf-8"), encoding="utf-8")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "conformance").symlink_to(ROOT / "tests" / "conformance")
    subprocess.run([sys.executable, str(program)], check=True)
    report = (tmp_path / "build" / "rules.md").read_text("utf-8")
    names = [
        node.name.removeprefix("test_").replace("_", " ")
        for file in sorted((ROOT / "tests" / "conformance").glob("test_*.py"))
        for node in ast.parse(file.read_text("utf-8")).body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    ]
    assert names
    assert [name for name in names if f"| {name[0].upper()}{name[1:]}" not in report] == []
