"""Where a key ring's tables stand: what it needs of a file, or of a database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from contextlib import AbstractContextManager

Row = tuple[Any, ...]

RECOVERY_HINT = (
    "bring the key back (`memolith key restore FILE` takes a backup of it),"
    " or start afresh with `memolith reset`"
)
"""What to do where a ring does not open."""


class KeyRingTransaction(Protocol):
    """A transaction on a ring's tables, in statements that SQLite and PostgreSQL understand.

    The tables are `ring` (name, value), `stores` (store, wrapped) and `owners` (store, owner,
    version, wrapped; null once the owner was erased). Values have their places as `?`.
    """

    def rows(self, statement: str, values: Sequence[Any] = ()) -> list[Row]:
        """Run a statement and return all it gives."""
        ...

    def row(self, statement: str, values: Sequence[Any] = ()) -> Row | None:
        """Run a statement and return the first row it gives."""
        ...

    def run(self, statement: str, values: Sequence[Any] = ()) -> int:
        """Run a statement and return how many rows it changed."""
        ...

    def run_many(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run a statement for each row."""
        ...


class KeyRingStorage(Protocol):
    """Where a ring is; its `str` is how messages call it. Safe between threads and processes.

    What each of the methods raises besides: StoreUnavailable where it can't be reached or stays
    locked, StoreReadOnly where nothing may be written, KeyUnavailable where it is no ring.
    """

    def exists(self) -> bool:
        """Tell whether there is a ring."""
        ...

    def create(self) -> None:
        """Make an empty ring, which only its owner may read, where there is none."""
        ...

    def read(self) -> AbstractContextManager[KeyRingTransaction]:
        """Lend a transaction that sees one state, of a ring that is there."""
        ...

    def write(self) -> AbstractContextManager[KeyRingTransaction]:
        """Lend a transaction in which nobody else writes, of a ring that is there.

        At the end of the block it is on the disk, all of it; or, after an error, none of it.
        """
        ...

    def compact(self) -> None:
        """See to it that what was removed is not to be found there any more."""
        ...

    def close(self) -> None:
        """Let go of what is held open; the next use opens it again."""
        ...
