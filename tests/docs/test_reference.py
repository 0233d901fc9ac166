"""The reference pages say what the program has: no more, no less."""

from pathlib import Path

from memolith.cli.reference import build_command_reference, build_exit_code_table
from memolith.config.reference import render_markdown
from memolith.server.reference import render_routes
from support.openapi import document

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"


def generated(page: str, part: str) -> str:
    """Return what stands on a page between the marks of a part."""
    text = (REFERENCE / page).read_text(encoding="utf-8")
    inside = text.split(f"<!-- {part}: begin", 1)[1].split(f"<!-- {part}: end", 1)[0]
    return inside.split("\n", 1)[1].strip()


def test_the_table_of_settings_is_the_programs_own() -> None:
    assert generated("configuration.md", "settings") == render_markdown().strip()


def test_the_commands_are_the_programs_own() -> None:
    assert generated("cli.md", "commands") == build_command_reference().strip()


def test_the_exit_codes_are_the_programs_own() -> None:
    assert generated("cli.md", "exit codes") == build_exit_code_table().strip()


def test_the_routes_are_the_programs_own() -> None:
    assert generated("rest.md", "routes") == render_routes(document()).strip()
