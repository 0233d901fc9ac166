"""The generated parts of the reference pages are current."""

from pathlib import Path

from memolith.cli.reference import build_command_reference, build_exit_code_table
from memolith.config.reference import render_markdown
from memolith.server.reference import render_routes
from support.openapi import document

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"


def read_generated_part(page: str, part: str) -> str:
    """Return the generated part of a page, found by its markers."""
    text = (REFERENCE / page).read_text(encoding="utf-8")
    inside = text.split(f"<!-- {part}: begin", 1)[1].split(f"<!-- {part}: end", 1)[0]
    return inside.split("\n", 1)[1].strip()


def test_settings_table_is_current() -> None:
    assert read_generated_part("configuration.md", "settings") == render_markdown().strip()


def test_command_reference_is_current() -> None:
    assert read_generated_part("cli.md", "commands") == build_command_reference().strip()


def test_exit_code_table_is_current() -> None:
    assert read_generated_part("cli.md", "exit codes") == build_exit_code_table().strip()


def test_route_reference_is_current() -> None:
    assert read_generated_part("rest.md", "routes") == render_routes(document()).strip()
