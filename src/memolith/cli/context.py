"""The context of a command: options, settings, owner and engine."""

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
    """Creates the engine, the embedder and the token counter. Tests replace it."""

    def engine(
        self,
        loaded: LoadedSettings,
        *,
        store: Path | None = None,
        embedder: Embedder | None = None,
        clock: Clock | None = None,
        worker: bool | None = None,
    ) -> Memolith:
        """Open the engine. Arguments override the settings."""
        ...

    def embedder(self, loaded: LoadedSettings) -> Embedder:
        """Return the configured embedder."""
        ...

    def counter(self, loaded: LoadedSettings) -> TokenCounter:
        """Return the configured token counter."""
        ...


def get_temporary_settings(loaded: LoadedSettings) -> LoadedSettings:
    """Return the settings for a temporary store: without encryption and language model.

    Keys would outlive the store, and learned memories would be discarded with it.
    """
    plain = replace(loaded.settings, enable_encryption=False, chat=Chat())
    return replace(loaded, settings=plain)


class DefaultEngineFactory:
    """Creates everything according to the settings."""

    def engine(
        self,
        loaded: LoadedSettings,
        *,
        store: Path | None = None,
        embedder: Embedder | None = None,
        clock: Clock | None = None,
        worker: bool | None = None,
    ) -> Memolith:
        """Open the engine. Arguments override the settings."""
        from memolith.api.engine import Memolith

        return Memolith.open(store, embedder=embedder, clock=clock, config=loaded, worker=worker)

    def embedder(self, loaded: LoadedSettings) -> Embedder:
        """Return the configured embedder."""
        from memolith.bootstrap import open_embedder

        return open_embedder(loaded.settings)

    def counter(self, loaded: LoadedSettings) -> TokenCounter:
        """Return the configured token counter."""
        from memolith.bootstrap import open_counter

        return open_counter(loaded.settings)


# --- Calls of commands


@dataclass(frozen=True, slots=True)
class CommandCall:
    """One call of a command.

    Attributes:
        options: The common options that were given, by name.
        engine_factory: Creates engines.
    """

    options: Mapping[str, Any]
    engine_factory: EngineFactory

    @property
    def as_json(self) -> bool:
        """Whether to answer in JSON."""
        return bool(self.options.get("as_json"))

    @property
    def owner(self) -> str:
        """The owner id: the option `--owner`, else the login name."""
        return str(self.options["owner"]) if "owner" in self.options else get_login_name()

    def load_settings(self) -> LoadedSettings:
        """Load the settings. Common options override the configuration."""
        if self.options.get("store") == "":  # usually an unset shell variable
            raise InvalidConfiguration("store", "is empty: give a file path or a URL", "--store")
        options = {"store": self.options.get("store"), "profile": self.options.get("profile")}
        return load(self.options.get("config"), os.environ, options)

    def respond(self, sentence: str, value: object) -> None:
        """Print a sentence, or the value with `--json`."""
        if self.as_json:
            print_json(value)
        else:
            click.echo(escape_controls(sentence))

    def load_existing_settings(self) -> LoadedSettings:
        """Load the settings of an existing store. Commands that only read do not create one.

        Raises:
            InvalidInput: The store does not exist.
        """
        loaded = self.load_settings()
        store = loaded.settings.store
        if not stores.store_exists(store):
            raise InvalidInput(
                "store", f"{store} does not exist; `memolith remember` creates a store"
            )
        return loaded

    @contextmanager
    def open_memory(self, *, create: bool = False) -> Iterator[OwnerMemory]:
        """Open the owner's memory without a background worker, and close it after the block.

        Args:
            create: Whether to create a store that was named by an option and does not exist.
        """
        is_named = self.options.get("store") is not None and not create
        loaded = self.load_existing_settings() if is_named else self.load_settings()
        with self.engine_factory.engine(loaded, worker=False) as engine:
            yield engine.owner(self.owner)


def get_login_name() -> str:
    """Return the login name of the user.

    Raises:
        InvalidInput: The system has no name for the user.
    """
    import getpass

    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError) as error:
        raise InvalidInput("owner", "the login name is unknown: give --owner") from error


def command(name: str, *, example: str) -> Callable[[Callable[..., None]], click.Command]:
    """Return a decorator that turns a function into a command; its docstring is the help.

    The function's first parameter is a `CommandCall`.

    Args:
        name: The name of the command.
        example: Command lines that show its use.
    """

    def decorate(function: Callable[..., None]) -> click.Command:
        @click.pass_context
        def run(ctx: click.Context, /, **arguments: Any) -> None:
            show_warnings()
            function(
                CommandCall(ctx.meta.get(COMMON_KEY, {}), ctx.obj or DefaultEngineFactory()),
                **arguments,
            )

        # Click lists options in reverse order: the command's own come before the common ones.
        decorated = common_options(run)
        decorated.__dict__["__click_params__"] += function.__dict__.get("__click_params__", [])
        lines = "\n".join(f"  {line}" for line in example.strip().splitlines())
        epilog = f"\b\nExamples:\n{lines}"
        return click.command(name, help=inspect.getdoc(function), epilog=epilog)(decorated)

    return decorate


# --- The option `--all` of maintenance commands


def all_owners_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the option `--all`."""
    text = "Apply to all owners."
    return click.option("--all", "all_owners", is_flag=True, help=text)(function)


def select_owner(call: CommandCall, *, all_owners: bool) -> str | None:
    """Return the selected owner id. None: all owners.

    Raises:
        UsageError: Both `--owner` and `--all` are given.
    """
    if all_owners and "owner" in call.options:
        raise click.UsageError("Give either --owner or --all.")
    return None if all_owners else call.owner
