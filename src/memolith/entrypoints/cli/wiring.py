"""How a command gets an engine: by the settings, or, in tests, as the test wants it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pathlib import Path

    from memolith.config import LoadedSettings
    from memolith.engine import Memolith
    from memolith.ports.clock import Clock
    from memolith.ports.embedder import Embedder
    from memolith.ports.tokens import TokenCounter


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
    from memolith.config.settings import Chat

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
        from memolith.engine import Memolith

        return Memolith.open(store, embedder=embedder, clock=clock, config=loaded, worker=worker)

    def embedder(self, loaded: LoadedSettings) -> Embedder:
        """Return the embedder."""
        from memolith.bootstrap import open_embedder

        return open_embedder(loaded.settings)

    def counter(self, loaded: LoadedSettings) -> TokenCounter:
        """Return the counter of tokens."""
        from memolith.bootstrap import open_counter

        return open_counter(loaded.settings)
