"""Vectors in Chroma: contents, updates and removal."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from memolith.adapters.chroma.client import ChromaServer
from memolith.adapters.chroma.store import ChromaStore
from memolith.adapters.crypto.ciphers import PlainCipher
from memolith.adapters.crypto.key_ring import KeyRing
from memolith.adapters.crypto.master_key import KeyFile
from memolith.adapters.crypto.xchacha import KeyRingCiphers
from memolith.adapters.sqlite.store import SqliteStore
from memolith.ports.cipher import SupportsKeyRotation
from memolith.testing.builders import DIMENSION, at, memory, record_id, short_entry
from memolith.testing.store_reembedding import OTHER, fill, other_vector, reembed
from support.chroma import (
    NOW,
    Counting,
    collection_of,
    held,
    keep,
    nearest,
    on_server,
    opened,
    sent,
)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ChromaStore]:
    with closing(opened(tmp_path / "memory.db", ChromaServer(on_server().url, 30.0))) as store:
        yield store


def test_chroma_stores_vectors_with_metadata(store: ChromaStore) -> None:
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


def test_owner_names_and_texts_are_not_sent_to_chroma(store: ChromaStore) -> None:
    keep(store, range(1, 4), owner="anna-of-oslo")
    sent(store)
    points = held(store, "anna-of-oslo")
    sent_text = json.dumps([collection_of(store, "anna-of-oslo"), points.ids, points.facts])
    assert "anna" not in sent_text
    assert "memory 1" not in sent_text


def test_recall_searches_chroma_when_it_is_current(tmp_path: Path) -> None:
    counting = Counting(ChromaServer(on_server().url, 30.0))
    with closing(opened(tmp_path / "memory.db", counting)) as store:
        keep(store, range(1, 31))
        sent(store)
        assert nearest(store, limit=5) == [1, 2, 3, 4, 5]
        assert counting.searches == [(collection_of(store), 200)]


def test_recall_finds_vectors_pending_for_chroma(store: ChromaStore) -> None:
    keep(store, range(1, 11))
    sent(store)
    with store._outbox_sender.exclusive():  # nothing more is sent meanwhile
        keep(store, range(11, 21), angle=0.0001)
        assert nearest(store, limit=12) == [*range(11, 21), 1, 2]
        assert store.vectors_pending("alice") == 10
    sent(store)
    assert store.vectors_pending("alice") == 0
    assert nearest(store, limit=12) == [*range(11, 21), 1, 2]


def test_compaction_waits_until_purged_vectors_leave_chroma(store: ChromaStore) -> None:
    keep(store, range(1, 4))
    sent(store)
    with store.write("alice") as tx:
        tx.purge([record_id(2)])
    assert store.compact()
    assert sorted(held(store).ids) == ["1.0", "3.0"]
    assert nearest(store) == [1, 3]


def test_erase_drops_collection_of_owner(store: ChromaStore) -> None:
    keep(store, range(1, 4))
    keep(store, range(1, 3), owner="bob")
    sent(store)
    alices, bobs = collection_of(store), collection_of(store, "bob")
    assert store.erase("alice", at(5))
    assert store.compact()
    assert store._chroma.names(alices) == []
    assert store._chroma.names(bobs) == [bobs]
    assert nearest(store, "bob") == [1, 2]


def test_metadata_in_chroma_follows_amended_memories(store: ChromaStore) -> None:
    keep(store, range(1, 3))
    sent(store)
    with store.write("alice") as tx:
        tx.amend(memory(1, "memory 1", kind="event", importance=0.9))
        tx.amend(memory(2, "memory 2", compressed=True))
    sent(store)
    facts = dict(zip(held(store).ids, held(store).facts, strict=True))
    assert (facts["1.0"]["kind"], facts["1.0"]["importance"]) == ("event", 0.9)
    assert facts["2.0"]["compressed"] is True


def test_existing_store_is_sent_to_chroma_completely(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with closing(SqliteStore.open(path, cipher=PlainCipher())) as plain:
        plain.adopt_embedder("builders", DIMENSION)
        keep(plain, range(1, 2_101))
    with closing(opened(path, ChromaServer(on_server().url, 30.0))) as store:
        sent(store)
        assert store._chroma.count(collection_of(store)) == 2_100
        assert store.check_file() == []
        assert nearest(store, limit=5) == [1, 2, 3, 4, 5]


def test_writes_made_without_chroma_are_sent_later(tmp_path: Path) -> None:
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


def test_small_owners_are_searched_in_memory(tmp_path: Path) -> None:
    counting = Counting(ChromaServer(on_server().url, 30.0))
    with closing(opened(tmp_path / "memory.db", counting, in_memory=10)) as store:
        keep(store, range(1, 11))
        keep(store, range(1, 12), owner="bob")
        sent(store)
        assert nearest(store) == list(range(1, 11))
        assert nearest(store, "bob") == list(range(1, 12))
        assert {name for name, _ in counting.searches} == {collection_of(store, "bob")}
        assert store._chroma.names(collection_of(store)) == []
        assert store.vectors_pending("alice") == 0
        assert store.check_file() == []


def test_reembedded_vectors_are_sent_again(store: ChromaStore) -> None:
    fill(store)
    sent(store)
    reembed(store)
    with store.read("alice") as snapshot:  # Chroma still has the old vectors
        assert len(snapshot.nearest(other_vector(1, 10), 9, NOW)) == 3
    sent(store)
    assert {len(vector) for vector in held(store).vectors} == {OTHER.dimension}
    assert store.check_file() == []
    with store.read("alice") as snapshot:
        assert len(snapshot.nearest(other_vector(1, 10), 9, NOW)) == 3


def test_key_rotation_replaces_all_vectors_in_chroma(tmp_path: Path) -> None:
    ring = KeyRing(tmp_path / "key.ring", KeyFile(tmp_path / "key"))
    chroma = ChromaServer(on_server().url, 30.0)
    path = tmp_path / "memory.db"
    with closing(ChromaStore.open(path, cipher=KeyRingCiphers(ring), chroma=chroma)) as store:
        store.adopt_embedder("builders", DIMENSION)
        keep(store, range(1, 6))
        sent(store)
        before = {row.tobytes() for row in np.rint(held(store).vectors)}
        assert isinstance(store.cipher, SupportsKeyRotation)
        version = store.cipher.add_key_version("alice")
        store.rekey("alice", version, lambda text, _: short_entry(text, 1))
        sent(store)
        after = {row.tobytes() for row in np.rint(held(store).vectors)}
        assert len(after) == 5
        assert not before & after
        assert store.check_file() == []
        assert nearest(store) == [1, 2, 3, 4, 5]
