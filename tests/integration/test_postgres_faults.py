"""PostgreSQL faults: locks, lost connections, deadlocks and unreachable servers."""

import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from memolith.adapters.crypto.ciphers import PlainCipher
from memolith.adapters.postgres.store import PostgresStore
from memolith.domain.owners import WorkKind
from memolith.errors import Conflict, StoreUnavailable
from memolith.ports.work import WorkLease
from memolith.testing.builders import DIMENSION, at, memory, record_id, short_entry
from memolith.testing.store_records import list_ids, remember
from support.postgres import emptied, fresh, own

SCHEMA = own("faults")
_NAME = own("memolith_test_faults")


@pytest.fixture
def url(postgres_url: str) -> str:
    return make_conninfo(postgres_url, application_name=_NAME)


@pytest.fixture
def store(url: str) -> Iterator[PostgresStore]:
    with fresh(url, SCHEMA, PlainCipher()) as opened:
        opened.adopt_embedder("builders", DIMENSION)
        remember(opened, memory(1))
        yield opened


def cut_all(url: str) -> None:
    """Make the server close all connections of the store."""
    with psycopg.connect(make_conninfo(url, application_name="cutter"), autocommit=True) as raw:
        raw.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
            " WHERE application_name = %s",
            (_NAME,),
        )


def test_lost_idle_connections_are_replaced(store: PostgresStore, url: str) -> None:
    for number in (2, 3):
        cut_all(url)
        remember(store, memory(number))
        cut_all(url)
        with store.read("alice") as snapshot:
            assert record_id(number) in list_ids(snapshot)


def test_connection_lost_within_a_transaction_rolls_it_back(store: PostgresStore, url: str) -> None:
    def write() -> None:
        with store.write("alice") as tx:
            tx.insert([(memory(2), short_entry("x"))])
            cut_all(url)
            tx.insert([(memory(3), short_entry("x"))])

    with pytest.raises(StoreUnavailable, match="can't be reached"):
        write()
    with store.read("alice") as snapshot:
        assert list_ids(snapshot) == [record_id(1)]


def test_connection_lost_before_the_commit_rolls_it_back(store: PostgresStore, url: str) -> None:
    def write() -> None:
        with store.write("alice") as tx:
            tx.insert([(memory(2), short_entry("x"))])
            cut_all(url)

    with pytest.raises(StoreUnavailable):
        write()
    with store.read("alice") as snapshot:
        assert list_ids(snapshot) == [record_id(1)]
    remember(store, memory(2))


def test_lock_wait_for_another_writer_times_out_with_an_error(url: str) -> None:
    emptied(url, SCHEMA)
    first, second = (
        PostgresStore.open(url, cipher=PlainCipher(), schema=SCHEMA, busy_timeout_s=0.2)
        for _ in range(2)
    )
    try:
        first.adopt_embedder("builders", DIMENSION)
        remember(first, memory(1))
        with first.write("alice"):
            with (
                pytest.raises(StoreUnavailable, match="locked the same owner") as refused,
                second.write("alice"),
            ):
                pass
            assert 0.2 <= refused.value.waited_s < 5
            remember(second, memory(1, owner_id="bob"), owner_id="bob")
    finally:
        first.close()
        second.close()


def test_concurrent_first_writers_of_an_owner_wait_for_each_other(store: PostgresStore) -> None:
    def write(number: int) -> None:
        with store.write("carol") as tx:
            time.sleep(0.05)
            tx.insert([(memory(number, owner_id="carol"), short_entry("x"))])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(1, 5)))
    with store.read("carol") as snapshot:
        assert (snapshot.counter, len(list_ids(snapshot))) == (4, 4)


def list_stored_ids(store: PostgresStore) -> list[str]:
    with store.read("alice") as snapshot:
        return list_ids(snapshot)


def test_exhausted_connection_pool_waits_and_reports_an_error(url: str) -> None:
    emptied(url, SCHEMA)
    store = PostgresStore.open(
        url, cipher=PlainCipher(), schema=SCHEMA, busy_timeout_s=0.2, connections=1
    )
    try:
        with store.read("alice"), ThreadPoolExecutor(1) as apart:
            with pytest.raises(StoreUnavailable, match="in use") as refused:
                apart.submit(list_stored_ids, store).result()
            assert refused.value.waited_s >= 0.2
            with store.read("bob") as beside:  # a thread with a connection reuses it
                assert beside.counter == 0
        with store.read("bob") as snapshot:
            assert snapshot.counter == 0
    finally:
        store.close()


def test_unreachable_server_is_reported() -> None:
    with pytest.raises(StoreUnavailable, match=r"127\.0\.0\.1:9/none can't be reached"):
        PostgresStore.open(
            "postgresql://me:secret@127.0.0.1:9/none", cipher=PlainCipher(), busy_timeout_s=1
        )


@contextmanager
def hold_locks(url: str, *statements: str) -> Iterator[psycopg.Connection]:
    """Hold the locks of statements, as a superuser, who bypasses the policies."""
    options = f"-c search_path={SCHEMA},public -c deadlock_timeout=60s"
    with psycopg.connect(make_conninfo(url, options=options)) as raw:
        for statement in statements:
            raw.execute(statement.encode())
        yield raw


_LOCK_CLAIMS = "SELECT 1 FROM claims FOR UPDATE"
_LOCK_OWNERS = "SELECT 1 FROM owners FOR UPDATE"


def acquire_lease(store: PostgresStore) -> WorkLease:
    claim = store.leases.acquire("alice", WorkKind.LEARN, now=at(0), lease_s=60)
    assert claim is not None
    return claim


def test_deadlock_victim_writes_nothing(store: PostgresStore, url: str) -> None:
    claim = acquire_lease(store)

    def write() -> None:
        with store.write("alice") as tx:
            tx.insert([(memory(2), short_entry("x"))])
            crossing = apart.submit(other.execute, _LOCK_OWNERS)
            with suppress(StoreUnavailable):  # even if the caller continues
                tx.holds_lease(claim)
            crossing.result()

    def write_and_stop() -> None:
        with store.write("alice") as tx:
            tx.insert([(memory(3), short_entry("x"))])
            crossing = apart.submit(other.execute, _LOCK_OWNERS)
            try:
                tx.holds_lease(claim)
            finally:
                crossing.result()

    for way, error, said in (
        (write, Conflict, "was rolled back"),
        (write_and_stop, StoreUnavailable, "detected a deadlock between writers"),
    ):
        with (
            hold_locks(url, _LOCK_CLAIMS) as other,
            ThreadPoolExecutor(1) as apart,
            pytest.raises(error, match=said),
        ):
            way()
        with store.read("alice") as snapshot:
            assert list_ids(snapshot) == [record_id(1)]
    remember(store, memory(2))


def test_deadlock_survivor_writes_everything(store: PostgresStore, url: str) -> None:
    claim = acquire_lease(store)
    with hold_locks(url, _LOCK_CLAIMS, "SET deadlock_timeout = '10ms'") as other:
        with ThreadPoolExecutor(1) as apart, store.write("alice") as tx:
            tx.insert([(memory(2), short_entry("x"))])
            crossing = apart.submit(other.execute, _LOCK_OWNERS)
            assert tx.holds_lease(claim)
        with pytest.raises(psycopg.errors.DeadlockDetected):
            crossing.result()
    with store.read("alice") as snapshot:
        assert sorted(list_ids(snapshot)) == [record_id(1), record_id(2)]


def test_open_write_blocks_only_writes_of_the_same_owner(store: PostgresStore, url: str) -> None:
    with ThreadPoolExecutor(2) as apart, store.write("alice") as tx:
        tx.insert([(memory(2), short_entry("x"))])
        bobs = apart.submit(remember, store, memory(1, owner_id="bob"), owner_id="bob")
        bobs.result()
        later = apart.submit(remember, store, memory(3))
        wait_for_a_lock(url)
        assert not later.done()
        with store.read("alice") as snapshot:
            assert list_ids(snapshot) == [record_id(1)]
        tx.insert([(memory(4), short_entry("x"))])
    later.result()
    with store.read("alice") as snapshot:
        assert sorted(list_ids(snapshot)) == [record_id(number) for number in (1, 2, 3, 4)]


def wait_for_a_lock(url: str) -> None:
    """Wait until a connection of the store waits for a lock."""
    with psycopg.connect(make_conninfo(url, application_name="watcher"), autocommit=True) as raw:
        while not raw.execute(
            "SELECT 1 FROM pg_stat_activity WHERE application_name = %s"
            " AND wait_event_type = 'Lock'",
            (_NAME,),
        ).fetchall():
            time.sleep(0.01)


def test_statement_timeout_is_reported(url: str) -> None:
    emptied(url, SCHEMA)
    store = PostgresStore.open(
        url, cipher=PlainCipher(), schema=SCHEMA, statement_timeout_s=0.1, busy_timeout_s=30
    )
    try:
        store.adopt_embedder("builders", DIMENSION)
        remember(store, memory(1))
        with (
            hold_locks(url, _LOCK_OWNERS),
            pytest.raises(StoreUnavailable, match="cancelled a statement because of the timeout"),
        ):
            remember(store, memory(2))
        with store.read("alice") as snapshot:
            assert list_ids(snapshot) == [record_id(1)]
    finally:
        store.close()


def test_compact_is_postponed_while_tables_are_locked(url: str) -> None:
    emptied(url, SCHEMA)
    store = PostgresStore.open(url, cipher=PlainCipher(), schema=SCHEMA, busy_timeout_s=0.1)
    try:
        with hold_locks(url, "LOCK TABLE terms IN SHARE UPDATE EXCLUSIVE MODE"):
            assert not store.compact()
        assert store.compact()
    finally:
        store.close()


def test_store_enables_tcp_keepalives_of_the_server(
    postgres_url: str, store: PostgresStore
) -> None:
    assert postgres_url
    with store._connections.read() as connection:
        # A Unix socket has no keepalives: the value is 0.
        shown = connection.row("SELECT source FROM pg_settings WHERE name = 'tcp_keepalives_idle'")
    assert shown == ("session",)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_forked_child_opens_its_own_connections(store: PostgresStore) -> None:
    with store.read("alice") as snapshot:
        assert snapshot.counter == 1
    child = os.fork()
    if not child:
        code = 1
        try:
            remember(store, memory(2))
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    with store.read("alice") as snapshot:
        assert sorted(list_ids(snapshot)) == [record_id(1), record_id(2)]
