"""One SQLite file shared by threads and processes, with locks and disk errors."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import apsw
import numpy as np
import pytest

from memolith.adapters.crypto.ciphers import PlainCipher
from memolith.adapters.sql.index import IndexCache
from memolith.adapters.sqlite.connections import translate_error
from memolith.adapters.sqlite.store import SqliteStore
from memolith.errors import MemolithError, StoreDamaged, StoreReadOnly, StoreUnavailable
from memolith.policies.indexing import cosines, quantise
from memolith.testing.builders import DIMENSION, at, memory, message, record_id, short_entry, vector
from memolith.testing.store_records import remember, say
from memolith.testing.store_search import NOW, nearest_numbers, records_by_term
from support.rows import check_each

pytestmark = pytest.mark.sqlite


def open_store(path: Path, **options: float) -> SqliteStore:
    store = SqliteStore.open(path, cipher=PlainCipher(), **options)  # type: ignore[arg-type]
    store.adopt_embedder("builders", DIMENSION)
    return store


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    opened = open_store(path, busy_timeout_s=0.2)
    yield opened
    opened.close()


_WRITER = """
import sys
from memolith.adapters.crypto.ciphers import PlainCipher
from memolith.adapters.sqlite.store import SqliteStore
from memolith.testing.builders import memory
from memolith.testing.store_records import remember

store = SqliteStore.open(sys.argv[1], cipher=PlainCipher(), busy_timeout_s=30)
for number in range(100, 140):
    remember(store, memory(number, "tea"), memory(number + 100, "tea pot"))
    print(number, flush=True)
    sys.stdin.readline()
store.close()
"""


def test_index_of_a_reader_follows_writes_of_another_process(
    store: SqliteStore, path: Path
) -> None:
    remember(store, memory(1, "tea"))
    with store.read("alice") as snapshot:
        assert len(nearest_numbers(snapshot)) == 1
    writer = subprocess.Popen(
        [sys.executable, "-c", _WRITER, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert writer.stdin is not None
    assert writer.stdout is not None
    with writer:
        for turn, _ in enumerate(writer.stdout, start=1):
            with store.read("alice") as snapshot:
                assert snapshot.counter == 1 + turn
                assert len(nearest_numbers(snapshot)) == 1 + 2 * turn
                tea, pot = records_by_term(snapshot, "tea", "pot")
                assert (len(tea), len(pot)) == (1 + 2 * turn, turn)
            writer.stdin.write("\n")
            writer.stdin.flush()
    assert writer.returncode == 0


_WORKER = """
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from memolith.adapters.crypto.ciphers import PlainCipher
from memolith.adapters.sqlite.store import SqliteStore

store = SqliteStore.open(sys.argv[1], cipher=PlainCipher(), busy_timeout_s=30)
held = Path(sys.argv[2])
sys.stdin.read()
at = datetime(2026, 1, 1, tzinfo=UTC)
for turn in range(40):
    at += timedelta(seconds=1)
    lease = store.jobs.acquire("decay", now=at, every_s=0, lease_s=3_600)
    if lease is None:
        continue
    held.touch(exist_ok=False)  # fails if another process holds the lease, too
    done = int(lease.state or 0) + 1
    assert store.jobs.renew(lease, str(done), now=at, lease_s=3_600)
    held.unlink()
    store.jobs.release(lease)
    print("done", flush=True)
store.close()
"""


def test_only_one_of_several_processes_holds_a_job(path: Path, tmp_path: Path) -> None:
    open_store(path).close()
    command = [sys.executable, "-c", _WORKER, str(path), str(tmp_path / "held")]
    workers = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    for each in workers:
        assert each.stdin is not None
        each.stdin.close()
    done = 0
    for each in workers:
        assert each.stdout is not None
        done += len(each.stdout.readlines())
        assert each.wait(60) == 0
        each.stdout.close()
    store = open_store(path)
    lease = store.jobs.acquire("decay", now=at(0), every_s=0, lease_s=1)
    store.close()
    assert lease is not None
    assert lease.state == str(done)
    assert done >= 3


def test_job_of_a_killed_worker_is_resumed_by_another(path: Path) -> None:
    open_store(path).close()
    waiting = 'print("kept", flush=True); sys.stdin.read()'
    dying = _WORKER.replace("sys.stdin.read()", "").replace("held.unlink()", waiting)
    with subprocess.Popen(
        [sys.executable, "-c", dying, str(path), str(path.with_name("held"))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as worker:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "kept\n"
        worker.kill()
    store = open_store(path)
    begun = datetime(2026, 1, 1, tzinfo=UTC)
    after = {s: begun + timedelta(seconds=s) for s in (60, 3_601)}
    assert store.jobs.acquire("decay", now=after[60], every_s=0, lease_s=9) is None
    lease = store.jobs.acquire("decay", now=after[3_601], every_s=0, lease_s=9)
    store.close()
    assert lease is not None
    assert lease.state == "1"


def test_killed_process_leaves_only_complete_transactions(path: Path) -> None:
    open_store(path).close()
    with subprocess.Popen(
        [sys.executable, "-c", _WRITER.replace("sys.stdin.readline()", ""), str(path)],
        stdout=subprocess.PIPE,
        text=True,
    ) as writer:
        assert writer.stdout is not None
        acknowledged = [int(writer.stdout.readline()) for _ in range(5)]
        writer.kill()
    store = open_store(path)
    with store.read("alice") as snapshot:
        kept = snapshot.memories([record_id(n) for n in range(100, 240)])
        assert len(kept) == 2 * snapshot.counter
        assert len(nearest_numbers(snapshot)) == len(kept)
        numbers = {int(one.id[-4:], 16) for one in kept}
    assert numbers.issuperset(acknowledged)
    store.close()


def test_lock_of_another_connection_times_out_with_an_error(store: SqliteStore, path: Path) -> None:
    remember(store, memory(1))
    with closing(apsw.Connection(str(path))) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnavailable) as refused:
            remember(store, memory(2))
        assert refused.value.waited_s >= 0.2
        with store.read("alice") as snapshot:
            assert len(nearest_numbers(snapshot)) == 1
    remember(store, memory(3))


def test_write_of_another_thread_times_out_with_an_error(store: SqliteStore) -> None:
    holds, done = threading.Event(), threading.Event()

    def hold() -> None:
        with store.write("bob"):
            holds.set()
            done.wait()

    holder = threading.Thread(target=hold)
    holder.start()
    holds.wait()
    try:
        with pytest.raises(StoreUnavailable) as refused:
            remember(store, memory(1))
        assert refused.value.waited_s >= 0.2
        with pytest.raises(StoreUnavailable):
            store.close()
    finally:
        done.set()
        holder.join()


def test_write_on_full_disk_is_rolled_back(store: SqliteStore) -> None:
    remember(store, memory(1, "tea"))
    with store._connections.write() as connection:
        pages = connection.row("PRAGMA page_count")
        assert pages is not None
        connection.run(f"PRAGMA max_page_count = {pages[0]}")
    with pytest.raises(StoreUnavailable, match="full"):
        remember(store, memory(2, "x" * 50_000))
    with store.read("alice") as snapshot:
        assert snapshot.counter == 1
        assert records_by_term(snapshot, "tea") == [[1]]
    with store._connections.write() as connection:
        connection.run("PRAGMA max_page_count = 1000000")
    remember(store, memory(3, "tea"))
    with store.read("alice") as snapshot:
        assert records_by_term(snapshot, "tea") == [[1, 3]]


@check_each(
    ("error", "expected"),
    [
        (apsw.BusyError, StoreUnavailable),
        (apsw.LockedError, StoreUnavailable),
        (apsw.FullError, StoreUnavailable),
        (apsw.ReadOnlyError, StoreReadOnly),
        (apsw.CantOpenError, StoreUnavailable),
        (apsw.IOError, StoreUnavailable),
        (apsw.PermissionsError, StoreUnavailable),
        (apsw.NoMemError, StoreUnavailable),
        (apsw.CorruptError, StoreDamaged),
        (apsw.NotADBError, StoreDamaged),
        (apsw.SQLError, StoreDamaged),
    ],
)
def test_every_driver_error_is_translated(
    error: type[apsw.Error], expected: type[MemolithError]
) -> None:
    assert type(translate_error(error("told"), Path("memory.db"))) is expected


def test_forked_child_uses_its_own_connections(
    store: SqliteStore,
) -> None:
    remember(store, memory(1, "tea"))
    child = os.fork()
    if child == 0:
        try:
            remember(store, memory(2, "tea"))
            with store.read("alice") as snapshot:
                exit_code = len(nearest_numbers(snapshot))
        except MemolithError:
            exit_code = 100
        os._exit(exit_code)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 2
    remember(store, memory(3, "tea"))
    with store.read("alice") as snapshot:
        assert records_by_term(snapshot, "tea") == [[1, 2, 3]]


def test_evicted_index_is_rebuilt(path: Path) -> None:
    store = open_store(path, index_cache_bytes=1)
    for owner in ("alice", "bob"):
        remember(store, memory(1, "tea", owner_id=owner), owner_id=owner)
    for _ in range(2):
        for owner in ("alice", "bob"):
            with store.read(owner) as snapshot:
                assert records_by_term(snapshot, "tea") == [[1]]
    assert len(store._indexes._states) == 1
    store.close()


def test_index_is_rebuilt_after_rows_are_removed(store: SqliteStore) -> None:
    remember(store, memory(1, "tea"), memory(2, "tea"))
    with store.read("alice") as snapshot:
        assert nearest_numbers(snapshot) == [1, 2]
    with store._connections.write() as connection:
        for table in ("items", "passages", "terms"):
            connection.run(f"DELETE FROM {table} WHERE item = 1")  # noqa: S608
        connection.run("UPDATE owners SET generation = generation + 1, revision = revision + 1")
        connection.run("COMMIT")
    with store.read("alice") as snapshot:
        assert nearest_numbers(snapshot) == [2]
        assert records_by_term(snapshot, "tea") == [[2]]


def test_old_snapshot_uses_its_own_index_version(store: SqliteStore) -> None:
    remember(store, memory(1, "tea"))
    with store.read("alice") as old:
        assert old.counter == 1
        for number in range(2, 9):
            remember(store, memory(number, "tea"))
            with store.read("alice") as new:
                assert len(nearest_numbers(new)) == number
        assert nearest_numbers(old) == [1]
        assert records_by_term(old, "tea") == [[1]]
        assert old.postings(["tea"], NOW).total == 1


def test_coarse_scan_finds_nearly_all_nearest_vectors(store: SqliteStore) -> None:
    """Above `EXACT_ROWS`, a coarse scan selects candidates; its recall@10 must be at least 99 %."""
    rng = np.random.default_rng(5)
    centres = rng.normal(size=(40, DIMENSION))
    values = quantise(centres[rng.integers(0, 40, 6_000)] + rng.normal(size=(6_000, DIMENSION)))
    entries = [short_entry("tea", *row.tolist()) for row in values]
    with store.write("alice") as tx:
        tx.insert([(memory(n), entry) for n, entry in enumerate(entries, start=1)])
    hits = 0
    with store.read("alice") as snapshot:
        stored = np.stack([vector(*row.tolist()) for row in values])
        for query in stored[:20]:
            true = np.lexsort((np.arange(6_000), -cosines(stored, query)))[:10] + 1
            hits += len({*snapshot.nearest(query, 10, NOW).tolist()} & {*true.tolist()})
    assert hits >= 198


def test_text_with_many_near_passages_is_one_result(store: SqliteStore) -> None:
    """Thousands of near passages of one text do not displace other results."""
    from memolith.testing.builders import entry, passage

    near = [passage(near=(1, n / 9_000)) for n in range(5_000)]
    far = [(memory(n), entry(passage(near=(-1, n)))) for n in range(2, 12)]
    with store.write("alice") as tx:
        tx.insert([(memory(1), entry(*near)), *far])
    with store.read("alice") as snapshot:
        assert nearest_numbers(snapshot, near=(1,), limit=5)[0] == 1
        assert len(nearest_numbers(snapshot, near=(1,), limit=5)) == 5


def test_index_cache_evicts_the_least_recently_used_owner(store: SqliteStore) -> None:
    for owner in ("alice", "bob", "carol"):
        say(store, message(1, "tea", sequence=1, said_at=at(1)), owner_id=owner)
    cache: IndexCache = store._indexes
    for owner in ("alice", "bob"):
        with store.read(owner) as snapshot:
            assert len(nearest_numbers(snapshot)) == 1
    cache._limit_bytes = cache._size + 10
    with store.read("alice") as snapshot:
        assert len(nearest_numbers(snapshot)) == 1
    with store.read("carol") as snapshot:
        assert len(nearest_numbers(snapshot)) == 1
    names = {1: "alice", 2: "bob", 3: "carol"}
    assert [names[number] for number in cache._states] == ["alice", "carol"]


def test_index_cache_counts_memory_allocated_by_queries(store: SqliteStore) -> None:
    for owner in ("alice", "bob"):
        said = [message(n, "tea", sequence=n, said_at=at(n)) for n in range(1, 200)]
        say(store, *said, owner_id=owner)
    cache: IndexCache = store._indexes
    for owner in ("alice", "bob"):
        with store.read(owner) as snapshot:
            assert len(nearest_numbers(snapshot, limit=5)) == 5
    cache._limit_bytes = cache._size + 10
    for owner in ("alice", "bob", "bob"):
        with store.read(owner) as snapshot:
            assert len(records_by_term(snapshot, "tea")[0]) == 199
    assert [*cache._states] == [2]
    assert cache._size == cache._states[2][-1].nbytes


def test_erasing_an_owner_removes_the_cached_index(store: SqliteStore) -> None:
    for owner in ("alice", "bob"):
        remember(store, memory(1, "tea", owner_id=owner), owner_id=owner)
        with store.read(owner) as snapshot:
            assert records_by_term(snapshot, "tea") == [[1]]
    store.erase("alice", at(1))
    cache: IndexCache = store._indexes
    assert [*cache._states] == [2]
    assert cache._size == cache._sizes[2].total_bytes
    with store.read("alice") as snapshot:
        assert nearest_numbers(snapshot) == []


def test_index_of_an_old_generation_is_not_cached(store: SqliteStore) -> None:
    remember(store, memory(1, "tea"))
    with store.read("alice") as old:
        assert nearest_numbers(old) == [1]
        with store._connections.write() as connection:
            connection.run("UPDATE owners SET generation = generation + 1, revision = revision + 1")
            connection.run("COMMIT")
        with store.read("alice") as new:
            assert nearest_numbers(new) == [1]
        assert records_by_term(old, "tea") == [[1]]
    (states,) = store._indexes._states.values()
    assert [state.version.generation for state in states] == [1]
