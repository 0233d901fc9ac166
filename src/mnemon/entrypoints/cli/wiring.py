"""How a command gets an engine: by the settings, or, in tests, as the test wants it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pathlib import Path

    from mnemon.config import Loaded
    from mnemon.engine import Mnemon
    from mnemon.ports.clock import Clock
    from mnemon.ports.embedder import Embedder
    from mnemon.ports.tokens import TokenCounter


class Wiring(Protocol):
    """Makes what commands work with."""

    def engine(
        self,
        loaded: Loaded,
        *,
        store: Path | None = None,
        embedder: Embedder | None = None,
        clock: Clock | None = None,
        worker: bool | None = None,
    ) -> Mnemon:
        """Open the engine, with these instead of what is configured where they are given."""
        ...

    def embedder(self, loaded: Loaded) -> Embedder:
        """Return the embedder."""
        ...

    def counter(self, loaded: Loaded) -> TokenCounter:
        """Return the counter of tokens."""
        ...


def passing(loaded: Loaded) -> Loaded:
    """Return the settings for a store that is deleted at the end.

    Its keys would outlive it, and what a language model has made of it would be paid for nothing.
    """
    from mnemon.config.settings import Chat

    plain = replace(loaded.settings, enable_encryption=False, chat=Chat())
    return replace(loaded, settings=plain)


class Configured:
    """Makes everything as the settings say."""

    def engine(
        self,
        loaded: Loaded,
        *,
        store: Path | None = None,
        embedder: Embedder | None = None,
        clock: Clock | None = None,
        worker: bool | None = None,
    ) -> Mnemon:
        """Open the engine."""
        from mnemon.engine import Mnemon

        return Mnemon.open(store, embedder=embedder, clock=clock, config=loaded, worker=worker)

    def embedder(self, loaded: Loaded) -> Embedder:
        """Return the embedder."""
        from mnemon.bootstrap import open_embedder

        return open_embedder(loaded.settings)

    def counter(self, loaded: Loaded) -> TokenCounter:
        """Return the counter of tokens."""
        from mnemon.bootstrap import open_counter

        return open_counter(loaded.settings)
