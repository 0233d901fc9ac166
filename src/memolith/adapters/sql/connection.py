"""Connection protocols for SQL statements that SQLite and PostgreSQL share.

Statements are written once, in SQLite's dialect; the PostgreSQL connection translates them. Besides
standard SQL they may use:

- `?`, or `?1`, `?2` …: parameters, by order or by number;
- `carray(?) AS w`: a table of the values of `Connection.bind_values` or `bind_integers`: values in
  `w.value`, positions from 1 in `w.rowid`. `IN (SELECT value FROM carray(?))` tests for membership;
- `CROSS JOIN … ON` for a join in this order, and `INDEXED BY` for an index that must be used;
- `max` and `min` of several values that are not null.

Statements that can't be translated are written separately in the PostgreSQL adapter.
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
"""As a statement's limit: all rows."""


class ConstraintViolation(Exception):
    """A statement would violate a unique constraint; the caller knows which."""


class Connection(Protocol):
    """A connection within a transaction of one owner. For one thread at a time."""

    def rows(self, statement: str, values: Sequence[Any] = ()) -> list[Row]:
        """Execute a statement and return all rows."""
        ...

    def row(self, statement: str, values: Sequence[Any] = ()) -> Row | None:
        """Execute a statement and return the first row, or None."""
        ...

    def run(self, statement: str, values: Sequence[Any] = ()) -> int:
        """Execute a statement and return the number of changed rows.

        Raises:
            ConstraintViolation: The statement violates a unique constraint.
        """
        ...

    def run_many(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        """Execute a statement for each row; errors as in `run`."""
        ...

    def bind_values(self, values: Sequence[bytes] | Sequence[str]) -> Any:
        """Return values as one parameter for `carray(?)`; there must be at least one."""
        ...

    def bind_integers(self, values: Sequence[int]) -> Any:
        """Return integers as one parameter for `carray(?)`; see `bind_values`."""
        ...

    def bind_vector(self, stored: Any) -> Any:
        """Return an encrypted vector as a column's value; None stays None."""
        ...

    def get_owner(self, owner_id: str, *, lock: bool = False) -> OwnerRow:
        """Return an owner's row; the row of number 0 if there is none.

        Args:
            owner_id: The owner.
            lock: Lock the owner for other writers until the transaction ends.
        """
        ...

    def insert_owner(self, owner_id: str, key_version: int) -> OwnerRow:
        """Insert and lock an owner's row; return it, or the row of a concurrent insert."""
        ...


class Connections(Protocol):
    """Lends connections to threads."""

    def read(self, owner_id: str | None = None) -> AbstractContextManager[Connection]:
        """Lend a connection within a transaction that sees one consistent state.

        Args:
            owner_id: The owner whose rows are visible; None for rows without an owner.
        """
        ...

    def write(self, owner_id: str | None = None) -> AbstractContextManager[Connection]:
        """Lend a connection within a transaction that may write.

        It is rolled back at the end of the block, unless `COMMIT` was executed.
        """
        ...


# --- Owner row


@dataclass(frozen=True, slots=True)
class OwnerRow:
    """The owner's own row, as of a snapshot; number 0 for an owner without any writes.

    The last two columns belong to the store: the embedding generation, and the token of a write
    pause.
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
"""The columns of an `OwnerRow`; the store's values are from the same state as the row."""


# --- Fair semaphore


class FairSemaphore:
    """Semaphore that admits waiting threads in order of arrival.

    A lock gives no such guarantee: a thread that reacquires it immediately can overtake the threads
    it has just woken. Under load, some threads would wait for seconds.
    """

    def __init__(self, permits: int) -> None:
        self._lock = threading.Lock()
        self._available = permits
        self._waiters: deque[threading.Event] = deque()

    def acquire(self, timeout_s: float) -> bool:
        """Wait at most `timeout_s` seconds for a permit; return whether one was acquired."""
        with self._lock:
            if self._available:
                self._available -= 1
                return True
            turn = threading.Event()
            self._waiters.append(turn)
        if turn.wait(max(0.0, timeout_s)):
            return True
        with self._lock:
            if turn.is_set():  # granted after the timeout
                return True
            self._waiters.remove(turn)
        return False

    def release(self) -> None:
        """Return a permit; the thread that has waited longest gets it."""
        with self._lock:
            if self._waiters:
                self._waiters.popleft().set()
            else:
                self._available += 1
