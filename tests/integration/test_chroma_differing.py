"""Chroma's content differs from the store: changes by others, owners, processes."""

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import apsw
import numpy as np
import pytest

from memolith.adapters.chroma.client import ChromaServer, EmbeddedChroma, Points
from memolith.adapters.chroma.store import ChromaStore
from memolith.errors import InvalidConfiguration, ServiceFailed
from memolith.testing.builders import DIMENSION
from support.chroma import collection_of, held, keep, nearest, on_server, opened, sent
from support.rows import check_each


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ChromaStore]:
    with closing(opened(tmp_path / "memory.db", ChromaServer(on_server().url, 30.0))) as store:
        yield store


def change_chroma(store: ChromaStore, how: str) -> None:
    """Change Chroma's content behind the store's back."""
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
    ("how", "expected_detail"),
    [
        ("lacks", "1 vectors are missing"),
        ("moved", "1 vectors in Chroma differ"),
        ("nobody's", "1 vectors in Chroma have no passage"),
        ("another's", "was changed outside this store"),
        ("stranger", "has no owner"),
    ],
)
def test_verify_reports_and_repairs_differing_vectors(
    store: ChromaStore, how: str, expected_detail: str
) -> None:
    keep(store, range(1, 6))
    sent(store)
    change_chroma(store, how)
    assert expected_detail in " ".join(each.detail for each in store.check_file())
    store.repair_file()
    assert store.check_file() == []
    assert sorted(held(store).ids) == ["1.0", "2.0", "3.0", "4.0", "5.0"]
    assert nearest(store) == [1, 2, 3, 4, 5]


def test_deleted_collection_is_recreated(store: ChromaStore) -> None:
    keep(store, range(1, 6))
    sent(store)
    change_chroma(store, "dropped")
    assert nearest(store) == [1, 2, 3, 4, 5]
    keep(store, range(6, 7))
    sent(store)
    assert len(held(store).ids) == 6


def test_restored_backup_detects_newer_chroma_content(tmp_path: Path) -> None:
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
        assert not older._outbox_sender.send()
        assert "was changed outside this store" in older.check_file()[0].detail
        older.repair_file()
        assert older.check_file() == []
        assert nearest(older) == [1, 2, 3, 7, 8]


def test_foreign_vectors_in_collection_are_never_returned(store: ChromaStore) -> None:
    keep(store, range(1, 30), owner="alice")
    keep(store, range(101, 104), owner="bob")
    sent(store)
    bobs = held(store, "bob")
    store._chroma.put(  # copy Bob's vectors into Alice's collection
        collection_of(store), Points([f"9{n}.0" for n in range(3)], bobs.vectors, bobs.facts)
    )
    assert set(nearest(store)) == set(range(1, 30))
    assert nearest(store, "bob") == [101, 102, 103]
    assert nearest(store, "nobody' OR 1=1 --") == []


def test_second_process_recalls_without_locked_chroma(tmp_path: Path) -> None:
    path, folder = tmp_path / "memory.db", tmp_path / "chroma"
    with closing(opened(path, EmbeddedChroma(folder))) as first:
        keep(first, range(1, 4))
        sent(first)
        # A lock of its own, as in another process.
        with closing(opened(path, EmbeddedChroma(folder))) as second:
            with pytest.raises(ServiceFailed, match="another process"):
                second._chroma.names("")
            keep(second, range(4, 6))
            assert nearest(second) == [1, 2, 3, 4, 5]
        assert nearest(first) == [1, 2, 3, 4, 5]
        sent(first)
        assert len(held(first).ids) == 5


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_forked_child_recalls_and_leaves_parents_chroma_intact(tmp_path: Path) -> None:
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


def test_close_ends_threads_and_closes_files(tmp_path: Path) -> None:
    for chroma in (EmbeddedChroma(tmp_path / "chroma"), ChromaServer(on_server().url, 30.0)):
        store = opened(tmp_path / f"{type(chroma).__name__}.db", chroma)
        keep(store, range(1, 4))
        store.close()
        store.close()
    assert [each.name for each in threading.enumerate() if each.name == "memolith-vectors"] == []
    assert [each for each in _open_files() if each.is_relative_to(tmp_path)] == []


def _open_files() -> Iterator[Path]:
    folder = Path("/proc/self/fd")
    if not folder.is_dir():
        pytest.skip("this system does not list open files")
    for each in folder.iterdir():
        with suppress(FileNotFoundError):  # the descriptor of this loop itself
            yield each.readlink()


def test_close_sends_committed_vectors(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with closing(opened(path, ChromaServer(on_server().url, 30.0))) as store:
        keep(store, range(1, 4))
    with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)) as file:
        assert file.execute("SELECT next_item, sending FROM vectors_sent").fetchall() == [(4, None)]


@check_each("url", ["localhost:8000", "ftp://x", "http://", "chroma"])
def test_invalid_server_url_is_rejected(url: str) -> None:
    with pytest.raises(InvalidConfiguration, match="http://"):
        ChromaServer(url, 1.0)


def test_closed_port_raises_unreachable_error() -> None:
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
        with pytest.raises(ServiceFailed, match="unreachable"):
            ChromaServer(url, 1.0).names("")
