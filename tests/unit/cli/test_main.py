"""The program as a whole: help, version, names, common options."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import click
import pytest

from memolith.cli.commands import COMMANDS
from memolith.cli.main import cli
from support.rows import check_each

HEAVY = ("numpy", "rich", "apsw", "onnxruntime", "msgspec", "platformdirs", "tokenizers")


def get_command(name: str) -> click.Command:
    with click.Context(cli) as context:
        command = cli.get_command(context, name)
    assert command is not None
    return command


def test_help_lists_every_command_with_its_description(memolith: Any) -> None:
    out = memolith.ok("--help").out
    for name, entry in COMMANDS.items():
        assert f"  {name} " in out
        assert entry.help in out


def test_package_runs_as_a_python_module() -> None:
    module = [sys.executable, "-m", "memolith"]
    done = subprocess.run([*module, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"memolith {version('memolith')}\n"
    refused = subprocess.run([*module, "recal"], capture_output=True, text=True, check=False)
    assert (refused.returncode, refused.stderr[:6]) == (2, "Usage:")


def test_help_imports_no_heavy_package() -> None:
    program = (
        "import sys\n"
        "from memolith.cli.main import main\n"
        "try: main()\n"
        f"finally: print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "--help"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("Usage: memolith")
    assert done.stderr == "[]\n"


@check_each("name", COMMANDS)
def test_every_command_help_has_an_example_and_the_common_options(memolith: Any, name: str) -> None:
    out = memolith.ok(name, "--help").out
    assert f"\n    memolith {name}" in out
    for option in ("--store, --db", "--owner", "--profile", "--config", "--json"):
        assert option in out


@check_each("name", COMMANDS)
def test_command_table_agrees_with_the_commands(name: str) -> None:
    assert get_command(name).name == name
    assert COMMANDS[name].help[0].isupper()
    assert COMMANDS[name].help.endswith(".")


@check_each("name", COMMANDS)
def test_every_example_in_the_help_parses(name: str) -> None:
    import shlex

    command = get_command(name)
    for line in (command.epilog or "").splitlines():
        if "memolith " not in line:
            continue
        words = shlex.split(line.split(" > ")[0].split(" && ")[0])
        args = words[words.index("memolith") + 2 :]
        command.make_context(name, args)


def test_version_option_prints_the_package_version(memolith: Any) -> None:
    assert memolith.ok("--version").out == f"memolith {version('memolith')}\n"


def test_misspelt_command_suggests_the_nearest(memolith: Any) -> None:
    answer = memolith("recal", "x")
    assert answer.code == 2
    assert "Did you mean recall?" in answer.err


def test_unknown_command_is_a_usage_error(memolith: Any) -> None:
    answer = memolith("\x1b[2J")
    assert answer.code == 2
    assert "No such command" in answer.err
    assert "\x1b" not in answer.err


def test_call_without_command_shows_the_help(memolith: Any) -> None:
    answer = memolith()
    assert answer.code == 2
    assert "Commands:" in answer.out + answer.err


def test_common_options_work_before_and_after_the_command(memolith: Any) -> None:
    before = memolith.ok("--json", "--store", "a.db", "config", "show").out
    after = memolith.ok("config", "show", "--json", "--store", "a.db").out
    assert before == after
    values = {row["name"]: row["value"] for row in json.loads(after)}
    assert values["store"] == "a.db"


def test_option_after_the_command_overrides_one_before(memolith: Any) -> None:
    rows = memolith.json("--store", "a.db", "config", "show", "--store", "b.db")
    assert {"b.db"} == {row["value"] for row in rows if row["name"] == "store"}


def test_missing_argument_is_a_usage_error(memolith: Any) -> None:
    assert memolith("recall").code == 2


def test_entry_point_is_a_command_group() -> None:
    assert isinstance(cli, click.Group)


@pytest.mark.parametrize(
    "command",
    [
        ("list",),
        ("recall", "tea"),
        ("context", "tea"),
        ("stats",),
        ("export",),
        ("verify",),
        ("backup", "copy.db"),
        ("audit",),
        ("forget", "--key", "tea"),
    ],
    ids=lambda command: command[0],
)
def test_read_command_does_not_create_a_missing_store(
    memolith: Any, tmp_path: Path, command: tuple[str, ...]
) -> None:
    answer = memolith(*command, "--store", "folder/typo.db")
    assert (answer.code, "folder/typo.db does not exist" in answer.err) == (2, True)
    assert not (tmp_path / "folder").exists()


def test_remember_creates_a_missing_store(memolith: Any) -> None:
    memolith.ok("remember", "The tea is green", "--store", "new.db")
    assert "The tea is green" in memolith.ok("list", "--store", "new.db").out
