"""How a command gets an engine: by the settings, or, in tests, as the test wants it."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import click

from memolith import stores
from memolith.api.owner import OwnerMemory
from memolith.cli.options import COMMON_KEY, common_options
from memolith.cli.output import escape_controls, print_json, show_warnings
from memolith.config import LoadedSettings, load
from memolith.config.settings import Chat
from memolith.errors import InvalidConfiguration, InvalidInput
from memolith.ports.clock import Clock
from memolith.ports.models import Embedder, TokenCounter

if TYPE_CHECKING:
    from memolith.api.engine import Memolith


class EngineFactory(Protocol):
    """Makes what commands work with."""

    def engine(
        self,
        loaded: LoadedSettings,
        *,
        store: Path | None = None,
        embedder: Embedder | None = None,
        clock: Clock | None = None,
        worker: bool | None = None,
    ) -> Memolith:
        """Open the engine, with these instead of what is configured where they are given."""
        ...

    def embedder(self, loaded: LoadedSettings) -> Embedder:
        """Return the embedder."""
        ...

    def counter(self, loaded: LoadedSettings) -> TokenCounter:
        """Return the counter of tokens."""
        ...


def get_temporary_settings(loaded: LoadedSettings) -> LoadedSettings:
    """Return the settings for a store that is deleted at the end.

    Its keys would outlive it, and what a language model has made of it would be paid for nothing.
    """
    plain = replace(loaded.settings, enable_encryption=False, chat=Chat())
    return replace(loaded, settings=plain)


class DefaultEngineFactory:
    """Makes everything as the settings say."""

    def engine(
        self,
        loaded: LoadedSettings,
        *,
        store: Path | None = None,
        embedder: Embedder | None = None,
        clock: Clock | None = None,
        worker: bool | None = None,
    ) -> Memolith:
        """Open the engine."""
        from memolith.api.engine import Memolith

        return Memolith.open(store, embedder=embedder, clock=clock, config=loaded, worker=worker)

    def embedder(self, loaded: LoadedSettings) -> Embedder:
        """Return the embedder."""
        from memolith.bootstrap import open_embedder

        return open_embedder(loaded.settings)

    def counter(self, loaded: LoadedSettings) -> TokenCounter:
        """Return the counter of tokens."""
        from memolith.bootstrap import open_counter

        return open_counter(loaded.settings)


# --- What a command works with: the settings, the owner, the way in and the way out


@dataclass(frozen=True, slots=True)
class CommandCall:
    """One call of a command.

    Attributes:
        given: The common options that were given, by name.
        wiring: Makes engines.
    """

    options: Mapping[str, Any]
    engine_factory: EngineFactory

    @property
    def as_json(self) -> bool:
        """Whether a program reads the answer."""
        return bool(self.options.get("as_json"))

    @property
    def owner(self) -> str:
        """Whose memory it is about."""
        return str(self.options["owner"]) if "owner" in self.options else get_login_name()

    def load_settings(self) -> LoadedSettings:
        """Read the settings; the common options are stronger than what is configured."""
        if self.options.get("store") == "":  # most likely a variable of the shell that is not set
            raise InvalidConfiguration("store", "is empty: give a file's path", "--store")
        options = {"store": self.options.get("store"), "profile": self.options.get("profile")}
        return load(self.options.get("config"), os.environ, options)

    def respond(self, sentence: str, value: object) -> None:
        """Answer in a sentence for people, with the value for programs."""
        if self.as_json:
            print_json(value)
        else:
            click.echo(escape_controls(sentence))

    def load_existing_settings(self) -> LoadedSettings:
        """Read the settings, of a store that is there: what only looks at one makes none.

        Raises:
            InvalidInput: There is no such file.
        """
        loaded = self.load_settings()
        named = loaded.settings.store
        if not stores.store_exists(named):
            raise InvalidInput("store", f"{named} is not there; `memolith remember` makes a store")
        return loaded

    @contextmanager
    def open_memory(self, *, create: bool = False) -> Iterator[OwnerMemory]:
        """Open the owner's memory, and close it when done; nothing goes on in the background.

        Args:
            makes: Whether a store that is named and not there is made.
        """
        is_named = self.options.get("store") is not None and not create
        loaded = self.load_existing_settings() if is_named else self.load_settings()
        with self.engine_factory.engine(loaded, worker=False) as engine:
            yield engine.owner(self.owner)


def get_login_name() -> str:
    """Return the name under which the user is logged in.

    Raises:
        InvalidInput: It can't be found out.
    """
    import getpass

    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError) as error:
        raise InvalidInput("owner", "your login name is unknown; give --owner") from error


def command(name: str, *, example: str) -> Callable[[Callable[..., None]], click.Command]:
    """Make a command of a function that takes a `Call` first; its docstring is the help.

    Args:
        name: What it is called by.
        example: Lines that show how it is used.
    """

    def decorate(function: Callable[..., None]) -> click.Command:
        @click.pass_context
        def run(ctx: click.Context, /, **given: Any) -> None:
            show_warnings()
            function(
                CommandCall(ctx.meta.get(COMMON_KEY, {}), ctx.obj or DefaultEngineFactory()),
                **given,
            )

        # Click lists options in the reverse of this order: its own before the common ones.
        made = common_options(run)
        made.__dict__["__click_params__"] += function.__dict__.get("__click_params__", [])
        lines = "\n".join(f"  {line}" for line in example.strip().splitlines())
        epilog = f"\b\nExamples:\n{lines}"
        return click.command(name, help=inspect.getdoc(function), epilog=epilog)(made)

    return decorate


# --- What `memolith decay`, `cleanup`, `expire` and `retain` share: for whom


def all_owners_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the option `--all`."""
    told = "For all owners, not only --owner."
    return click.option("--all", "everybody", is_flag=True, help=told)(function)


def select_owner(call: CommandCall, *, everybody: bool) -> str | None:
    """Return the owner meant; None: all.

    Raises:
        UsageError: Both are given.
    """
    if everybody and "owner" in call.options:
        raise click.UsageError("Give either --owner or --all.")
    return None if everybody else call.owner
