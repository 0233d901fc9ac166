"""The vector index is built while the store is in use, and the search statement uses it."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import psycopg
import pytest
from numpy.typing import NDArray

from memolith.adapters.crypto.ciphers import PlainCipher
from memolith.adapters.crypto.key_ring import KeyRing
from memolith.adapters.crypto.master_key import KeyFile
from memolith.adapters.crypto.xchacha import KeyRingCiphers
from memolith.adapters.postgres.admin import build_distribution_statements
from memolith.adapters.postgres.connections import VECTOR_SEARCH_SETTINGS, ConnectionSettings
from memolith.adapters.postgres.dsn import DatabaseLocation, parse_dsn, session
from memolith.adapters.postgres.schema import OWNER_TABLES, SHARED_TABLES, NewStoreOptions
from memolith.adapters.postgres.store import PostgresStore
from memolith.adapters.postgres.vector_index import (
    _INDEX_ORDER,
    _NEAREST,
    PgvectorTables,
    VectorIndexSpec,
    build_index_statements,
    build_indexes,
    drop_indexes,
    list_vector_indexes,
)
from memolith.domain.memories import Features, Span, Trait
from memolith.domain.recall import SearchFilter
from memolith.errors import Conflict, InvalidInput, StoreReadOnly
from memolith.policies.indexing import cosines
from memolith.ports.admin import EmbeddingModel
from memolith.ports.cipher import CipherProvider
from memolith.ports.store import IndexEntry, Passage
from memolith.testing.builders import at, memory
from support.postgres import dropped, own

SCHEMA = own("indexed")
MANY, DIMENSION = 300, 15
NAME = "passages_nearest"
DRAWN = np.random.default_rng(7).integers(-127, 128, (2, MANY, DIMENSION), dtype=np.int8)
Vectors = NDArray[np.int8]


@pytest.fixture
def url(postgres_url: str) -> Iterator[str]:
    dropped(postgres_url, SCHEMA)
    yield postgres_url
    dropped(postgres_url, SCHEMA)


@pytest.fixture(params=["plain", "whole", "encrypted"])
def store_in_use(
    request: pytest.FixtureRequest, url: str, tmp_path: Path
) -> Iterator[PostgresStore]:
    """A store that searches in the database, with many vectors of Alice and Bob."""
    ciphers: CipherProvider = PlainCipher()
    if request.param == "encrypted":
        ciphers = KeyRingCiphers(KeyRing(tmp_path / "ring", KeyFile(tmp_path / "key")))
    store = fill_store(url, ciphers, NewStoreOptions(half_precision=request.param == "plain"))
    yield store
    store.close()


def fill_store(url: str, ciphers: CipherProvider, making: NewStoreOptions) -> PostgresStore:
    store = PostgresStore.open(
        url, cipher=ciphers, schema=SCHEMA, options=making, vectors_in_memory=0
    )
    store.adopt_embedder("builders", DIMENSION)
    for owner, vectors in zip(("alice", "bob"), DRAWN, strict=True):
        with store.write(owner) as tx:
            tx.insert([(memory(n, owner_id=owner), entry(each)) for n, each in enumerate(vectors)])
    return store


def entry(vector: Vectors) -> IndexEntry:
    passage = Passage(Span(0, 1), tokens=1, terms={}, vector=vector, digest=None)
    return IndexEntry(Features(Trait.NONE, 1, 1), (passage,), "")


def locate(url: str) -> DatabaseLocation:
    return parse_dsn(url, SCHEMA, 5)


def build(url: str, kind: str = "hnsw", lists: int = 10) -> tuple[bool, list[str]]:
    executed: list[str] = []
    return build_indexes(locate(url), kind, lists, executed.append, lambda _: None), executed


def indexes(url: str) -> dict[str, tuple[str, bool]]:
    with session(locate(url)) as raw:
        return {each.name: (each.kind, each.is_valid) for each in list_vector_indexes(raw, SCHEMA)}


def search_rows(
    store: PostgresStore, query: Vectors, before: str = "", column: str = "vector"
) -> list[tuple[object, ...]]:
    """Run the search statement with sorting disabled, so that only an index can order rows."""
    with store._connections.read("alice") as connection:
        for setting in ("enable_seqscan", "enable_sort"):
            connection.run(f"SET LOCAL {setting} = off")
        owner = connection.get_owner("alice")
        tables = PgvectorTables(connection, store._encryption("alice", owner), owner.number, column)
        hidden = tables.encrypt_query(query)
        statement = before + _NEAREST.format(
            width=tables.width(hidden), vector=column, named="", order=_INDEX_ORDER
        )
        return connection.rows(statement, (owner.number, connection.bind_vector(hidden), 200))


@pytest.mark.parametrize("kind", ["hnsw", "ivfflat"])
def test_search_uses_the_index_and_finds_the_nearest(
    store_in_use: PostgresStore, url: str, kind: str
) -> None:
    assert build(url, kind)[0]
    assert indexes(url) == {NAME: (kind, True)}
    query = DRAWN[0][5] // 2
    plan = "\n".join(str(line) for (line,) in search_rows(store_in_use, query, "EXPLAIN "))
    assert f"Index Scan using {NAME}" in plan
    rows = search_rows(store_in_use, query)
    assert len(rows) == 200
    similar = cosines(DRAWN[0], query)
    exact = (np.argsort(-similar, kind="stable") + 1).tolist()
    assert [row[0] for row in rows][:10] == exact[:10]
    # The error of half-precision distances is below the tolerance of the search.
    off = [abs(1 - float(str(row[1])) - similar[int(str(row[0])) - 1]) for row in rows]
    assert max(off) < PgvectorTables.distance_tolerance
    with store_in_use.read("alice") as snapshot:
        assert snapshot.nearest(query, 10, SearchFilter(now=at(9_999))).tolist() == exact[:10]


def test_search_compares_all_vectors_if_the_index_stops_early(url: str) -> None:
    """With very many owners, the scan limit is reached by vectors of other owners."""
    with closing(fill_store(url, PlainCipher(), NewStoreOptions())) as store:
        build(url)
        with store._connections.read("alice") as connection:
            for setting in ("enable_sort = off", "hnsw.ef_search = 1", "hnsw.max_scan_tuples = 1"):
                connection.run(f"SET LOCAL {setting}")
            owner = connection.get_owner("alice")
            sealing = store._encryption("alice", owner)
            tables = PgvectorTables(connection, sealing, owner.number, "vector")
            query = DRAWN[0][5] // 2
            assert len(search_rows(store, query)) == 200
            near = tables.find_candidates(query, 200, None)
        similar = np.sort(cosines(DRAWN[0], query))[::-1]
        assert len(near.items) == 200
        assert near.min_other_distance == pytest.approx(
            1 - similar[199], abs=PgvectorTables.distance_tolerance
        )


def test_index_of_another_kind_replaces_the_first(url: str) -> None:
    fill_store(url, PlainCipher(), NewStoreOptions()).close()
    assert build(url) == (
        True,
        build_index_statements(VectorIndexSpec("hnsw", "vector", DIMENSION), 0),
    )
    assert build(url) == (False, [])
    _, executed = build(url, "ivfflat")
    assert executed[0] == f"DROP INDEX CONCURRENTLY IF EXISTS {NAME}"
    assert indexes(url) == {NAME: ("ivfflat", True)}
    assert build(url, "ivfflat", 20)[0]
    assert drop_indexes(locate(url), lambda _: None)
    assert not drop_indexes(locate(url), lambda _: None)
    assert indexes(url) == {}


def test_partitioned_table_has_an_index_on_each_partition(url: str) -> None:
    with closing(fill_store(url, PlainCipher(), NewStoreOptions(partitions=2))) as store:
        assert build(url)[0]
        assert indexes(url) == dict.fromkeys(
            (NAME, "passages_0_nearest", "passages_1_nearest"), ("hnsw", True)
        )
        plan = "\n".join(str(line) for (line,) in search_rows(store, DRAWN[0][5], "EXPLAIN "))
        assert re.search(r"Index Scan using passages_[01]_nearest", plan)
        assert build(url) == (False, [])
        assert build(url, "ivfflat")[0]
        assert set(indexes(url).values()) == {("ivfflat", True)}
        assert drop_indexes(locate(url), lambda _: None)
        assert indexes(url) == {}


def test_invalid_index_of_a_killed_build_is_rebuilt(url: str) -> None:
    fill_store(url, PlainCipher(), NewStoreOptions()).close()
    build(url)
    with session(locate(url)) as raw:  # the state after a killed build
        raw.execute(
            "UPDATE pg_index SET indisvalid = false WHERE indexrelid = %s::regclass", (NAME,)
        )
    assert indexes(url) == {NAME: ("hnsw", False)}
    _, executed = build(url)
    assert executed[0] == f"DROP INDEX CONCURRENTLY IF EXISTS {NAME}"
    assert indexes(url) == {NAME: ("hnsw", True)}


def test_resumed_build_keeps_finished_partition_indexes(url: str) -> None:
    fill_store(url, PlainCipher(), NewStoreOptions(partitions=2)).close()
    statements = build_index_statements(VectorIndexSpec("hnsw", "vector", DIMENSION), 2)
    with session(locate(url)) as raw:
        for statement in statements[:3]:
            raw.execute(statement.encode())
    assert indexes(url) == {NAME: ("hnsw", False), "passages_0_nearest": ("hnsw", True)}
    done, executed = build(url)
    assert done
    assert statements[1] not in executed
    assert statements[3] in executed
    assert {valid for _, valid in indexes(url).values()} == {True}


def test_writes_succeed_during_the_index_build(url: str) -> None:
    with closing(fill_store(url, PlainCipher(), NewStoreOptions())) as store:
        done: list[bool] = []
        building_it = threading.Thread(target=lambda: done.append(build(url)[0]))
        building_it.start()
        for n in range(MANY, MANY + 20):
            with store.write("alice") as tx:
                tx.insert([(memory(n), entry(DRAWN[0][0]))])
        building_it.join()
        assert done == [True]
        assert len(search_rows(store, DRAWN[0][0])) == 200


def test_role_that_does_not_own_the_tables_cannot_build_indexes(url: str) -> None:
    fill_store(url, PlainCipher(), NewStoreOptions()).close()
    login = own("memolith_test_indexer")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"DROP ROLE IF EXISTS {login}".encode())
        connection.execute(f"CREATE ROLE {login} LOGIN IN ROLE memolith_application".encode())
    with pytest.raises(StoreReadOnly, match="as the role that does"):
        build(f"{url}{'&' if '?' in url else '?'}user={login}")


def test_vectors_of_a_reembedding_have_their_own_index(url: str) -> None:
    with closing(fill_store(url, PlainCipher(), NewStoreOptions())) as store:
        assert build(url)[0]
        store.begin_reembedding(EmbeddingModel("other", 2 * DIMENSION))
        _, executed = build(url)
        assert executed == build_index_statements(
            VectorIndexSpec("hnsw", "vector2", 2 * DIMENSION), 0
        )
        assert indexes(url) == dict.fromkeys((NAME, f"{NAME}2"), ("hnsw", True))
        store.abandon_reembedding()
        store.mark_unused_removed()
        with pytest.raises(Conflict, match=f"{NAME}2 has another vector length"):
            store.begin_reembedding(EmbeddingModel("third", 3 * DIMENSION))
        store.begin_reembedding(EmbeddingModel("other", 2 * DIMENSION))
        store.abandon_reembedding()
        store.mark_unused_removed()
        _, executed = build(url)
        assert executed == [f"DROP INDEX CONCURRENTLY IF EXISTS {NAME}2"]


def test_index_build_without_vectors_is_refused(url: str) -> None:
    PostgresStore.open(url, cipher=PlainCipher(), schema=SCHEMA).close()
    with pytest.raises(InvalidInput, match="no vectors yet"):
        build(url)


def test_every_table_is_distributed_by_owner_or_replicated() -> None:
    statements = build_distribution_statements()
    assert statements[: len(SHARED_TABLES)] == [
        f"SELECT create_reference_table('{table}')" for table in SHARED_TABLES
    ]
    assert statements[len(SHARED_TABLES)] == "SELECT create_distributed_table('owners', 'owner_id')"
    assert statements[len(SHARED_TABLES) + 1 :] == [
        f"SELECT create_distributed_table('{table}', 'owner_id', colocate_with => 'owners')"
        for table in OWNER_TABLES[1:]
    ]


def test_distributed_transactions_apply_search_settings_on_every_node() -> None:
    """Citus propagates `SET LOCAL`, but neither `SET` nor `set_config`."""
    access = ConnectionSettings("", "a cluster", SCHEMA, None, False, 1, 1, is_distributed=True)
    assert access.transaction_settings == "".join(
        f"; SET LOCAL {setting}" for setting in VECTOR_SEARCH_SETTINGS
    )
    assert not replace(access, is_distributed=False).transaction_settings
