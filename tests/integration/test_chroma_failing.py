"""Chroma or the sending process fails: no vector is lost and recall stays correct."""

import logging
import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from memolith.adapters.chroma import outbox
from memolith.adapters.chroma.client import ChromaServer, EmbeddedChroma, NearestPoints
from memolith.adapters.chroma.store import ChromaStore
from memolith.errors import ServiceFailed
from memolith.testing.builders import record_id
from support.chroma import (
    Counting,
    RunningServer,
    collection_of,
    held,
    keep,
    nearest,
    on_server,
    opened,
    sent,
)

SLOW_S = 0.3


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ChromaStore]:
    with closing(opened(tmp_path / "memory.db", ChromaServer(on_server().url, 30.0))) as store:
        yield store


def test_recall_is_correct_while_server_is_stopped(
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
            assert not store.compact()
            assert nearest(store, limit=12) == [*range(11, 21), 2, 3]
            assert store.vectors_pending("alice") == 10
            details = " ".join(each.detail for each in store.check_file())
            assert "unreachable" in details
            assert "10 vectors" in details
            server.start()
            sent(store)
            assert store.compact()
            assert store.check_file() == []
            assert "1.0" not in held(store).ids
            assert nearest(store, limit=12) == [*range(11, 21), 2, 3]
    finally:
        server.stop()


def test_readers_and_writers_continue_while_server_restarts(
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


class _ScriptedHandler(BaseHTTPRequestHandler):
    """Sends the test's response to every request."""

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
        del format, args  # no log


@contextmanager
def scripted_server(**response: Any) -> Iterator[str]:
    over = threading.Event()
    handler = type("Handler", (_ScriptedHandler,), {**response, "delay": over})
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
    "response",
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
def test_malformed_responses_do_not_change_recall(tmp_path: Path, response: dict[str, Any]) -> None:
    path = tmp_path / "memory.db"
    with closing(opened(path, ChromaServer(on_server().url, 30.0))) as store:
        keep(store, range(1, 6))
        sent(store)
    with (
        scripted_server(**response) as url,
        closing(opened(path, ChromaServer(url, SLOW_S))) as store,
    ):
        keep(store, range(6, 9))
        assert nearest(store) == list(range(1, 9))
        assert store.vectors_pending("alice") >= 3  # all of them, if the server reports none
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
def test_invented_ids_from_server_return_nothing(tmp_path: Path, answer: dict[str, Any]) -> None:
    class Lying(Counting):
        def nearest(self, name: str, query: Any, most: int) -> NearestPoints:
            del name, query, most
            try:
                return NearestPoints(answer["ids"][0], answer["distances"][0])
            except IndexError:
                raise ServiceFailed("Chroma", "is odd") from None

    lying = Lying(ChromaServer(on_server().url, 30.0))
    with closing(opened(tmp_path / "memory.db", lying)) as store:
        keep(store, range(1, 6))
        keep(store, range(1, 3), owner="bob")
        sent(store)
        assert nearest(store) == [1, 2, 3, 4, 5]
        assert nearest(store, "bob") == [1, 2]


def test_damaged_chroma_does_not_change_recall(tmp_path: Path) -> None:
    folder = tmp_path / "chroma"
    folder.mkdir()
    (folder / "chroma.sqlite3").write_bytes(b"nothing of Chroma's" * 100)
    with closing(opened(tmp_path / "memory.db", EmbeddedChroma(folder))) as store:
        for number in range(1, 4):
            keep(store, range(number, number + 1))
            assert nearest(store) == list(range(1, number + 1))
        assert store.vectors_pending("alice") == 3
        assert store.check_file()


def test_recall_works_when_lock_file_cannot_be_created(tmp_path: Path) -> None:
    (tmp_path / "memory.db-vectors").mkdir()
    with closing(opened(tmp_path / "memory.db", ChromaServer(on_server().url, 30.0))) as store:
        keep(store, range(1, 4))
        assert nearest(store) == [1, 2, 3]
        assert store.vectors_pending("alice") == 3
        assert "can't be locked" in store.check_file()[0].detail


class Killed(BaseException):
    """Stands for the end of the process."""


@pytest.mark.parametrize("at_call", ["stamp", "make", "put", "remove", "mark"])
def test_next_process_continues_after_kill_during_send(tmp_path: Path, at_call: str) -> None:
    path = tmp_path / "memory.db"

    class Dying(Counting):
        def __getattribute__(self, name: str) -> Any:
            if name == at_call and at_call in dying:
                raise Killed
            return super().__getattribute__(name)

    dying: set[str] = set()
    store = opened(path, Dying(ChromaServer(on_server().url, 30.0)))
    store._outbox_worker.close()
    if at_call == "remove":
        keep(store, range(1, 6))
        sent(store)
        with store.write("alice") as tx:
            tx.purge([record_id(3)])
    else:
        keep(store, range(1, 6))
    dying.add(at_call)
    with pytest.raises(Killed):
        store._outbox_sender.send()
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
def test_next_process_sends_vectors_committed_before_kill(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    opened(path, ChromaServer(on_server().url, 30.0)).close()
    child = os.fork()
    if child == 0:
        # An unreachable server: nothing can be sent.
        store = opened(path, ChromaServer("http://127.0.0.1:9", 30.0))
        keep(store, range(1, 6))
        os._exit(9)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    with closing(opened(path, ChromaServer(on_server().url, 30.0))) as store:
        assert nearest(store) == [1, 2, 3, 4, 5]
        assert store.check_file() == []
        assert len(held(store).ids) == 5


def test_next_process_continues_after_kill_following_mark(store: ChromaStore) -> None:
    keep(store, range(1, 4))
    sent(store)
    with store._connections.read() as connection:
        known = outbox.list_sent(connection)[0]
    store._chroma.mark(collection_of(store), outbox.collection_facts("x", known.owner, "next"))
    with store._connections.write() as connection:
        connection.run("UPDATE vectors_sent SET sending = 'next', next_item = 1")
        connection.run("COMMIT")
    assert nearest(store) == [1, 2, 3]
    sent(store)
    assert store.check_file() == []
