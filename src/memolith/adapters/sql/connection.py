"""What the statements shared by SQLite and PostgreSQL are run by.

They are written once, in what SQLite understands; PostgreSQL's connection says the same in its
own words. Besides standard SQL they may use:

- `?` or `?1`, `?2` …: the values, in order or by number;
- `carray(?) AS w`: a table of the values of `Connection.many` or `many_numbers`, in `w.value`,
  with their places from 1 on in `w.rowid`, and `IN (SELECT value FROM carray(?))`: one of them;
- `CROSS JOIN … ON` for a join in this order, and `INDEXED BY` for an index that must be used;
- `max` and `min` of several values that are not null.

What can't be said in words that both know is a statement of its own in PostgreSQL's adapter.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

Row = tuple[Any, ...]

NO_LIMIT = 2**63 - 1
"""As a statement's limit: all of them."""


class ConstraintViolation(Exception):
    """A statement would break a uniqueness; the caller knows of what."""


class Connection(Protocol):
    """One connection, within a transaction of one owner. A thread at a time."""

    def rows(self, statement: str, values: Sequence[Any] = ()) -> list[Row]:
        """Run a statement and return all it gives."""
        ...

    def row(self, statement: str, values: Sequence[Any] = ()) -> Row | None:
        """Run a statement and return the first row it gives."""
        ...

    def run(self, statement: str, values: Sequence[Any] = ()) -> int:
        """Run a statement and return how many rows it changed.

        Raises:
            ConstraintBroken: It breaks a uniqueness.
        """
        ...

    def run_many(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run a statement for each row; errors as in `run`."""
        ...

    def bind_values(self, values: Sequence[bytes] | Sequence[str]) -> Any:
        """Return values as one, for a statement's `carray(?)`; there must be one at least."""
        ...

    def bind_integers(self, values: Sequence[int]) -> Any:
        """Return integers as one value, as `many` does."""
        ...

    def bind_vector(self, stored: Any) -> Any:
        """Return a vector, which a cipher has hidden, as the value of a column; None stays so."""
        ...

    def get_owner(self, owner_id: str, *, lock: bool = False) -> OwnerRow:
        """Return an owner's row; that of number 0 where there is none.

        Args:
            owner_id: Whose.
            lock: Keep all others from changing the owner until the transaction's end.
        """
        ...

    def insert_owner(self, owner_id: str, key_version: int) -> OwnerRow:
        """Store an owner's row, locked, and return it; or that of who was faster."""
        ...


class Connections(Protocol):
    """Gives connections to threads."""

    def read(self, owner_id: str | None = None) -> AbstractContextManager[Connection]:
        """Lend a connection within a transaction that sees one state.

        Args:
            owner_id: Whose rows are to be seen; None: what is not of one owner.
        """
        ...

    def write(self, owner_id: str | None = None) -> AbstractContextManager[Connection]:
        """Lend a connection within a transaction that may write.

        It is undone at the end of the block, unless `COMMIT` was run in it.
        """
        ...


# --- An owner's own row


@dataclass(frozen=True, slots=True)
class OwnerRow:
    """What a snapshot sees of the owner itself; number 0 for one never written to.

    Its last two columns are the store's: which vectors are in use, and who asks writers to wait.
    """

    number: int = 0
    counter: int = 0
    revision: int = 0
    generation: int = 0
    next_item: int = 1
    next_session: int = 1
    next_speaker: int = 1
    next_event: int = 1
    profile: str | None = None
    key_version: int = 0
    embedding_generation: int = 0
    write_pause: str | None = None


OWNER_COLUMNS = (
    "owner_id, counter, revision, generation, next_item, next_session, next_speaker, next_event,"
    " profile, key_version,"
    " coalesce(CAST((SELECT value FROM meta WHERE name = 'space') AS BIGINT), 0),"
    " (SELECT value FROM meta WHERE name = 'hold')"
)
"""The columns of an `OwnerRow`; what it says of the store is of the same state as the row."""


# --- Taking turns: what only so many threads may have at once, in the order in which they came


class FairSemaphore:
    """Lets so many threads in at once. Unlike a lock's, its order is that of arrival.

    Who takes a lock again and again gets it before those whom it has just woken; under load some
    would wait for seconds, and others not at all.
    """

    def __init__(self, permits: int) -> None:
        """Take how many may be in at once."""
        self._lock = threading.Lock()
        self._free = permits
        self._waiters: deque[threading.Event] = deque()

    def acquire(self, timeout_s: float) -> bool:
        """Wait for one's turn, at most so long; return whether it came."""
        with self._lock:
            if self._free:
                self._free -= 1
                return True
            turn = threading.Event()
            self._waiters.append(turn)
        if turn.wait(max(0.0, timeout_s)):
            return True
        with self._lock:
            if turn.is_set():  # just now
                return True
            self._waiters.remove(turn)
        return False

    def release(self) -> None:
        """End one's turn: it is that of who waits longest."""
        with self._lock:
            if self._waiters:
                self._waiters.popleft().set()
            else:
                self._free += 1
