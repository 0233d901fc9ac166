"""Chroma beside a store: what it has of it, and what becomes of that."""

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
    with store._outbox_sender.exclusive():  # so that nothing more is sent
        keep(store, range(11, 21), angle=0.0001)
        assert nearest(store, limit=12) == [*range(11, 21), 1, 2]
        assert store.vectors_pending("alice") == 10
    sent(store)
    assert store.vectors_pending("alice") == 0
    assert nearest(store, limit=12) == [*range(11, 21), 1, 2]


def test_what_was_purged_leaves_chroma_before_it_is_said_to_be_gone(store: ChromaStore) -> None:
    keep(store, range(1, 4))
    sent(store)
    with store.write("alice") as tx:
        tx.purge([record_id(2)])
    assert store.compact()
    assert sorted(held(store).ids) == ["1.0", "3.0"]
    assert nearest(store) == [1, 3]


def test_an_erased_owner_leaves_no_collection(store: ChromaStore) -> None:
    keep(store, range(1, 4))
    keep(store, range(1, 3), owner="bob")
    sent(store)
    alices, bobs = collection_of(store), collection_of(store, "bob")
    assert store.erase("alice", at(5))
    assert store.compact()
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
        assert store.vectors_pending("alice") == 0
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
        assert isinstance(store.cipher, SupportsKeyRotation)
        version = store.cipher.add_key_version("alice")
        store.rekey("alice", version, lambda text, _: short_entry(text, 1))
        sent(store)
        after = {row.tobytes() for row in np.rint(held(store).vectors)}
        assert len(after) == 5
        assert not before & after
        assert store.check_file() == []
        assert nearest(store) == [1, 2, 3, 4, 5]
