"""Seeing from outside whether anything of a store is held open, and an embedder that looks."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from memolith.adapters.sqlite.connections import Connection
from memolith.errors import StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from memolith.ports.models import Embedder, TextRole

_BUSY_S = 5.0
"""Other threads may read or write for a moment, a slow machine longer; what is held while it looks
never ends."""


class WitnessEmbedder:
    """Embeds as another does, and looks at a store from outside at every call.

    By a connection of its own, as another process would: see `check_nothing_is_held`.

    Attributes:
        calls: How often it was asked for vectors.
    """

    def __init__(self, embedder: Embedder, check: Callable[[], object]) -> None:
        """Embed by this embedder, and call this check before, which fails if something is held."""
        self._embedder = embedder
        self._check = check
        self.calls = 0

    @property
    def name(self) -> str:
        """The model's name."""
        return self._embedder.name

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        return self._embedder.dimension

    def embed(self, texts: Sequence[str], *, role: TextRole) -> NDArray[np.float32]:
        """Return the other's vectors.

        Raises:
            AssertionError: A snapshot or a transaction of the store is open.
        """
        self.calls += 1
        self._check()
        return self._embedder.embed(texts, role=role)


def check_nothing_is_held(store: Path) -> None:
    """Check that a SQLite store could be written, and its log emptied, by another process.

    SQLite lets nobody empty the write-ahead log while anybody reads.

    Raises:
        AssertionError: A snapshot or a transaction is open.
    """
    with closing(Connection(store, _BUSY_S)) as connection:
        _write(connection)
        (busy, *_) = connection.row("PRAGMA wal_checkpoint(TRUNCATE)") or (0,)
    if busy:
        raise AssertionError("a snapshot of the store is open")


def _write(connection: Connection) -> None:
    try:
        connection.begin_writing(_BUSY_S)
    except StoreUnavailable as error:
        raise AssertionError("a transaction is open") from error
    (version,) = connection.row("PRAGMA user_version") or (0,)
    connection.run(f"PRAGMA user_version = {version}")  # changes nothing, but is written
    connection.run("COMMIT")
