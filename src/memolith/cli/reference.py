"""Generate the tables of commands and exit codes for docs/reference/cli.md."""

from __future__ import annotations

import sys
from collections.abc import Iterable

import click

from memolith import error_codes
from memolith.cli.commands import COMMANDS
from memolith.cli.main import cli
from memolith.cli.options import common_options


def build_command_reference() -> str:
    """Return a Markdown section for each command: description, options and examples."""
    context = click.Context(cli, info_name="memolith")
    return "\n".join(_build_section(context, name) for name in COMMANDS)


def build_exit_code_table() -> str:
    """Return the exit codes as a Markdown table."""
    rows = [
        (0, "success"),
        (error_codes.EXIT_FAILED, "an error without a code of its own, or an unexpected error"),
        *(
            (code, _describe_error(kind))
            for kind, code in error_codes.EXIT_CODES.items()
            if code != error_codes.EXIT_FAILED
        ),
        (error_codes.EXIT_FILE_ERROR, "a file cannot be read or written"),
        (
            error_codes.EXIT_FINDINGS,
            "a check failed: `verify` found damage, `migrate` a difference, `audit` junk",
        ),
        (error_codes.EXIT_INTERRUPTED, "interrupted with Ctrl-C"),
        (error_codes.EXIT_PIPE_CLOSED, "the reader closed the output pipe"),
    ]
    lines = "".join(f"| {code} | {meaning} |\n" for code, meaning in rows)
    return f"| code | meaning |\n|---|---|\n{lines}"


def _describe_error(kind: type[Exception]) -> str:
    summary = (kind.__doc__ or "").strip().splitlines()[0]
    return f"`{kind.__name__}`: {summary}"


def _build_section(parent: click.Context, name: str) -> str:
    command = cli.get_command(parent, name)
    assert command is not None  # noqa: S101 - the name comes from the table
    context = click.Context(command, info_name=name, parent=parent)
    params = [each for each in command.params if each.name not in _get_common_option_names()]
    options = "".join(
        f"- {_format_option(each, context)}\n" for each in params if isinstance(each, click.Option)
    )
    text = "\n\n".join(_iter_paragraphs(command.help or ""))
    usage = " ".join(command.collect_usage_pieces(context))
    parts = (
        f"### `memolith {name}`\n",
        f"```\nmemolith {name} {usage}\n```\n",
        f"{text}\n",
        options,
        f"```sh\n{_extract_examples(command)}\n```\n",
    )
    return "\n".join(part for part in parts if part)


def _get_common_option_names() -> set[str | None]:
    @click.command()
    @common_options
    def none() -> None:
        """Carry the common options."""

    return {each.name for each in none.params}


def _format_option(option: click.Option, context: click.Context) -> str:
    names, text = option.get_help_record(context) or ("", "")
    return f"`{names}`: {text}"


def _iter_paragraphs(text: str) -> Iterable[str]:
    return (" ".join(paragraph.split()) for paragraph in text.split("\n\n"))


def _extract_examples(command: click.Command) -> str:
    lines = (command.epilog or "").splitlines()[2:]
    return "\n".join(line.strip() for line in lines)


if __name__ == "__main__":
    sys.stdout.write(
        {"commands": build_command_reference, "exit-codes": build_exit_code_table}[sys.argv[1]]()
    )
