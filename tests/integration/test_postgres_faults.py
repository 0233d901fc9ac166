"""PostgreSQL with a lock, a lost connection or a server that is gone in the way."""

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
    """Let the server end all connections of the store."""
    with psycopg.connect(make_conninfo(url, application_name="cutter"), autocommit=True) as raw:
        raw.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
            " WHERE application_name = %s",
            (_NAME,),
        )


def test_connections_that_were_lost_while_idle_are_made_anew(
    store: PostgresStore, url: str
) -> None:
    for number in (2, 3):
        cut_all(url)
        remember(store, memory(number))
        cut_all(url)
        with store.read("alice") as snapshot:
            assert record_id(number) in list_ids(snapshot)


def test_a_connection_lost_in_a_transaction_keeps_nothing_of_it(
    store: PostgresStore, url: str
) -> None:
    def write() -> None:
        with store.write("alice") as tx:
            tx.insert([(memory(2), short_entry("x"))])
            cut_all(url)
            tx.insert([(memory(3), short_entry("x"))])

    with pytest.raises(StoreUnavailable, match="can't be reached"):
        write()
    with store.read("alice") as snapshot:
        assert list_ids(snapshot) == [record_id(1)]


def test_a_connection_lost_before_the_commit_keeps_nothing(store: PostgresStore, url: str) -> None:
    def write() -> None:
        with store.write("alice") as tx:
            tx.insert([(memory(2), short_entry("x"))])
            cut_all(url)

    with pytest.raises(StoreUnavailable):
        write()
    with store.read("alice") as snapshot:
        assert list_ids(snapshot) == [record_id(1)]
    remember(store, memory(2))


def test_waiting_for_another_writer_has_a_bound_and_is_told(url: str) -> None:
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


def test_first_writers_of_an_owner_wait_for_each_other(store: PostgresStore) -> None:
    def write(number: int) -> None:
        with store.write("carol") as tx:
            time.sleep(0.05)
            tx.insert([(memory(number, owner_id="carol"), short_entry("x"))])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(1, 5)))
    with store.read("carol") as snapshot:
        assert (snapshot.counter, len(list_ids(snapshot))) == (4, 4)


def remembered(store: PostgresStore) -> list[str]:
    with store.read("alice") as snapshot:
        return list_ids(snapshot)


def test_all_connections_in_use_is_told_and_waited_for(url: str) -> None:
    emptied(url, SCHEMA)
    store = PostgresStore.open(
        url, cipher=PlainCipher(), schema=SCHEMA, busy_timeout_s=0.2, connections=1
    )
    try:
        with store.read("alice"), ThreadPoolExecutor(1) as apart:
            with pytest.raises(StoreUnavailable, match="in use") as refused:
                apart.submit(remembered, store).result()
            assert refused.value.waited_s >= 0.2
            with store.read("bob") as beside:  # who has one does not wait for another
                assert beside.counter == 0
        with store.read("bob") as snapshot:
            assert snapshot.counter == 0
    finally:
        store.close()


def test_a_server_that_is_not_there_is_told() -> None:
    with pytest.raises(StoreUnavailable, match=r"127\.0\.0\.1:9/none can't be reached"):
        PostgresStore.open(
            "postgresql://me:secret@127.0.0.1:9/none", cipher=PlainCipher(), busy_timeout_s=1
        )


@contextmanager
def held(url: str, *statements: str) -> Iterator[psycopg.Connection]:
    """Hold what statements lock, as a superuser who is bound by no policy."""
    options = f"-c search_path={SCHEMA},public -c deadlock_timeout=60s"
    with psycopg.connect(make_conninfo(url, options=options)) as raw:
        for statement in statements:
            raw.execute(statement.encode())
        yield raw


_LOCK_CLAIMS = "SELECT 1 FROM claims FOR UPDATE"
_LOCK_OWNERS = "SELECT 1 FROM owners FOR UPDATE"


def claimed(store: PostgresStore) -> WorkLease:
    claim = store.leases.acquire("alice", WorkKind.LEARN, now=at(0), lease_s=60)
    assert claim is not None
    return claim


def test_who_is_stopped_in_a_deadlock_has_written_nothing(store: PostgresStore, url: str) -> None:
    claim = claimed(store)

    def write() -> None:
        with store.write("alice") as tx:
            tx.insert([(memory(2), short_entry("x"))])
            crossing = apart.submit(other.execute, _LOCK_OWNERS)
            with suppress(StoreUnavailable):  # even if the caller goes on
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
            held(url, _LOCK_CLAIMS) as other,
            ThreadPoolExecutor(1) as apart,
            pytest.raises(error, match=said),
        ):
            way()
        with store.read("alice") as snapshot:
            assert list_ids(snapshot) == [record_id(1)]
    remember(store, memory(2))


def test_who_is_not_stopped_in_a_deadlock_has_written_all(store: PostgresStore, url: str) -> None:
    claim = claimed(store)
    with held(url, _LOCK_CLAIMS, "SET deadlock_timeout = '10ms'") as other:
        with ThreadPoolExecutor(1) as apart, store.write("alice") as tx:
            tx.insert([(memory(2), short_entry("x"))])
            crossing = apart.submit(other.execute, _LOCK_OWNERS)
            assert tx.holds_lease(claim)
        with pytest.raises(psycopg.errors.DeadlockDetected):
            crossing.result()
    with store.read("alice") as snapshot:
        assert sorted(list_ids(snapshot)) == [record_id(1), record_id(2)]


def test_an_owner_is_written_to_while_another_owners_write_stands_open(
    store: PostgresStore, url: str
) -> None:
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
    """Wait until one of the store's connections waits for another."""
    with psycopg.connect(make_conninfo(url, application_name="watcher"), autocommit=True) as raw:
        while not raw.execute(
            "SELECT 1 FROM pg_stat_activity WHERE application_name = %s"
            " AND wait_event_type = 'Lock'",
            (_NAME,),
        ).fetchall():
            time.sleep(0.01)


def test_a_statement_that_takes_too_long_is_cancelled_and_told(url: str) -> None:
    emptied(url, SCHEMA)
    store = PostgresStore.open(
        url, cipher=PlainCipher(), schema=SCHEMA, statement_timeout_s=0.1, busy_timeout_s=30
    )
    try:
        store.adopt_embedder("builders", DIMENSION)
        remember(store, memory(1))
        with (
            held(url, _LOCK_OWNERS),
            pytest.raises(StoreUnavailable, match="cancelled a statement because of the timeout"),
        ):
            remember(store, memory(2))
        with store.read("alice") as snapshot:
            assert list_ids(snapshot) == [record_id(1)]
    finally:
        store.close()


def test_what_is_removed_is_left_where_somebody_else_has_the_tables(url: str) -> None:
    emptied(url, SCHEMA)
    store = PostgresStore.open(url, cipher=PlainCipher(), schema=SCHEMA, busy_timeout_s=0.1)
    try:
        with held(url, "LOCK TABLE terms IN SHARE UPDATE EXCLUSIVE MODE"):
            assert not store.compact()
        assert store.compact()
    finally:
        store.close()


def test_who_vanishes_is_asked_after_by_the_server(postgres_url: str, store: PostgresStore) -> None:
    assert postgres_url
    with store._connections.read() as connection:
        # At a socket in the file system there is nothing to ask, and it says 0.
        shown = connection.row("SELECT source FROM pg_settings WHERE name = 'tcp_keepalives_idle'")
    assert shown == ("session",)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_has_connections_of_its_own(store: PostgresStore) -> None:
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
