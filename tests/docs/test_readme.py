"""The examples in the documents run; their commands and links exist."""

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


def _find_code_blocks(document: str, language: str) -> list[str]:
    text = (ROOT / document).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)


def _find_programs(document: str) -> list[tuple[str, str]]:
    """Return the Python blocks of a page, each with its documented output, or ""."""
    text = (ROOT / document).read_text(encoding="utf-8")
    shown = r"(?:\n+^```text\n(.*?)^```$)?"
    return re.findall(rf"^```python\n(.*?)^```$\n?{shown}", text, flags=re.DOTALL | re.MULTILINE)


def _find_named_targets(document: str) -> set[str]:
    text = (ROOT / document).read_text(encoding="utf-8")
    commands = re.findall(r"`make ([a-z][\w-]*)|^make ([a-z][\w-]*)", text, flags=re.MULTILINE)
    return {inline or block for inline, block in commands}


def _find_makefile_targets() -> set[str]:
    rules = re.findall(r"^([a-z%-]+):", (ROOT / "Makefile").read_text("utf-8"), flags=re.MULTILINE)
    return set(rules)


def test_readme_has_a_python_example() -> None:
    assert len(_find_code_blocks("README.md", "python")) >= 1


@pytest.mark.parametrize(
    "document", [each for each in ("README.md", *PAGES) if _find_code_blocks(each, "python")]
)
def test_python_blocks_of_a_document_run(document: str, tmp_path: Path) -> None:
    """The blocks of a page run in order, in one folder, since later ones build on earlier ones."""
    # A temporary home: an example must not read or change the user's settings.
    environment = {
        "HOME": str(tmp_path),
        "OMP_NUM_THREADS": "1",
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(Path(memolith.__file__).parents[1]),
    }
    for number, (block, output) in enumerate(_find_programs(document)):
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
def test_every_named_make_target_exists(document: str) -> None:
    named = _find_named_targets(document)

    assert named
    plain = {name for name in named if not name.startswith("bench-")}
    assert plain <= _find_makefile_targets()


@check_each("document", [*DOCUMENTS, *PAGES])
def test_every_linked_file_exists(document: str) -> None:
    path = ROOT / document
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)", path.read_text(encoding="utf-8"))

    assert [link for link in links if not (path.parent / link).exists()] == []


def test_every_page_is_in_the_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")

    assert [page for page in PAGES if page.removeprefix("docs/") not in navigation] == []
