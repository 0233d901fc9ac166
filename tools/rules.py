"""Write `build/rules.md`: the rules of the profiles, one line for each conformance test.

    make rules                                  # run the tests first, and add their results
    python tools/rules.py                       # only list the rules
    python tools/rules.py build/conformance.xml # with the results of a JUnit report

A rule is the name of a test function in words, followed by its docstring.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from xml.etree import ElementTree as ET

ROOT = Path(__file__).resolve().parents[1]
TESTS = ROOT / "tests" / "conformance"
REPORT = ROOT / "build" / "rules.md"

Results = Mapping[tuple[str, str], str]
"""By module and test function: `passed`, `skipped` or `failed`."""

_SECTION = re.compile(r"^# --- (.+?) -+$", re.MULTILINE)
_RANKS = ("passed", "skipped", "failed")


def report(results: Results | None = None) -> str:
    """Return the report as Markdown."""
    lines = [
        "# Rules of the profiles",
        "",
        "Written by `make rules` from the tests in `tests/conformance`; do not edit.",
    ]
    for path in sorted(TESTS.glob("test_*.py")):
        lines += ["", f"## `{path.stem.removeprefix('test_')}`", "", *_rows(path, results)]
    return "\n".join(lines) + "\n"


def load_results(path: Path) -> Results:
    """Return the worst result of each test function in a JUnit report."""
    results: dict[tuple[str, str], str] = {}
    for case in ET.parse(path).iter("testcase"):  # noqa: S314 - written by pytest just before
        module = case.get("classname", "").rpartition(".")[2]
        key = (module, case.get("name", "").partition("[")[0])
        tags = {child.tag for child in case}
        result = "failed" if tags & {"failure", "error"} else "passed"
        if "skipped" in tags:
            result = "skipped"
        results[key] = max(result, results.get(key, "passed"), key=_RANKS.index)
    return results


def _rows(path: Path, results: Results | None) -> Iterator[str]:
    """Yield the lines of one profile's table."""
    source = path.read_text(encoding="utf-8")
    sections = [
        (source.count("\n", 0, match.start()) + 1, match[1]) for match in _SECTION.finditer(source)
    ]
    yield "| part | rule | test |" + (" result |" if results is not None else "")
    yield "|---|---|---|" + ("---|" if results is not None else "")
    for node in ast.parse(source).body:
        if not isinstance(node, ast.FunctionDef) or not node.name.startswith("test_"):
            continue
        part = next((name for line, name in reversed(sections) if line < node.lineno), "")
        row = f"| {part} | {_rule(node)} | `{path.name}:{node.lineno}` |"
        if results is not None:
            row += f" {results.get((path.stem, node.name), 'not run')} |"
        yield row


def _rule(node: ast.FunctionDef) -> str:
    words = node.name.removeprefix("test_").replace("_", " ")
    docstring = " ".join((ast.get_docstring(node) or "").split())
    return f"{words[0].upper()}{words[1:]}" + (f": {docstring}" if docstring else "")


if __name__ == "__main__":
    REPORT.parent.mkdir(parents=True, exist_ok=True)
    REPORT.write_text(
        report(load_results(Path(sys.argv[1])) if sys.argv[1:] else None), encoding="utf-8"
    )
    print(f"{REPORT.relative_to(ROOT)}: written")
