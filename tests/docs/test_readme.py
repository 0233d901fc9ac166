"""The documents say what is true: their examples run, their commands and links exist."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import memolith
from support.rows import check_each

ROOT = Path(__file__).parents[2]
DOCUMENTS = ("README.md", "CONTRIBUTING.md")
PAGES = [str(page.relative_to(ROOT)) for page in sorted((ROOT / "docs").rglob("*.md"))]


def _code_blocks(document: str, language: str) -> list[str]:
    text = (ROOT / document).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)


def _programs(document: str) -> list[tuple[str, str]]:
    """Return the Python on a page, each block with what stands as its output; "": nothing."""
    text = (ROOT / document).read_text(encoding="utf-8")
    shown = r"(?:\n+^```text\n(.*?)^```$)?"
    return re.findall(rf"^```python\n(.*?)^```$\n?{shown}", text, flags=re.DOTALL | re.MULTILINE)


def _targets_named(document: str) -> set[str]:
    text = (ROOT / document).read_text(encoding="utf-8")
    commands = re.findall(r"`make ([a-z][\w-]*)|^make ([a-z][\w-]*)", text, flags=re.MULTILINE)
    return {inline or block for inline, block in commands}


def _targets_made() -> set[str]:
    rules = re.findall(r"^([a-z%-]+):", (ROOT / "Makefile").read_text("utf-8"), flags=re.MULTILINE)
    return set(rules)


def test_the_readme_has_a_python_example() -> None:
    assert len(_code_blocks("README.md", "python")) >= 1


@pytest.mark.parametrize(
    "document", [each for each in ("README.md", *PAGES) if _code_blocks(each, "python")]
)
def test_the_python_in_a_document_runs(document: str, tmp_path: Path) -> None:
    """Each block in turn, in one folder of its own: a page tells one story."""
    # A home of its own: an example must not depend on, or touch, the user's own settings.
    environment = {
        "HOME": str(tmp_path),
        "OMP_NUM_THREADS": "1",
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(Path(memolith.__file__).parents[1]),
    }
    for number, (block, output) in enumerate(_programs(document)):
        program = tmp_path / f"example_{number}.py"
        program.write_text(block, encoding="utf-8")
        run = subprocess.run(
            [sys.executable, "-W", "error", str(program)],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
            timeout=60,
        )
        assert run.returncode == 0, run.stderr
        assert run.stdout.strip() or "assert" in block
        assert not output or run.stdout.strip() == output.strip()


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_make_command_named_exists(document: str) -> None:
    named = _targets_named(document)

    assert named
    plain = {name for name in named if not name.startswith("bench-")}
    assert plain <= _targets_made()


@check_each("document", [*DOCUMENTS, *PAGES])
def test_every_file_linked_exists(document: str) -> None:
    path = ROOT / document
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)", path.read_text(encoding="utf-8"))

    assert [link for link in links if not (path.parent / link).exists()] == []


def test_every_page_stands_in_the_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")

    assert [page for page in PAGES if page.removeprefix("docs/") not in navigation] == []
