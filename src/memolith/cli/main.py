"""The program `memolith`: parses arguments and maps errors to exit codes.

Commands are imported only when they run, so `memolith --help` stays fast.
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
"""Environment variable: if it is set, unexpected errors show a traceback."""

EPILOG = "Show the options and examples of a command: memolith COMMAND --help"


class LazyGroup(click.Group):
    """A command group that imports commands when they run and maps errors to exit codes."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands, in the order of the help."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a command. None if there is none of that name."""
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
        """Return the command. For an unknown name, suggest the most similar one."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            ctx.fail(_describe_unknown_command(args[0]))
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command. Click itself would exit with 1 after a closed pipe."""
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
        windows_expand_args: bool = True,  # noqa: FBT001, FBT002 - click's own signature
        **extra: Any,
    ) -> NoReturn:
        """Run a command and exit with its exit code."""
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


def run_to_exit_code(run: Callable[[], Any]) -> int:  # noqa: PLR0911 - one return for each exit code
    """Run a function and return the exit code. Errors are printed to stderr in one line."""
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
    except Exception as error:  # noqa: BLE001 - users see no traceback
        return _print_error(_describe_unexpected(error), error_codes.EXIT_FAILED)
    return result if isinstance(result, int) else 0


def _describe_unexpected(error: Exception) -> str:
    """Return the error's class, without its message, which may quote stored text."""
    if os.environ.get(DEBUG_VARIABLE):
        raise error
    return f"unexpected error: {type(error).__name__}; set {DEBUG_VARIABLE}=1 to see the traceback"


def _print_error(sentence: str, code: int) -> int:
    click.echo(f"memolith: {escape_controls(sentence)}", err=True)
    return code


def _handle_closed_pipe() -> int:
    """Return the exit code for a closed output pipe, as in `memolith list | head`."""
    # The interpreter flushes stdout again when it exits, which must not fail a second time.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return error_codes.EXIT_PIPE_CLOSED


def _describe_unknown_command(name: str) -> str:
    from difflib import get_close_matches

    matches = get_close_matches(name, COMMANDS, n=1)
    hint = f" Did you mean {matches[0]}?" if matches else ""
    return f"No such command: {escape_controls(name)!r}.{hint}"


def _print_version(ctx: click.Context, _parameter: click.Parameter, wanted: bool) -> None:  # noqa: FBT001 - click's signature
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
    """Long-term memory for AI assistants and agents.

    Memolith stores conversations and facts in one encrypted file or in PostgreSQL, and retrieves
    what is relevant to a question, with an explained score.
    """


def _replace_closed_streams() -> None:
    """Replace standard streams that the caller closed (`>&-`) by null devices."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            null_device = Path(os.devnull).open(mode, encoding="utf-8")  # noqa: SIM115 - open until the process exits
            setattr(sys, name, null_device)


def main() -> NoReturn:
    """Run the command line interface."""
    _replace_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        # Escape characters that the terminal's encoding lacks, instead of failing.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    cli.main(prog_name="memolith")
