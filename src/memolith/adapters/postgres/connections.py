"""Connection pools for PostgreSQL, with response timeouts and translated errors."""

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
"""Time after which an idle connection is closed. A guess."""

_INTERVAL_S = 0.1
"""Interval between checks of the response timeout; psycopg's own interval."""

_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.02, 0.5
"""Shortest and longest pause between attempts to connect, for example to a restarting server. A
guess."""


class PoolExhausted(Exception):
    """No connection became free within the timeout."""


class PsycopgConnection(psycopg.Connection[Any]):
    """A psycopg connection with a response timeout.

    The server's own statement timeout does not help if the server hangs or the network is down.

    Attributes:
        response_timeout_s: How long the server may send nothing while a statement runs; then the
            connection is closed. None: no limit.
        is_overflow: Whether the connection exceeds the size of its pool.
    """

    response_timeout_s: float | None = None
    is_overflow: bool = False

    def wait(self, gen: PQGen[RV], *args: Any, **kwargs: Any) -> RV:
        """See `psycopg.Connection.wait`."""
        if self.response_timeout_s is None:
            return super().wait(gen, *args, **kwargs)
        return super().wait(
            self._enforce_response_timeout(gen, self.response_timeout_s), *args, **kwargs
        )

    def _enforce_response_timeout(
        self, gen: PQGen[RV], response_timeout_s: float
    ) -> Generator[Wait, Ready | int, RV]:
        """Run psycopg's generator until the server has sent nothing for the timeout."""
        last_response_s = monotonic()
        try:
            state = next(gen)
            while True:
                ready = yield state
                if ready:
                    last_response_s = monotonic()
                elif monotonic() - last_response_s >= response_timeout_s:
                    self.close()
                    raise psycopg.OperationalError(f"no answer for {response_timeout_s:.3g} s")
                state = gen.send(ready)
        except StopIteration as end:
            result: RV = end.value
            return result


class Pool:
    """A pool that lends connections to threads, the most recently used first.

    Threads that wait for a connection are served in order of arrival.
    """

    def __init__(self, connect: Callable[[], PsycopgConnection], size: int) -> None:
        """Create a pool.

        Args:
            connect: Opens a connection.
            size: Maximum number of connections.
        """
        self._connect = connect
        self._size = size
        self._semaphore = FairSemaphore(size)
        self._lock = threading.Lock()
        self._idle: list[tuple[PsycopgConnection, float]] = []
        self.is_closed = False

    def acquire(self, timeout_s: float, *, allow_overflow: bool = False) -> PsycopgConnection:
        """Return a connection, which must be passed to `release` afterwards.

        Args:
            timeout_s: How long to wait for a free connection.
            allow_overflow: Exceed the size of the pool rather than wait. For threads that already
                hold a connection, to avoid a deadlock with other such threads.

        Raises:
            PoolExhausted: No connection became free within the timeout.
            psycopg.OperationalError: Connecting failed until the timeout.
        """
        until = monotonic() + timeout_s
        is_acquired = self._semaphore.acquire(0 if allow_overflow else timeout_s)
        if not is_acquired and not allow_overflow:
            raise PoolExhausted
        with ExitStack() as cleanup:
            if is_acquired:
                cleanup.callback(self._semaphore.release)
            raw = self._pop_idle() or self._connect_with_retry(until)
            raw.is_overflow = not is_acquired
            cleanup.pop_all()
        return raw

    def release(self, raw: PsycopgConnection) -> None:
        """Return a connection to the pool, or close it if it is not usable."""
        now = monotonic()
        is_usable = raw.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
        with self._lock:
            is_reusable = is_usable and not self.is_closed and len(self._idle) < self._size
            if is_reusable:
                self._idle.append((raw, now))
            old = [each for each, since in self._idle if now - since > _MAX_IDLE_S]
            self._idle = [(each, since) for each, since in self._idle if now - since <= _MAX_IDLE_S]
        if not raw.is_overflow:
            self._semaphore.release()
        for each in old if is_reusable else [raw, *old]:
            each.close()

    def close_idle(self) -> None:
        """Close idle connections, after another connection of the same age was lost."""
        with self._lock:
            idle, self._idle = self._idle, []
        for raw, _ in idle:
            raw.close()

    def close(self) -> None:
        """Close idle connections now, and others when they are released."""
        with self._lock:
            self.is_closed = True
        self.close_idle()

    def _pop_idle(self) -> PsycopgConnection | None:
        with self._lock:
            return self._idle.pop()[0] if self._idle else None

    def _connect_with_retry(self, until: float) -> PsycopgConnection:
        """Connect, retrying until a deadline in case the server is starting."""
        pause_s = _FIRST_PAUSE_S
        while True:
            try:
                return self._connect()
            except psycopg.OperationalError:
                if monotonic() + pause_s >= until or self.is_closed:
                    raise
            sleep(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)


# --- Connections to a database


_OWNER = f"SELECT name, {OWNER_COLUMNS} FROM owners WHERE owner_id = $1"
_NEW_OWNER = (
    "INSERT INTO owners (owner_id, name, key_version, generation)"
    # Higher than for any former owner of this number, so that caches of their rows are not used.
    " VALUES ($1, $2, $3, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)"
    " ON CONFLICT DO NOTHING"
)

_COMMIT = "COMMIT"
_ROLLED_BACK = "the transaction was rolled back because of an error within it"

_DAMAGED = (errors.ProgrammingError, errors.DataCorrupted, errors.IndexCorrupted)
_PROBLEMS: tuple[tuple[tuple[type[psycopg.Error], ...], str], ...] = (
    ((errors.LockNotAvailable,), "is locked by another writer"),
    ((errors.DeadlockDetected,), "detected a deadlock between writers and stopped one"),
    ((errors.QueryCanceled,), "cancelled a statement because of the timeout"),
    ((errors.DiskFull,), "has a full disk"),
)

_ROWS_PER_INSERT = 50
"""Rows inserted per statement in bulk inserts, because each statement has a fixed cost. A guess."""

_IDLE_TRANSACTION_S = 600
"""Maximum idle time of a transaction, for example while a verification computes. A guess."""

_MIN_WAIT_S = 1.0
"""Minimum wait for the response to BEGIN, even after the deadline. A guess."""

KEEPALIVE_IDLE_S, KEEPALIVE_INTERVAL_S, KEEPALIVE_COUNT = 10, 3, 3
"""TCP keepalive settings of server and client: idle time, interval, and count. The locks of a
vanished client are released after about 20 s instead of hours. A guess."""

_inherited_pools: list[Pool] = []
"""Pools inherited by a forked child. Closing them would end the parent's sessions."""


def translate_error(
    error: psycopg.Error, display_name: str, waited_s: float = 0.0
) -> MemolithError:
    """Return the Memolith error for an error of PostgreSQL."""
    if isinstance(error, errors.InFailedSqlTransaction):
        return Conflict(_ROLLED_BACK)
    if isinstance(error, (errors.ReadOnlySqlTransaction, errors.InsufficientPrivilege)):
        return StoreReadOnly(display_name, _primary_message(error))
    if isinstance(error, _DAMAGED):
        return StoreDamaged(
            f"{display_name} is damaged, or not a Memolith store: {_primary_message(error)}"
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
    """Return the first line of the server's message. Further lines may quote values."""
    return error.diag.message_primary or str(error).partition("\n")[0]


class Connection:
    """A connection in a transaction of one owner, for use by one thread at a time."""

    __slots__ = ("_cursor", "_display_name", "_raw")

    def __init__(self, raw: PsycopgConnection, display_name: str) -> None:
        """Wrap a psycopg connection.

        Args:
            raw: The connection.
            display_name: The name of the database in messages.
        """
        self._raw = raw
        self._display_name = display_name
        self._cursor = psycopg.RawCursor(raw)

    def rows(self, statement: str, values: Sequence[Any] = ()) -> list[Row]:
        """See `sql.connection.Connection`."""
        try:
            return self._execute(statement, values).fetchall()
        except psycopg.Error as error:
            raise translate_error(error, self._display_name) from error

    def row(self, statement: str, values: Sequence[Any] = ()) -> Row | None:
        """See `sql.connection.Connection`."""
        try:
            return cast("Row | None", self._execute(statement, values).fetchone())
        except psycopg.Error as error:
            raise translate_error(error, self._display_name) from error

    def run(self, statement: str, values: Sequence[Any] = ()) -> int:
        """See `sql.connection.Connection`."""
        if statement == _COMMIT:
            return self._commit()
        try:
            return self._execute(statement, values).rowcount
        except errors.IntegrityError as error:
            raise ConstraintViolation from error
        except psycopg.Error as error:
            raise translate_error(error, self._display_name) from error

    def _commit(self) -> int:
        """Commit. If the transaction has failed, the server rolls back without an error."""
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
            f"the connection to {self._display_name} was lost during a commit, so it is unknown"
            f" whether the changes were saved: {_primary_message(error)}"
        )

    def run_many(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        """See `sql.connection.Connection`."""
        remaining = list(rows)
        try:
            if len(remaining) >= _ROWS_PER_INSERT and translate_multi_row_insert(
                statement, _ROWS_PER_INSERT
            ):
                remaining = self._insert_batches(statement, remaining)
            if remaining:
                self._cursor.executemany(translate(statement), remaining)
        except errors.UniqueViolation as error:
            raise ConstraintViolation from error
        except psycopg.Error as error:
            raise translate_error(error, self._display_name) from error

    def _insert_batches(self, statement: str, rows: list[Sequence[Any]]) -> list[Sequence[Any]]:
        """Insert rows in full batches, and return the remaining rows."""
        words = translate_multi_row_insert(statement, _ROWS_PER_INSERT)
        end = len(rows) - len(rows) % _ROWS_PER_INSERT
        self._cursor.executemany(
            words or "",
            (
                tuple(chain.from_iterable(rows[start : start + _ROWS_PER_INSERT]))
                for start in range(0, end, _ROWS_PER_INSERT)
            ),
        )
        return rows[end:]

    def _execute(self, statement: str, values: Sequence[Any]) -> psycopg.RawCursor[Any]:
        return self._cursor.execute(translate(statement), values, binary=True)

    def bind_values(self, values: Sequence[bytes] | Sequence[str]) -> Any:
        """See `sql.connection.Connection`."""
        return list(values)

    def bind_integers(self, values: Sequence[int]) -> Any:
        """See `sql.connection.Connection`."""
        return BigintArray(values)

    def bind_vector(self, stored: Any) -> Any:
        """See `sql.connection.Connection`."""
        return None if stored is None else VectorParameter(stored)

    def get_owner(self, owner_id: str, *, lock: bool = False) -> OwnerRow:
        """See `sql.connection.Connection`."""
        number = owner_number(owner_id)
        started = monotonic()
        try:
            row = self._execute(_OWNER + (" FOR UPDATE" if lock else ""), (number,)).fetchone()
        except errors.LockNotAvailable as error:
            problem = f"another writer has locked the same owner in {self._display_name}"
            raise StoreUnavailable(problem, monotonic() - started) from error
        except psycopg.Error as error:
            raise translate_error(error, self._display_name, monotonic() - started) from error
        if row is None:
            return OwnerRow()
        if row[0] != owner_id:
            raise InvalidInput("owner", "has the same hash as another owner's id: choose another")
        return OwnerRow(*row[1:])

    def insert_owner(self, owner_id: str, key_version: int) -> OwnerRow:
        """See `sql.connection.Connection`."""
        self.run(_NEW_OWNER, (owner_number(owner_id), owner_id, key_version))
        # Another writer may have inserted the owner first, and it may have been erased since.
        existing = self.get_owner(owner_id, lock=True)
        return existing if existing.number else self.insert_owner(owner_id, key_version)

    def begin(self, mode: str, owner_id: str | None, timeout_s: float) -> None:
        """Begin a transaction in which only one owner's rows are visible.

        Args:
            mode: The transaction mode, after `BEGIN`.
            owner_id: The owner; None: no rows are visible.
            timeout_s: How long to wait for the server.

        Raises:
            psycopg.OperationalError: The connection is lost. Nothing was done.
        """
        # BEGIN waits for no lock, only for the server itself.
        previous_timeout_s, self._raw.response_timeout_s = self._raw.response_timeout_s, timeout_s
        owner = "" if owner_id is None else str(owner_number(owner_id))
        # Only the simple query protocol, without parameters, accepts two statements at once.
        self._cursor.execute(
            f"BEGIN {mode}; SET LOCAL memolith.owner = '{owner}'".encode(), prepare=False
        )
        self._raw.response_timeout_s = previous_timeout_s

    def set_owner(self, number: int) -> None:
        """Make only the rows of this owner visible for the rest of the transaction."""
        self.run(
            f"SET LOCAL memolith.owner = '{number:d}'"
        )  # SET, because Citus does not propagate set_config()

    def roll_back(self) -> None:
        """Roll back the open transaction, if there is one."""
        if self._raw.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
            # The error that led here is more informative than a second one.
            with suppress(psycopg.Error):
                self._cursor.execute("ROLLBACK", prepare=False)


_SET_SEARCH_PATH = (
    "SELECT set_config('search_path', concat_ws(', ', quote_ident({}), 'public', (SELECT"
    " quote_ident(n.nspname) FROM pg_extension AS e JOIN pg_namespace AS n ON n.oid ="
    " e.extnamespace WHERE e.extname = 'vector')), {})"
)


def build_search_path(schema: str, *, is_local: bool = False) -> sql.Composed:
    """Return the statement that puts a schema and pgvector's schema on the search path.

    Args:
        schema: The schema of the store.
        is_local: Whether the setting ends with the transaction.
    """
    return sql.SQL(_SET_SEARCH_PATH).format(schema, is_local)


def lock_timeout_ms(timeout_s: float) -> int:
    """Return a timeout in milliseconds for `lock_timeout`: at least 1, since 0 means no limit."""
    return max(1, round(timeout_s * 1000))


@dataclass(frozen=True, slots=True)
class ConnectionSettings:
    """How to connect to a database.

    Attributes:
        conninfo: The connection string for libpq.
        display_name: The name of the database in messages, without a password.
        schema: The schema of the tables.
        vector_format: The format of stored vectors; None: no vectors are stored.
        uses_application_role: Whether to switch to the application's role.
        timeout_s: Timeout for locks and for a free connection.
        statement_timeout_s: Timeout for statements; 0: no limit.
        is_distributed: Whether Citus distributes the tables over several machines.
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
        """Settings to repeat in each transaction, which Citus propagates to its machines."""
        if not self.is_distributed:
            return ""
        return "".join(f"; SET LOCAL {setting}" for setting in VECTOR_SEARCH_SETTINGS)

    @property
    def statement_timeout_ms(self) -> int:
        """The statement timeout in milliseconds."""
        return round(self.statement_timeout_s * 1000)

    @property
    def response_timeout_s(self) -> float | None:
        """How long the server may send nothing while a statement runs; None: no limit."""
        return self.statement_timeout_s + self.timeout_s if self.statement_timeout_s else None

    def connect(self) -> PsycopgConnection:
        """Return a new, configured connection.

        Raises:
            psycopg.OperationalError: The server cannot be reached.
        """
        with ExitStack() as cleanup:
            raw = cleanup.enter_context(PsycopgConnection.connect(self.conninfo, autocommit=True))
            raw.response_timeout_s = self.timeout_s
            self.configure(raw)
            raw.response_timeout_s = self.response_timeout_s
            cleanup.pop_all()
        return raw

    def configure(self, raw: PsycopgConnection) -> None:
        """Apply the settings and type adapters to a new connection."""
        settings = [
            build_search_path(self.schema),
            sql.SQL("SET lock_timeout = {}").format(lock_timeout_ms(self.timeout_s)),
            sql.SQL("SET statement_timeout = {}").format(self.statement_timeout_ms),
            sql.SQL("SET idle_in_transaction_session_timeout = {}").format(
                _IDLE_TRANSACTION_S * 1000
            ),
            sql.SQL(
                f"SET tcp_keepalives_idle = {KEEPALIVE_IDLE_S};"
                f" SET tcp_keepalives_interval = {KEEPALIVE_INTERVAL_S};"
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
            row = raw.execute(
                "SELECT to_regtype(%s)::oid", (self.vector_format.type_name,)
            ).fetchone()
            register_vector_adapters(raw, self.vector_format, row[0] if row else 0)


VECTOR_SEARCH_SETTINGS = (
    "hnsw.iterative_scan = strict_order",
    "hnsw.ef_search = 800",
    "hnsw.max_scan_tuples = 200000",
    "ivfflat.iterative_scan = relaxed_order",
    "ivfflat.probes = 10",
)
"""Settings of pgvector. Without iterative scans an index returns the nearest vectors of all owners;
few or none of them may belong to the current owner.

With 800 HNSW candidates recall loss is negligible (docs/scaling.md). `probes` is the square root of
100 lists, as recommended by pgvector's manual. The maximum number of tuples is a guess.
"""

_READ_TRANSACTION = "ISOLATION LEVEL REPEATABLE READ READ ONLY"
_WRITE_TRANSACTION = "ISOLATION LEVEL READ COMMITTED"
"""The mode does not say READ WRITE: a role, a database or a standby may be read-only."""


class _BorrowedConnections(threading.local):
    """Number of connections that a thread holds."""

    count = 0


class Connections:
    """Lends connections from two pools, one for reading and one for writing.

    A thread that holds a connection and requests another, for example to read while it writes, gets
    it at once, beyond the pool size if necessary. Otherwise such threads could deadlock.

    After a fork, the child opens new connections on next use and leaves its parent's alone. Forking
    while a transaction is open is not supported.
    """

    def __init__(self, settings: ConnectionSettings, readers: int, writers: int) -> None:
        """Create the pools.

        Args:
            settings: How to connect.
            readers: Maximum number of connections for reading.
            writers: Maximum number of connections for writing.
        """
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
        """See `sql.connection.Connections`."""
        self._check_process()
        with self._transaction(
            self._readers, _READ_TRANSACTION + self.settings.transaction_settings, owner_id
        ) as connection:
            yield connection

    @contextmanager
    def write(self, owner_id: str | None = None) -> Iterator[Connection]:
        """See `sql.connection.Connections`."""
        self._check_process()
        with self._transaction(
            self._writers, _WRITE_TRANSACTION + self.settings.transaction_settings, owner_id
        ) as connection:
            yield connection

    @contextmanager
    def autocommit(self) -> Iterator[Connection]:
        """Return a connection without a transaction, for statements not allowed in one."""
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
        """Return a connection with an open transaction; lost connections are discarded."""
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
        """Close all connections: idle ones now, and others when they are released."""
        self._check_process()
        self._closed = True
        for pool in (self._readers, self._writers):
            pool.close()

    def _check_process(self) -> None:
        if self._process != os.getpid():
            _inherited_pools.extend((self._readers, self._writers))
            self._reset()
