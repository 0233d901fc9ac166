"""Connections that threads borrow: so many at most, in the order in which they are asked for."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import chain
from time import monotonic, sleep
from typing import Any, cast

import psycopg
from psycopg import errors, sql
from psycopg.abc import RV, PQGen
from psycopg.waiting import Ready, Wait

from memolith.adapters.postgres.dialect import (
    BigintArray,
    VectorFormat,
    VectorParameter,
    register_adapters,
    register_vector_adapters,
    translate,
    translate_multi_row_insert,
)
from memolith.adapters.postgres.schema import APPLICATION, owner_number
from memolith.adapters.sql.connection import (
    OWNER_COLUMNS,
    ConstraintViolation,
    FairSemaphore,
    OwnerRow,
    Row,
)
from memolith.errors import (
    Conflict,
    InvalidInput,
    MemolithError,
    StoreDamaged,
    StoreReadOnly,
    StoreUnavailable,
)

_MAX_IDLE_S = 300.0
"""After how long a connection that nobody used is closed (a guess)."""

_INTERVAL_S = 0.1
"""How often it is looked whether the wait for an answer is over; psycopg's own interval."""

_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.02, 0.5
"""Between attempts to connect: a server that restarts is met soon, and not flooded (a guess)."""


class PoolExhausted(Exception):
    """All connections were lent for as long as one was waited for."""


class PsycopgConnection(psycopg.Connection[Any]):
    """A connection of psycopg that waits for an answer only so long.

    The server gives up a statement by itself; but a server that hangs, or a network that has gone
    silent, says nothing at all.

    Attributes:
        patience_s: For how long nothing may be heard from the server while a statement runs; then
            the connection is closed. None: for ever.
        is_extra: Whether it was lent beyond the number of a pool.
    """

    response_timeout_s: float | None = None
    is_overflow: bool = False

    def wait(self, gen: PQGen[RV], *args: Any, **named: Any) -> RV:
        """See psycopg."""
        if self.response_timeout_s is None:
            return super().wait(gen, *args, **named)
        return super().wait(
            self._enforce_response_timeout(gen, self.response_timeout_s), *args, **named
        )

    def _enforce_response_timeout(
        self, gen: PQGen[RV], response_timeout_s: float
    ) -> Generator[Wait, Ready | int, RV]:
        """Go on with a generator of psycopg's as long as there is news from the server."""
        heard = monotonic()
        try:
            state = next(gen)
            while True:
                ready = yield state
                if ready:
                    heard = monotonic()
                elif monotonic() - heard >= response_timeout_s:
                    self.close()
                    raise psycopg.OperationalError(f"no answer for {response_timeout_s:.3g} s")
                state = gen.send(ready)
        except StopIteration as end:
            result: RV = end.value
            return result


class Pool:
    """Lends connections to threads, those used last first, and makes them where there are none.

    Who finds none free waits; who waits longest is served first.
    """

    def __init__(self, connect: Callable[[], PsycopgConnection], size: int) -> None:
        """Take a way to connect, and how many connections there may be at most."""
        self._connect = connect
        self._size = size
        self._semaphore = FairSemaphore(size)
        self._lock = threading.Lock()
        self._idle: list[tuple[PsycopgConnection, float]] = []
        self.is_closed = False

    def acquire(self, timeout_s: float, *, allow_overflow: bool = False) -> PsycopgConnection:
        """Lend a connection, which must be given back.

        Args:
            timeout_s: For how long to wait for one.
            extra: Lend one beyond the number of all, if need be, to who can't wait: who has one
                already, which somebody else who has one may be waiting for.

        Raises:
            NoneFree: All are in use for so long.
            psycopg.OperationalError: It was tried to connect for so long.
        """
        until = monotonic() + timeout_s
        has_place = self._semaphore.acquire(0 if allow_overflow else timeout_s)
        if not has_place and not allow_overflow:
            raise PoolExhausted
        with ExitStack() as failing:
            if has_place:
                failing.callback(self._semaphore.release)
            raw = self._pop_idle() or self._connect_with_retry(until)
            raw.is_overflow = not has_place
            failing.pop_all()
        return raw

    def release(self, raw: PsycopgConnection) -> None:
        """Take a connection back, to be lent again if it still can be."""
        now = monotonic()
        is_usable = raw.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
        with self._lock:
            is_kept = is_usable and not self.is_closed and len(self._idle) < self._size
            if is_kept:
                self._idle.append((raw, now))
            old = [each for each, since in self._idle if now - since > _MAX_IDLE_S]
            self._idle = [(each, since) for each, since in self._idle if now - since <= _MAX_IDLE_S]
        if not raw.is_overflow:
            self._semaphore.release()
        for each in old if is_kept else [raw, *old]:
            each.close()

    def close_idle(self) -> None:
        """Close what nobody uses: another connection made as long ago was lost."""
        with self._lock:
            idle, self._idle = self._idle, []
        for raw, _ in idle:
            raw.close()

    def close(self) -> None:
        """Close what is not lent at once, and what is when it is given back."""
        with self._lock:
            self.is_closed = True
        self.close_idle()

    def _pop_idle(self) -> PsycopgConnection | None:
        with self._lock:
            return self._idle.pop()[0] if self._idle else None

    def _connect_with_retry(self, until: float) -> PsycopgConnection:
        """Connect; a server that is not there may be starting."""
        pause_s = _FIRST_PAUSE_S
        while True:
            try:
                return self._connect()
            except psycopg.OperationalError:
                if monotonic() + pause_s >= until or self.is_closed:
                    raise
            sleep(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)


# --- Connections to one database, lent from pools, and errors translated


_OWNER = f"SELECT name, {OWNER_COLUMNS} FROM owners WHERE owner_id = $1"
_NEW_OWNER = (
    "INSERT INTO owners (owner_id, name, key_version, generation)"
    # Later than of whoever had the number before: what is derived from their rows is not ours.
    " VALUES ($1, $2, $3, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)"
    " ON CONFLICT DO NOTHING"
)

_COMMIT = "COMMIT"
_ROLLED_BACK = "an error within the transaction has undone all of it"

_DAMAGED = (errors.ProgrammingError, errors.DataCorrupted, errors.IndexCorrupted)
_PROBLEMS: tuple[tuple[tuple[type[psycopg.Error], ...], str], ...] = (
    ((errors.LockNotAvailable,), "is locked by another writer"),
    ((errors.DeadlockDetected,), "has stopped one of two writers that waited for each other"),
    ((errors.QueryCanceled,), "has cancelled a statement that took too long"),
    ((errors.DiskFull,), "has no room left on its disk"),
)

_ROWS_PER_INSERT = 50
"""Rows that one statement stores, where there are so many: each statement has a price (a guess)."""

_IDLE_TRANSACTION_S = 600
"""For how long a transaction may stand idle, as a verification does while it computes (a guess)."""

_MIN_WAIT_S = 1.0
"""For the answer to a transaction's begin, even where the time is over (a guess)."""

KEEPALIVE_IDLE_S, KEEPALIVE_INTERVAL_S, KEEPALIVE_COUNT = 10, 3, 3
"""After how long of silence server and client ask whether the other is still there, how soon again,
and how many times: who vanished holds an owner for 20 s then, and not for hours (a guess)."""

_inherited_pools: list[Pool] = []
"""What a forked child got from its parent: to close it there would end the parent's sessions."""


def translate_error(
    error: psycopg.Error, display_name: str, waited_s: float = 0.0
) -> MemolithError:
    """Return what an error of PostgreSQL means to a caller."""
    if isinstance(error, errors.InFailedSqlTransaction):
        return Conflict(_ROLLED_BACK)
    if isinstance(error, (errors.ReadOnlySqlTransaction, errors.InsufficientPrivilege)):
        return StoreReadOnly(display_name, _primary_message(error))
    if isinstance(error, _DAMAGED):
        return StoreDamaged(
            f"{display_name} is damaged, or not a store of Memolith: {_primary_message(error)}"
        )
    for kinds, problem in _PROBLEMS:
        if isinstance(error, kinds):
            return StoreUnavailable(f"{display_name} {problem}", waited_s)
    if isinstance(error, (errors.OperationalError, errors.InterfaceError)):
        return StoreUnavailable(
            f"{display_name} can't be reached: {_primary_message(error)}", waited_s
        )
    return StoreUnavailable(
        f"{display_name}: {type(error).__name__}: {_primary_message(error)}", waited_s
    )


def _primary_message(error: psycopg.Error) -> str:
    """Return the first line of what the server says: what follows may quote values."""
    return error.diag.message_primary or str(error).partition("\n")[0]


class Connection:
    """One connection, within a transaction of one owner. A thread at a time."""

    __slots__ = ("_cursor", "_display_name", "_raw")

    def __init__(self, raw: PsycopgConnection, display_name: str) -> None:
        """Take a connection of psycopg, and how the database is called in messages."""
        self._raw = raw
        self._display_name = display_name
        self._cursor = psycopg.RawCursor(raw)

    def rows(self, statement: str, values: Sequence[Any] = ()) -> list[Row]:
        """See the shared protocol."""
        try:
            return self._execute(statement, values).fetchall()
        except psycopg.Error as error:
            raise translate_error(error, self._display_name) from error

    def row(self, statement: str, values: Sequence[Any] = ()) -> Row | None:
        """See the shared protocol."""
        try:
            return cast("Row | None", self._execute(statement, values).fetchone())
        except psycopg.Error as error:
            raise translate_error(error, self._display_name) from error

    def run(self, statement: str, values: Sequence[Any] = ()) -> int:
        """See the shared protocol."""
        if statement == _COMMIT:
            return self._commit()
        try:
            return self._execute(statement, values).rowcount
        except errors.IntegrityError as error:
            raise ConstraintViolation from error
        except psycopg.Error as error:
            raise translate_error(error, self._display_name) from error

    def _commit(self) -> int:
        """Commit; what an error has undone is not, and the server says so by another word only."""
        try:
            word = self._execute(_COMMIT, ()).statusmessage
        except psycopg.Error as error:
            if self._raw.closed:
                raise self._build_in_doubt_error(error) from error
            raise translate_error(error, self._display_name) from error
        if word != _COMMIT:
            raise Conflict(_ROLLED_BACK)
        return 0

    def _build_in_doubt_error(self, error: psycopg.Error) -> StoreUnavailable:
        return StoreUnavailable(
            f"the connection to {self._display_name} was lost while it stored what was written, which"
            f" is there whole or not at all: {_primary_message(error)}"
        )

    def run_many(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        """See the shared protocol."""
        left = list(rows)
        try:
            if len(left) >= _ROWS_PER_INSERT and translate_multi_row_insert(
                statement, _ROWS_PER_INSERT
            ):
                left = self._insert_batches(statement, left)
            if left:
                self._cursor.executemany(translate(statement), left)
        except errors.UniqueViolation as error:
            raise ConstraintViolation from error
        except psycopg.Error as error:
            raise translate_error(error, self._display_name) from error

    def _insert_batches(self, statement: str, rows: list[Sequence[Any]]) -> list[Sequence[Any]]:
        """Store rows, many at once, and return those that are left over."""
        words = translate_multi_row_insert(statement, _ROWS_PER_INSERT)
        whole = len(rows) - len(rows) % _ROWS_PER_INSERT
        self._cursor.executemany(
            words or "",
            (
                tuple(chain.from_iterable(rows[start : start + _ROWS_PER_INSERT]))
                for start in range(0, whole, _ROWS_PER_INSERT)
            ),
        )
        return rows[whole:]

    def _execute(self, statement: str, values: Sequence[Any]) -> psycopg.RawCursor[Any]:
        return self._cursor.execute(translate(statement), values, binary=True)

    def bind_values(self, values: Sequence[bytes] | Sequence[str]) -> Any:
        """See the shared protocol."""
        return list(values)

    def bind_integers(self, values: Sequence[int]) -> Any:
        """See the shared protocol."""
        return BigintArray(values)

    def bind_vector(self, stored: Any) -> Any:
        """See the shared protocol."""
        return None if stored is None else VectorParameter(stored)

    def get_owner(self, owner_id: str, *, lock: bool = False) -> OwnerRow:
        """See the shared protocol."""
        number = owner_number(owner_id)
        started = monotonic()
        try:
            row = self._execute(_OWNER + (" FOR UPDATE" if lock else ""), (number,)).fetchone()
        except errors.LockNotAvailable as error:
            problem = f"another writer keeps the same owner locked, in {self._display_name}"
            raise StoreUnavailable(problem, monotonic() - started) from error
        except psycopg.Error as error:
            raise translate_error(error, self._display_name, monotonic() - started) from error
        if row is None:
            return OwnerRow()
        if row[0] != owner_id:
            raise InvalidInput("owner", "another owner's id has the same number: choose another")
        return OwnerRow(*row[1:])

    def insert_owner(self, owner_id: str, key_version: int) -> OwnerRow:
        """See the shared protocol."""
        self.run(_NEW_OWNER, (owner_number(owner_id), owner_id, key_version))
        # Whoever was faster has committed by now, and may have been erased again since.
        found = self.get_owner(owner_id, lock=True)
        return found if found.number else self.insert_owner(owner_id, key_version)

    def begin(self, mode: str, owner_id: str | None, timeout_s: float) -> None:
        """Begin a transaction that sees an owner's rows, and no others.

        Args:
            how: Which kind of transaction.
            owner_id: Whose rows; None: nobody's.
            timeout_s: For how long to wait for the server.

        Raises:
            psycopg.OperationalError: The connection is lost; nothing was done.
        """
        # There is nothing to wait for but the server itself.
        patience_s, self._raw.response_timeout_s = self._raw.response_timeout_s, timeout_s
        whose = "" if owner_id is None else str(owner_number(owner_id))
        # Two statements in one, which only the simple protocol takes: without values.
        self._cursor.execute(
            f"BEGIN {mode}; SET LOCAL memolith.api.owner = '{whose}'".encode(), prepare=False
        )
        self._raw.response_timeout_s = patience_s

    def set_owner(self, number: int) -> None:
        """See the rows of the owner of a number in this transaction, and no others."""
        self.run(
            f"SET LOCAL memolith.api.owner = '{number:d}'"
        )  # not a function, for Citus passes it on

    def roll_back(self) -> None:
        """End the transaction, if one is open, and undo it."""
        if self._raw.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
            # The error that led here says more than the one from here would.
            with suppress(psycopg.Error):
                self._cursor.execute("ROLLBACK", prepare=False)


_SET_SEARCH_PATH = (
    "SELECT set_config('search_path', concat_ws(', ', quote_ident({}), 'public', (SELECT"
    " quote_ident(n.nspname) FROM pg_extension AS e JOIN pg_namespace AS n ON n.oid ="
    " e.extnamespace WHERE e.extname = 'vector')), {})"
)


def build_search_path(schema: str, *, is_local: bool = False) -> sql.Composed:
    """Return what lets names be found in a schema, and those of pgvector wherever they are.

    Args:
        schema: The schema that a store is in.
        is_local: Until the transaction's end.
    """
    return sql.SQL(_SET_SEARCH_PATH).format(schema, is_local)


def lock_timeout_ms(timeout_s: float) -> int:
    """Return for how long to wait for a lock, as PostgreSQL takes it: 0 would be for ever."""
    return max(1, round(timeout_s * 1000))


@dataclass(frozen=True, slots=True)
class ConnectionSettings:
    """How a database is reached.

    Attributes:
        conninfo: Where it is, as libpq takes it.
        place: How it is called in messages, without a password.
        schema: In which schema of it the tables are.
        form: How vectors stand in it; None: there are none.
        is_application: Whether the session's role is to become the application's.
        timeout_s: For how long to wait for locks, and for a connection.
        statement_timeout_s: After how long a statement is given up; 0: never.
        is_distributed: Whether Citus has the tables on several machines.
    """

    conninfo: str = field(repr=False)
    display_name: str
    schema: str
    vector_format: VectorFormat | None
    uses_application_role: bool
    timeout_s: float
    statement_timeout_s: float
    is_distributed: bool = False

    @property
    def transaction_settings(self) -> str:
        """What is said at the begin of each transaction: what machines of Citus' must be told."""
        if not self.is_distributed:
            return ""
        return "".join(f"; SET LOCAL {setting}" for setting in VECTOR_SEARCH_SETTINGS)

    @property
    def statement_timeout_ms(self) -> int:
        """The same in milliseconds, as PostgreSQL takes it."""
        return round(self.statement_timeout_s * 1000)

    @property
    def response_timeout_s(self) -> float | None:
        """For how long a server may be silent while a statement runs; None: for ever."""
        return self.statement_timeout_s + self.timeout_s if self.statement_timeout_s else None

    def connect(self) -> PsycopgConnection:
        """Return a new connection, ready.

        Raises:
            psycopg.OperationalError: The server can't be reached.
        """
        with ExitStack() as failing:
            raw = failing.enter_context(PsycopgConnection.connect(self.conninfo, autocommit=True))
            raw.response_timeout_s = self.timeout_s
            self.configure(raw)
            raw.response_timeout_s = self.response_timeout_s
            failing.pop_all()
        return raw

    def configure(self, raw: PsycopgConnection) -> None:
        """Make a new connection ready."""
        settings = [
            build_search_path(self.schema),
            sql.SQL("SET lock_timeout = {}").format(lock_timeout_ms(self.timeout_s)),
            sql.SQL("SET statement_timeout = {}").format(self.statement_timeout_ms),
            sql.SQL("SET idle_in_transaction_session_timeout = {}").format(
                _IDLE_TRANSACTION_S * 1000
            ),
            sql.SQL(
                f"SET tcp_keepalives_idle = {KEEPALIVE_IDLE_S}; SET tcp_keepalives_interval = {KEEPALIVE_INTERVAL_S};"
                f" SET tcp_keepalives_count = {KEEPALIVE_COUNT}"
            ),
        ]
        settings += [sql.SQL(f"SET {setting}") for setting in VECTOR_SEARCH_SETTINGS]
        if self.is_distributed:
            settings.append(sql.SQL("SET citus.propagate_set_commands = 'local'"))
        if self.uses_application_role:
            settings.append(sql.SQL("SET ROLE {}").format(sql.Identifier(APPLICATION)))
        raw.execute(sql.SQL("; ").join(settings))
        register_adapters(raw)
        if self.vector_format is not None:
            found = raw.execute(
                "SELECT to_regtype(%s)::oid", (self.vector_format.type_name,)
            ).fetchone()
            register_vector_adapters(raw, self.vector_format, found[0] if found else 0)


VECTOR_SEARCH_SETTINGS = (
    "hnsw.iterative_scan = strict_order",
    "hnsw.ef_search = 800",
    "hnsw.max_scan_tuples = 200000",
    "ivfflat.iterative_scan = relaxed_order",
    "ivfflat.probes = 10",
)
"""Without iterative scans an index finds the nearest of all owners, and few or none of one's own.

By 800 candidates of HNSW nothing of note is missed (docs/scaling.md); as many probes as the root of
100 lists, as pgvector's manual advises; the most tuples are a guess.
"""

_READ_TRANSACTION = "ISOLATION LEVEL REPEATABLE READ READ ONLY"
_WRITE_TRANSACTION = "ISOLATION LEVEL READ COMMITTED"
"""Whether something may be written, a role's or a database's setting may say, or a standby."""


class _BorrowedConnections(threading.local):
    """How many connections a thread has been lent."""

    count = 0


class Connections:
    """Lends connections of two pools, for reading and for writing.

    A thread that has one and asks for another, as one does that writes and looks something up, is
    lent it at once, beyond the number of all if need be: threads that each have one and wait for
    each other's would wait in vain.

    After a fork, the child opens connections of its own at the next use, and leaves its
    parent's alone. Forking while a transaction is open is not supported.
    """

    def __init__(self, settings: ConnectionSettings, readers: int, writers: int) -> None:
        """Take how the database is reached, and how many connections there may be at most."""
        self.settings = settings
        self._sizes = (readers, writers)
        self._closed = False
        self._reset()

    def _reset(self) -> None:
        self._process = os.getpid()
        self._borrowed = _BorrowedConnections()
        self._readers, self._writers = (Pool(self.settings.connect, size) for size in self._sizes)

    @contextmanager
    def read(self, owner_id: str | None = None) -> Iterator[Connection]:
        """See the shared protocol."""
        self._check_process()
        with self._transaction(
            self._readers, _READ_TRANSACTION + self.settings.transaction_settings, owner_id
        ) as connection:
            yield connection

    @contextmanager
    def write(self, owner_id: str | None = None) -> Iterator[Connection]:
        """See the shared protocol."""
        self._check_process()
        with self._transaction(
            self._writers, _WRITE_TRANSACTION + self.settings.transaction_settings, owner_id
        ) as connection:
            yield connection

    @contextmanager
    def autocommit(self) -> Iterator[Connection]:
        """Lend a connection without a transaction, for what can't be done within one."""
        self._check_process()
        raw = self._acquire(self._writers, monotonic())
        raw.response_timeout_s = None
        try:
            yield Connection(raw, self.settings.display_name)
        finally:
            raw.response_timeout_s = self.settings.response_timeout_s
            self._writers.release(raw)

    @contextmanager
    def _transaction(self, pool: Pool, mode: str, owner_id: str | None) -> Iterator[Connection]:
        raw, connection = self._begin_transaction(pool, mode, owner_id)
        self._borrowed.count += 1
        try:
            yield connection
        finally:
            self._borrowed.count -= 1
            connection.roll_back()
            pool.release(raw)

    def _begin_transaction(
        self, pool: Pool, mode: str, owner_id: str | None
    ) -> tuple[PsycopgConnection, Connection]:
        """Return a connection with a transaction begun; those that are lost are let go."""
        started = monotonic()
        until = started + self.settings.timeout_s
        while True:
            raw = self._acquire(pool, started)
            connection = Connection(raw, self.settings.display_name)
            try:
                connection.begin(mode, owner_id, max(_MIN_WAIT_S, until - monotonic()))
            except psycopg.Error as error:
                was_lost = raw.closed
                pool.release(raw)
                if was_lost:
                    pool.close_idle()
                if not was_lost or monotonic() > until:
                    raise translate_error(
                        error, self.settings.display_name, monotonic() - started
                    ) from error
            else:
                return raw, connection

    def _acquire(self, pool: Pool, started: float) -> PsycopgConnection:
        if self._closed:
            raise StoreUnavailable(f"the store is closed: {self.settings.display_name}")
        try:
            left_s = started + self.settings.timeout_s - monotonic()
            return pool.acquire(left_s, allow_overflow=self._borrowed.count > 0)
        except PoolExhausted as error:
            raise StoreUnavailable(
                f"all connections to {self.settings.display_name} are in use", monotonic() - started
            ) from error
        except psycopg.Error as error:
            raise translate_error(
                error, self.settings.display_name, monotonic() - started
            ) from error

    def close(self) -> None:
        """Close what is open: at once or, while lent, when given back."""
        self._check_process()
        self._closed = True
        for pool in (self._readers, self._writers):
            pool.close()

    def _check_process(self) -> None:
        if self._process != os.getpid():
            _inherited_pools.extend((self._readers, self._writers))
            self._reset()
