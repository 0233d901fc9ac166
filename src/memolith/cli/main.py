"""`memolith`: from arguments to an exit code.

Nothing heavy is imported here: `memolith --help` answers before a command's module is needed.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

import click

from memolith import error_codes
from memolith.cli import commands
from memolith.cli.commands import COMMANDS
from memolith.cli.options import common_options
from memolith.cli.output import escape_controls
from memolith.errors import MemolithError

DEBUG_VARIABLE = "MEMOLITH_DEBUG"
"""The environment variable that lets unexpected errors show where they arose."""

EPILOG = "Every command has examples: memolith COMMAND --help"


class LazyGroup(click.Group):
    """Commands that are imported when they are called, and errors that become exit codes."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands, in the order of the help."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"{commands.__name__}.{COMMANDS[cmd_name].module}")
        command: click.Command = getattr(module, f"{cmd_name.replace('-', '_')}_command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without importing them."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.help) for name, entry in COMMANDS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; a wrong name is told the nearest right one."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            ctx.fail(_describe_unknown_command(args[0]))
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; click itself would give a closed pipe the exit code 1."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            ctx.exit(_handle_closed_pipe())

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,  # noqa: FBT001, FBT002 - click's own signature
        windows_expand_args: bool = True,  # noqa: FBT001, FBT002 - the same
        **extra: Any,
    ) -> NoReturn:
        """Run, and leave with the exit code that says how it went."""
        del standalone_mode

        def run() -> Any:
            return super(LazyGroup, self).main(
                args,
                prog_name,
                complete_var,
                standalone_mode=False,
                windows_expand_args=windows_expand_args,
                **extra,
            )

        sys.exit(run_to_exit_code(run))


def run_to_exit_code(run: Callable[[], Any]) -> int:  # noqa: PLR0911 - one for each way to end
    """Run something and return the exit code; what went wrong is said on stderr in a sentence."""
    try:
        result = run()
        sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except BrokenPipeError:
        return _handle_closed_pipe()
    except (KeyboardInterrupt, click.Abort):
        return _print_error("interrupted", error_codes.EXIT_INTERRUPTED)
    except MemolithError as error:
        return _print_error(str(error), error_codes.get_exit_code(error))
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return _print_error(
            f"{where}{(error.strerror or str(error)).lower()}", error_codes.EXIT_FILE_ERROR
        )
    except Exception as error:  # noqa: BLE001 - no stack trace reaches a user
        return _print_error(_describe_unexpected(error), error_codes.EXIT_FAILED)
    return result if isinstance(result, int) else 0


def _describe_unexpected(error: Exception) -> str:
    """Name an error, but not what it says: that might quote what is stored."""
    if os.environ.get(DEBUG_VARIABLE):
        raise error
    return f"unexpected error: {type(error).__name__}; {DEBUG_VARIABLE}=1 shows where"


def _print_error(sentence: str, code: int) -> int:
    click.echo(f"memolith: {escape_controls(sentence)}", err=True)
    return code


def _handle_closed_pipe() -> int:
    """Leave quietly when nobody reads on, as in `memolith list | head`."""
    # The interpreter flushes stdout once more at its end, which must not fail again.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return error_codes.EXIT_PIPE_CLOSED


def _describe_unknown_command(name: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, COMMANDS, n=1)
    hint = f" Did you mean {near[0]}?" if near else ""
    return f"There is no command {escape_controls(name)!r}.{hint}"


def _print_version(ctx: click.Context, _parameter: click.Parameter, wanted: bool) -> None:  # noqa: FBT001 - as click calls it
    if wanted:
        from importlib.metadata import version

        click.echo(f"memolith {version('memolith')}")
        ctx.exit()


@click.group(
    cls=LazyGroup,
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Print the version and exit.",
)
@common_options
def cli() -> None:
    """Persistent memory for AI assistants and agents.

    Memolith takes in conversations and single facts, keeps them in one file, and finds what is
    relevant to a question.
    """


def _replace_closed_streams() -> None:
    """Put a stream that says nothing in the place of each that the caller closed (`>&-`)."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            nothing = Path(os.devnull).open(mode, encoding="utf-8")  # noqa: SIM115 - until the end
            setattr(sys, name, nothing)


def main() -> NoReturn:
    """Run the command line."""
    _replace_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        # Where the terminal's encoding lacks a character, show its number instead of failing.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    cli.main(prog_name="memolith")
