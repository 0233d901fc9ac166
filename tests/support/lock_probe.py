"""Checks from outside whether a store is locked, and an embedder that runs the check."""

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
"""Grace period in seconds, since other threads may hold a lock for a moment on a slow machine."""


class WitnessEmbedder:
    """Delegates to an embedder, and checks before every call that a store is not locked.

    The check uses its own connection, like another process: see `check_nothing_is_held`.

    Attributes:
        calls: Number of calls.
    """

    def __init__(self, embedder: Embedder, check: Callable[[], object]) -> None:
        """Wrap an embedder; `check` runs before each call and raises if a lock is held."""
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
        """Return the wrapped embedder's vectors.

        Raises:
            AssertionError: A snapshot or a transaction of the store is open.
        """
        self.calls += 1
        self._check()
        return self._embedder.embed(texts, role=role)


def check_nothing_is_held(store: Path) -> None:
    """Check that another process could write to a SQLite store and truncate its log.

    SQLite does not truncate the write-ahead log while a reader is active.

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
    connection.run(f"PRAGMA user_version = {version}")  # a write without a change
    connection.run("COMMIT")
