"""CONTRIBUTING.md names the modules that exist."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "memolith"
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def test_module_map_lists_every_top_level_module_once() -> None:
    rows = re.findall(r"^\| `(\w+)` \|", PAGE, flags=re.MULTILINE)
    modules = [
        each.stem
        for each in PACKAGE.iterdir()
        if (each.suffix == ".py" and each.stem != "__init__") or (each / "__init__.py").exists()
    ]
    assert sorted(rows) == sorted(modules)


def test_every_file_named_in_the_answers_exists() -> None:
    answers = PAGE[PAGE.index("| question | answer |") : PAGE.index("## House style")]
    named = re.findall(r"`((?:\w+/)+(?:\w+\.py)?)`", answers)
    assert named
    assert [each for each in named if not (PACKAGE / each).exists()] == []
