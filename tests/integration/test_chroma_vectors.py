"""Chroma beside a store: what it has, what is due, and what becomes of it when it fails."""

import json
import logging
import os
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest

from chroma import RunningServer, on_server
from mnemon.adapters.chroma import ledger
from mnemon.adapters.chroma.collections import Chroma, Found, Points
from mnemon.adapters.chroma.embedded import EmbeddedChroma
from mnemon.adapters.chroma.server import ChromaServer
from mnemon.adapters.chroma.store import ChromaStore
from mnemon.adapters.crypto.master import KeyFile
from mnemon.adapters.crypto.plain import PlainCipher
from mnemon.adapters.crypto.ring import KeyRing
from mnemon.adapters.crypto.xchacha import KeyRingCiphers
from mnemon.adapters.sqlite.store import SqliteStore
from mnemon.domain.recall import Scope
from mnemon.errors import InvalidConfiguration, ServiceFailed
from mnemon.ports.cipher import KeyChanging
from mnemon.ports.store import Store
from mnemon.testing.builders import DIMENSION, at, memory, record_id, short_entry
from mnemon.testing.store_reembedding import OTHER, fill, other_vector, reembed
from mnemon.testing.store_search import found

NOW = Scope(now=at(100_000))
SLOW_S = 0.3


class Counting:
    """Passes everything on to a Chroma, and counts the searches."""

    def __init__(self, chroma: Chroma) -> None:
        self._chroma = chroma
        self.searches: list[tuple[str, int]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._chroma, name)

    def nearest(self, name: str, query: Any, most: int) -> Found:
        self.searches.append((name, most))
        return self._chroma.nearest(name, query, most)


def opened(path: Path, chroma: Any, **more: Any) -> ChromaStore:
    store = ChromaStore.open(path, cipher=PlainCipher(), chroma=chroma, **more)
    store.adopt_embedder("builders", DIMENSION)
    return store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ChromaStore]:
    with closing(opened(tmp_path / "memory.db", ChromaServer(on_server().url, 30.0))) as store:
        yield store


def keep(store: Store, numbers: range, owner: str = "alice", angle: float = 0.01) -> None:
    """Store memories, each a little farther from the first axis than the one before."""
    with store.write(owner) as tx:
        tx.insert(
            [(memory(n, f"memory {n}", owner_id=owner), short_entry(f"memory {n}", 1, angle * n))
             for n in numbers]
        )  # fmt: skip


def sent(store: ChromaStore) -> None:
    assert store._sending.send()


def nearest(store: Store, owner: str = "alice", limit: int = 1_000) -> list[int]:
    with store.read(owner) as snapshot:
        return found(snapshot, NOW, (1.0,), limit)


def collection_of(store: ChromaStore, owner: str = "alice") -> str:
    with store._connections.reading() as connection:
        return ledger.name_of(ledger.store_id(connection) or "", connection.owner(owner).number)


def held(store: ChromaStore, owner: str = "alice") -> Points:
    return store._chroma.page(collection_of(store, owner), 0, 1_000)


def test_chroma_has_the_vectors_with_what_is_known_of_them(store: ChromaStore) -> None:
    with store.write("alice") as tx:
        tx.insert(
            [(memory(1, "one", kind="preference", importance=0.75), short_entry("one", 1, 0.5))]
        )
    sent(store)
    points = held(store)
    assert points.ids == ["1.0"]
    assert np.rint(points.vectors).tolist() == [[127, 64, 0, 0, 0, 0, 0, 0]]
    assert points.facts == [
        {"owner": 1, "kind": "preference", "importance": 0.75, "compressed": False}
    ]


def test_no_name_of_an_owner_and_no_text_is_sent(store: ChromaStore) -> None:
    keep(store, range(1, 4), owner="anna-of-oslo")
    sent(store)
    points = held(store, "anna-of-oslo")
    told = json.dumps([collection_of(store, "anna-of-oslo"), points.ids, points.facts])
    assert "anna" not in told
    assert "memory 1" not in told


def test_what_is_nearest_is_asked_of_chroma_when_it_is_up_to_date(tmp_path: Path) -> None:
    counting = Counting(ChromaServer(on_server().url, 30.0))
    with closing(opened(tmp_path / "memory.db", counting)) as store:
        keep(store, range(1, 31))
        sent(store)
        assert nearest(store, limit=5) == [1, 2, 3, 4, 5]
        assert counting.searches == [(collection_of(store), 200)]


def test_what_chroma_does_not_have_yet_is_found(store: ChromaStore) -> None:
    keep(store, range(1, 11))
    sent(store)
    with store._sending.alone():  # so that nothing more is sent
        keep(store, range(11, 21), angle=0.0001)
        assert nearest(store, limit=12) == [*range(11, 21), 1, 2]
        assert store.vectors_due("alice") == 10
    sent(store)
    assert store.vectors_due("alice") == 0
    assert nearest(store, limit=12) == [*range(11, 21), 1, 2]


def test_what_was_purged_leaves_chroma_before_it_is_said_to_be_gone(store: ChromaStore) -> None:
    keep(store, range(1, 4))
    sent(store)
    with store.write("alice") as tx:
        tx.purge([record_id(2)])
    assert store.settle()
    assert sorted(held(store).ids) == ["1.0", "3.0"]
    assert nearest(store) == [1, 3]


def test_an_erased_owner_leaves_no_collection(store: ChromaStore) -> None:
    keep(store, range(1, 4))
    keep(store, range(1, 3), owner="bob")
    sent(store)
    alices, bobs = collection_of(store), collection_of(store, "bob")
    assert store.erase("alice", at(5))
    assert store.settle()
    assert store._chroma.names(alices) == []
    assert store._chroma.names(bobs) == [bobs]
    assert nearest(store, "bob") == [1, 2]


def test_kind_importance_and_compressed_follow_the_memory(store: ChromaStore) -> None:
    keep(store, range(1, 3))
    sent(store)
    with store.write("alice") as tx:
        tx.amend(memory(1, "memory 1", kind="event", importance=0.9))
        tx.amend(memory(2, "memory 2", compressed=True))
    sent(store)
    facts = dict(zip(held(store).ids, held(store).facts, strict=True))
    assert (facts["1.0"]["kind"], facts["1.0"]["importance"]) == ("event", 0.9)
    assert facts["2.0"]["compressed"] is True


def test_a_store_that_nobody_searched_by_chroma_before_is_sent_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with closing(SqliteStore.open(path, cipher=PlainCipher())) as plain:
        plain.adopt_embedder("builders", DIMENSION)
        keep(plain, range(1, 2_101))
    with closing(opened(path, ChromaServer(on_server().url, 30.0))) as store:
        sent(store)
        assert store._chroma.count(collection_of(store)) == 2_100
        assert store.check_file() == []
        assert nearest(store, limit=5) == [1, 2, 3, 4, 5]


def test_what_others_write_without_chroma_is_sent_later(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with closing(opened(path, ChromaServer(on_server().url, 30.0))) as store:
        keep(store, range(1, 4))
        sent(store)
    with closing(SqliteStore.open(path, cipher=PlainCipher())) as plain:
        keep(plain, range(4, 6))
        with plain.write("alice") as tx:
            tx.purge([record_id(1)])
    with closing(opened(path, ChromaServer(on_server().url, 30.0))) as store:
        assert nearest(store) == [2, 3, 4, 5]
        sent(store)
        assert sorted(held(store).ids) == ["2.0", "3.0", "4.0", "5.0"]


def test_owners_with_few_items_can_be_left_out(tmp_path: Path) -> None:
    counting = Counting(ChromaServer(on_server().url, 30.0))
    with closing(opened(tmp_path / "memory.db", counting, in_memory=10)) as store:
        keep(store, range(1, 11))
        keep(store, range(1, 12), owner="bob")
        sent(store)
        assert nearest(store) == list(range(1, 11))
        assert nearest(store, "bob") == list(range(1, 12))
        assert {name for name, _ in counting.searches} == {collection_of(store, "bob")}
        assert store._chroma.names(collection_of(store)) == []
        assert store.vectors_due("alice") == 0
        assert store.check_file() == []


def test_vectors_that_were_made_anew_are_sent_anew(store: ChromaStore) -> None:
    fill(store)
    sent(store)
    reembed(store)
    with store.read("alice") as snapshot:  # while Chroma has those of before
        assert len(snapshot.nearest(other_vector(1, 10), 9, NOW)) == 3
    sent(store)
    assert {len(vector) for vector in held(store).vectors} == {OTHER.dimension}
    assert store.check_file() == []
    with store.read("alice") as snapshot:
        assert len(snapshot.nearest(other_vector(1, 10), 9, NOW)) == 3


def test_another_key_of_an_owner_leaves_no_vector_of_the_key_before(tmp_path: Path) -> None:
    ring = KeyRing(tmp_path / "key.ring", KeyFile(tmp_path / "key"))
    chroma = ChromaServer(on_server().url, 30.0)
    path = tmp_path / "memory.db"
    with closing(ChromaStore.open(path, cipher=KeyRingCiphers(ring), chroma=chroma)) as store:
        store.adopt_embedder("builders", DIMENSION)
        keep(store, range(1, 6))
        sent(store)
        before = {row.tobytes() for row in np.rint(held(store).vectors)}
        assert isinstance(store.cipher, KeyChanging)
        version = store.cipher.add_version("alice")
        store.reseal("alice", version, lambda text, _: short_entry(text, 1))
        sent(store)
        after = {row.tobytes() for row in np.rint(held(store).vectors)}
        assert len(after) == 5
        assert not before & after
        assert store.check_file() == []
        assert nearest(store) == [1, 2, 3, 4, 5]


# --- it fails -----------------------------------------------------------------------------------


def test_while_the_server_is_stopped_nothing_is_lost_and_recall_is_right(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    server = RunningServer(tmp_path / "chroma")
    server.start()
    try:
        with closing(opened(tmp_path / "memory.db", ChromaServer(server.url, 30.0))) as store:
            keep(store, range(1, 11))
            sent(store)
            server.stop()
            keep(store, range(11, 21), angle=0.0001)
            with caplog.at_level(logging.WARNING):
                assert nearest(store, limit=12) == [*range(11, 21), 1, 2]
            assert "Chroma" in caplog.text
            with store.write("alice") as tx:
                tx.purge([record_id(1)])
            assert not store.settle()
            assert nearest(store, limit=12) == [*range(11, 21), 2, 3]
            assert store.vectors_due("alice") == 10
            details = " ".join(each.detail for each in store.check_file())
            assert "can't be reached" in details
            assert "10 vectors" in details
            server.start()
            sent(store)
            assert store.settle()
            assert store.check_file() == []
            assert "1.0" not in held(store).ids
            assert nearest(store, limit=12) == [*range(11, 21), 2, 3]
    finally:
        server.stop()


def test_writers_and_readers_go_on_while_the_server_is_stopped_and_started(
    tmp_path: Path,
) -> None:
    server = RunningServer(tmp_path / "chroma")
    server.start()
    over = threading.Event()
    problems: list[str] = []
    written = dict.fromkeys(("alice", "bob"), 0)

    def write(store: ChromaStore, owner: str) -> None:
        while not over.is_set():
            number = written[owner] + 1
            keep(store, range(number, number + 1), owner)
            written[owner] = number
            over.wait(0.02)

    def read(store: ChromaStore, owner: str) -> None:
        while not over.is_set():
            least = written[owner]
            there = nearest(store, owner)
            if there != list(range(1, len(there) + 1)) or len(there) < least:
                problems.append(f"{owner}: {least} written, found {there}")
            over.wait(0.02)

    try:
        with (
            closing(opened(tmp_path / "memory.db", ChromaServer(server.url, 30.0))) as store,
            ThreadPoolExecutor(4) as pool,
        ):
            doing = [pool.submit(do, store, o) for do in (write, read) for o in written]
            try:
                for _ in range(2):
                    over.wait(0.5)
                    server.stop()
                    over.wait(0.5)
                    server.start()
            finally:
                over.set()
            for each in doing:
                each.result()
            assert problems == []
            sent(store)
            assert store.check_file() == []
            assert {o: len(held(store, o).ids) for o in written} == written
    finally:
        server.stop()


class _Odd(BaseHTTPRequestHandler):
    """Answers what the test says to every request."""

    body = b""
    status = 200
    delay = threading.Event()
    is_slow = False

    def _answer(self) -> None:
        self.rfile.read(int(self.headers.get("content-length") or 0))
        if type(self).is_slow:
            self.delay.wait(10)
        self.send_response(self.status)
        self.send_header("content-length", str(len(self.body)))
        self.end_headers()
        self.wfile.write(self.body)

    do_GET = do_POST = do_PUT = do_DELETE = _answer  # noqa: N815 - http.server's names

    def log_message(self, format: str, *args: object) -> None:
        del format, args  # said nowhere


@contextmanager
def odd_server(**what: Any) -> Iterator[str]:
    over = threading.Event()
    handler = type("Handler", (_Odd,), {**what, "delay": over})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        over.set()
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize(
    "what",
    [
        {"body": b"<html>"},
        {"body": b"[1, 2]"},
        {"body": b'{"id": 5, "metadata": 7}'},
        {"body": b"null"},
        {"status": 404, "body": b'{"error":"NotFoundError","message":"nothing"}'},
        {"status": 500},
        {"status": 302},
        {"status": 404, "body": b"nobody"},
        {"is_slow": True},
    ],
)
def test_odd_answers_change_nothing_that_is_found(tmp_path: Path, what: dict[str, Any]) -> None:
    path = tmp_path / "memory.db"
    with closing(opened(path, ChromaServer(on_server().url, 30.0))) as store:
        keep(store, range(1, 6))
        sent(store)
    with (
        odd_server(**what) as url,
        closing(opened(path, ChromaServer(url, SLOW_S))) as store,
    ):
        keep(store, range(6, 9))
        assert nearest(store) == list(range(1, 9))
        assert store.vectors_due("alice") >= 3  # all of them, where it says that there are none
    with closing(opened(path, ChromaServer(on_server().url, 30.0))) as store:
        sent(store)
        assert nearest(store) == list(range(1, 9))
        assert store.check_file() == []


@pytest.mark.parametrize(
    "answer",
    [
        {"ids": [["1.0", "2.0"]], "distances": [[0.1]]},
        {"ids": [["x", "9.9"]], "distances": [[0.0, 0.1]]},
        {"ids": [["999.0"]], "distances": [[0.0]]},
        {"ids": [[f"{n}.0" for n in range(500)]], "distances": [[0.0] * 500]},
        {"ids": [], "distances": []},
    ],
)
def test_ids_that_a_server_makes_up_find_nothing(tmp_path: Path, answer: dict[str, Any]) -> None:
    class Lying(Counting):
        def nearest(self, name: str, query: Any, most: int) -> Found:
            del name, query, most
            try:
                return Found(answer["ids"][0], answer["distances"][0])
            except IndexError:
                raise ServiceFailed("Chroma", "is odd") from None

    lying = Lying(ChromaServer(on_server().url, 30.0))
    with closing(opened(tmp_path / "memory.db", lying)) as store:
        keep(store, range(1, 6))
        keep(store, range(1, 3), owner="bob")
        sent(store)
        assert nearest(store) == [1, 2, 3, 4, 5]
        assert nearest(store, "bob") == [1, 2]


class Killed(BaseException):
    """The process ends here."""


@pytest.mark.parametrize("at_call", ["stamp", "make", "put", "remove", "mark"])
def test_a_process_that_is_killed_while_it_sends_leaves_what_the_next_can_continue(
    tmp_path: Path, at_call: str
) -> None:
    path = tmp_path / "memory.db"

    class Dying(Counting):
        def __getattribute__(self, name: str) -> Any:
            if name == at_call and at_call in dying:
                raise Killed
            return super().__getattribute__(name)

    dying: set[str] = set()
    store = opened(path, Dying(ChromaServer(on_server().url, 30.0)))
    store._sender.close()
    if at_call == "remove":
        keep(store, range(1, 6))
        sent(store)
        with store.write("alice") as tx:
            tx.purge([record_id(3)])
    else:
        keep(store, range(1, 6))
    dying.add(at_call)
    with pytest.raises(Killed):
        store._sending.send()
    dying.clear()
    store._connections.close()
    store._chroma.close()
    with closing(opened(path, ChromaServer(on_server().url, 30.0))) as store:
        expected = [1, 2, 4, 5] if at_call == "remove" else [1, 2, 3, 4, 5]
        assert nearest(store) == expected
        sent(store)
        assert store.check_file() == []
        assert nearest(store) == expected


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_what_a_process_committed_before_it_was_killed_is_sent_by_the_next(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    opened(path, ChromaServer(on_server().url, 30.0)).close()
    child = os.fork()
    if child == 0:
        store = opened(path, ChromaServer("http://127.0.0.1:9", 30.0))  # so that it can't be sent
        keep(store, range(1, 6))
        os._exit(9)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    with closing(opened(path, ChromaServer(on_server().url, 30.0))) as store:
        assert nearest(store) == [1, 2, 3, 4, 5]
        assert store.check_file() == []
        assert len(held(store).ids) == 5


def test_a_process_that_was_killed_after_it_marked_is_continued(store: ChromaStore) -> None:
    keep(store, range(1, 4))
    sent(store)
    with store._connections.reading() as connection:
        known = ledger.all_sent(connection)[0]
    store._chroma.mark(collection_of(store), ledger.facts_of("x", known.owner, "next"))
    with store._connections.writing() as connection:
        connection.run("UPDATE vectors_sent SET sending = 'next', next_item = 1")
        connection.run("COMMIT")
    assert nearest(store) == [1, 2, 3]
    sent(store)
    assert store.check_file() == []


# --- what is not the store's own ----------------------------------------------------------------


def differ(store: ChromaStore, how: str) -> None:
    """Have Chroma hold something else than the store left in it."""
    name, chroma = collection_of(store), store._chroma
    if how == "lacks":
        chroma.remove(name, ["2.0"])
    elif how == "moved":
        chroma.put(
            name, Points(["2.0"], np.ones((1, DIMENSION), np.float32), held(store).facts[:1])
        )
    elif how == "nobody's":
        chroma.put(name, Points(["77.0"], np.ones((1, DIMENSION), np.float32), [{"owner": 9}]))
    elif how == "dropped":
        chroma.drop(name)
    elif how == "another's":
        chroma.mark(name, {"stamp": "other"})
    elif how == "stranger":
        chroma.make(name[: name.rindex("-")] + "-4711", {"stamp": "x"})


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ("lacks", "lacks 1"),
        ("moved", "1 vectors in Chroma are not as"),
        ("nobody's", "1 vectors in Chroma are nobody's"),
        ("another's", "not as this store left it"),
        ("stranger", "is nobody's"),
    ],
)
def test_verify_finds_what_differs_and_repairs_it(store: ChromaStore, how: str, told: str) -> None:
    keep(store, range(1, 6))
    sent(store)
    differ(store, how)
    assert told in " ".join(each.detail for each in store.check_file())
    store.repair_file()
    assert store.check_file() == []
    assert sorted(held(store).ids) == ["1.0", "2.0", "3.0", "4.0", "5.0"]
    assert nearest(store) == [1, 2, 3, 4, 5]


def test_a_collection_that_is_gone_is_made_anew(store: ChromaStore) -> None:
    keep(store, range(1, 6))
    sent(store)
    differ(store, "dropped")
    assert nearest(store) == [1, 2, 3, 4, 5]
    keep(store, range(6, 7))
    sent(store)
    assert len(held(store).ids) == 6


def test_a_restored_backup_notices_that_chroma_went_on(tmp_path: Path) -> None:
    path, copy = tmp_path / "memory.db", tmp_path / "copy.db"
    with closing(opened(path, ChromaServer(on_server().url, 30.0))) as store:
        keep(store, range(1, 4))
        sent(store)
        store.back_up(copy, overwrite=False, advance=None)
        keep(store, range(4, 7))
        sent(store)
    with closing(opened(copy, ChromaServer(on_server().url, 30.0))) as older:
        assert nearest(older) == [1, 2, 3]
        keep(older, range(7, 9))
        assert nearest(older) == [1, 2, 3, 7, 8]
        assert not older._sending.send()
        assert "not as this store left it" in older.check_file()[0].detail
        older.repair_file()
        assert older.check_file() == []
        assert nearest(older) == [1, 2, 3, 7, 8]


# --- owners, processes --------------------------------------------------------------------------


def test_no_owner_is_ever_found_in_another_owners_collection(store: ChromaStore) -> None:
    keep(store, range(1, 30), owner="alice")
    keep(store, range(101, 104), owner="bob")
    sent(store)
    bobs = held(store, "bob")
    store._chroma.put(  # somebody copies Bob's vectors into Alice's
        collection_of(store), Points([f"9{n}.0" for n in range(3)], bobs.vectors, bobs.facts)
    )
    assert set(nearest(store)) == set(range(1, 30))
    assert nearest(store, "bob") == [101, 102, 103]
    assert nearest(store, "nobody' OR 1=1 --") == []


def test_a_second_process_answers_without_a_chroma_that_the_first_has(tmp_path: Path) -> None:
    path, folder = tmp_path / "memory.db", tmp_path / "chroma"
    with closing(opened(path, EmbeddedChroma(folder))) as first:
        keep(first, range(1, 4))
        sent(first)
        with closing(
            opened(path, EmbeddedChroma(folder))
        ) as second:  # another lock, as another has
            with pytest.raises(ServiceFailed, match="another process"):
                second._chroma.names("")
            keep(second, range(4, 6))
            assert nearest(second) == [1, 2, 3, 4, 5]
        assert nearest(first) == [1, 2, 3, 4, 5]
        sent(first)
        assert len(held(first).ids) == 5


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_child_answers_and_leaves_its_parents_chroma_alone(tmp_path: Path) -> None:
    for chroma in (EmbeddedChroma(tmp_path / "chroma"), ChromaServer(on_server().url, 30.0)):
        path = tmp_path / f"{type(chroma).__name__}.db"
        with closing(opened(path, chroma)) as store:
            keep(store, range(1, 4))
            sent(store)
            child = os.fork()
            if child == 0:
                status = 1
                try:
                    keep(store, range(4, 6))
                    is_right = nearest(store) == [1, 2, 3, 4, 5]
                    store.close()
                    status = 0 if is_right else 2
                finally:
                    os._exit(status)
            assert os.waitpid(child, 0)[1] == 0
            assert nearest(store) == [1, 2, 3, 4, 5]
            sent(store)
            assert store.check_file() == []


def test_closing_leaves_nothing_open(tmp_path: Path) -> None:
    for chroma in (EmbeddedChroma(tmp_path / "chroma"), ChromaServer(on_server().url, 30.0)):
        store = opened(tmp_path / f"{type(chroma).__name__}.db", chroma)
        keep(store, range(1, 4))
        store.close()
        store.close()
    assert [each.name for each in threading.enumerate() if each.name == "mnemon-vectors"] == []
    assert [each for each in _open_files() if each.is_relative_to(tmp_path)] == []


def _open_files() -> Iterator[Path]:
    folder = Path("/proc/self/fd")
    if not folder.is_dir():
        pytest.skip("the system does not tell what is open")
    for each in folder.iterdir():
        with suppress(FileNotFoundError):  # that of this loop
            yield each.readlink()


def test_what_was_committed_before_closing_is_sent_by_then(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with closing(opened(path, ChromaServer(on_server().url, 30.0))) as store:
        keep(store, range(1, 4))
    with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)) as file:
        assert file.execute("SELECT next_item, sending FROM vectors_sent").fetchall() == [(4, None)]


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://x", "http://", "chroma"])
def test_what_is_no_url_of_a_server_is_refused(url: str) -> None:
    with pytest.raises(InvalidConfiguration, match="http://"):
        ChromaServer(url, 1.0)


def test_a_port_where_nobody_listens_is_said_to_be_unreachable() -> None:
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
        with pytest.raises(ServiceFailed, match="can't be reached"):
            ChromaServer(url, 1.0).names("")
