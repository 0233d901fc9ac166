"""The reference pages say what the program has: no more, no less."""

from pathlib import Path

from mnemon.config.reference import markdown

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"


def between(text: str, begin: str, end: str) -> str:
    """Return what stands after the line that begins with one mark and before the other."""
    return text.split(begin, 1)[1].split("\n", 1)[1].split(end, 1)[0]


def test_the_table_of_settings_is_the_programs_own() -> None:
    page = (REFERENCE / "configuration.md").read_text(encoding="utf-8")
    assert between(page, "<!-- settings: begin", "<!-- settings: end").strip() == markdown().strip()
