"""The contract of a store, run by each adapter."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from chroma import UpToDateStore, on_server
from mnemon.adapters.chroma.embedded import EmbeddedChroma
from mnemon.adapters.chroma.server import ChromaServer
from mnemon.adapters.chroma.store import ChromaStore
from mnemon.adapters.crypto.master import KeyFile
from mnemon.adapters.crypto.plain import PlainCipher
from mnemon.adapters.crypto.ring import KeyRing
from mnemon.adapters.crypto.xchacha import KeyRingCiphers
from mnemon.adapters.inmemory.store import InMemoryStore
from mnemon.adapters.sqlite.store import SqliteStore
from mnemon.adapters.sqlite.vec import SqliteVecStore
from mnemon.ports.store import Store
from mnemon.testing.builders import DIMENSION
from mnemon.testing.store_contract import StoreContract
from mnemon.testing.store_reembedding import ReembeddingContract
from mnemon.testing.store_scopes import ScopeContract
from mnemon.testing.store_search import NearnessContract
from postgres import dropped, fresh, own


class TestInMemoryStore(StoreContract):
    @pytest.fixture
    def fresh_store(self) -> Iterator[Store]:
        store = InMemoryStore()
        yield store
        store.close()


class TestSqliteStore(StoreContract):
    @pytest.fixture
    def fresh_store(self, tmp_path: Path) -> Iterator[Store]:
        store = SqliteStore.open(tmp_path / "memory.db", cipher=PlainCipher())
        yield store
        store.close()


class TestEncryptedSqliteStore(StoreContract):
    @pytest.fixture
    def fresh_store(self, tmp_path: Path) -> Iterator[Store]:
        keys = tmp_path / "keys"
        ring = KeyRing(keys / "key.ring", KeyFile(keys / "key"))
        store = SqliteStore.open(tmp_path / "memory.db", cipher=KeyRingCiphers(ring))
        yield store
        store.close()


class TestSqliteVecStore(NearnessContract, ScopeContract, ReembeddingContract):
    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[Store]:
        store = SqliteVecStore.open(tmp_path / "memory.db", cipher=PlainCipher())
        store.adopt_embedder("builders", DIMENSION)
        yield store
        store.close()


class TestEncryptedSqliteVecStore(NearnessContract, ScopeContract):
    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[Store]:
        keys = tmp_path / "keys"
        ring = KeyRing(keys / "key.ring", KeyFile(keys / "key"))
        store = SqliteVecStore.open(tmp_path / "memory.db", cipher=KeyRingCiphers(ring))
        store.adopt_embedder("builders", DIMENSION)
        yield store
        store.close()


@pytest.mark.soak
class TestStoreWhoseVectorsAreSentMeanwhile(StoreContract):
    @pytest.fixture
    def fresh_store(self, tmp_path: Path) -> Iterator[Store]:
        chroma = EmbeddedChroma(tmp_path / "chroma")
        store = ChromaStore.open(tmp_path / "memory.db", cipher=PlainCipher(), chroma=chroma)
        yield store
        store.close()


class TestStoreWithChromaInThisProcess(NearnessContract):
    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[Store]:
        chroma = EmbeddedChroma(tmp_path / "chroma")
        store = UpToDateStore.open(tmp_path / "memory.db", cipher=PlainCipher(), chroma=chroma)
        store.adopt_embedder("builders", DIMENSION)
        yield store
        store.close()


class TestEncryptedStoreWithChromaServer(NearnessContract, ScopeContract):
    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[Store]:
        keys = tmp_path / "keys"
        cipher = KeyRingCiphers(KeyRing(keys / "key.ring", KeyFile(keys / "key")))
        chroma = ChromaServer(on_server().url, 30.0)
        store = UpToDateStore.open(tmp_path / "memory.db", cipher=cipher, chroma=chroma)
        store.adopt_embedder("builders", DIMENSION)
        yield store
        store.close()


@pytest.mark.soak  # encrypted, as stores are, it stands below; the machine runs it plain
class TestPostgresStore(StoreContract):
    @pytest.fixture
    def fresh_store(self, postgres_url: str) -> Iterator[Store]:
        with fresh(postgres_url, own("plain"), PlainCipher()) as store:
            yield store


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory, postgres_url: str) -> Path:
    """A folder for the key ring of a store that is emptied for each test, and keeps its keys."""
    dropped(postgres_url, own("sealed"))
    return tmp_path_factory.mktemp("keys")


class TestEncryptedPostgresStore(StoreContract):
    @pytest.fixture
    def fresh_store(self, postgres_url: str, keys: Path) -> Iterator[Store]:
        ring = KeyRing(keys / "key.ring", KeyFile(keys / "key"))
        with fresh(postgres_url, own("sealed"), KeyRingCiphers(ring)) as store:
            yield store


@pytest.mark.soak
class TestPostgresStoreWithVectorsInTheDatabase(
    NearnessContract, ScopeContract, ReembeddingContract
):
    @pytest.fixture
    def store(self, postgres_url: str) -> Iterator[Store]:
        with fresh(postgres_url, own("plain"), PlainCipher(), vectors_in_memory=0) as store:
            store.adopt_embedder("builders", DIMENSION)
            yield store


class TestEncryptedPostgresStoreWithVectorsInTheDatabase(
    NearnessContract, ScopeContract, ReembeddingContract
):
    @pytest.fixture
    def store(self, postgres_url: str, keys: Path) -> Iterator[Store]:
        ring = KeyRing(keys / "key.ring", KeyFile(keys / "key"))
        with fresh(postgres_url, own("sealed"), KeyRingCiphers(ring), vectors_in_memory=0) as store:
            store.adopt_embedder("builders", DIMENSION)
            yield store
