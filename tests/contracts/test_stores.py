"""The contract of a store, run by each adapter."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from memolith.adapters.chroma.client import ChromaServer, EmbeddedChroma
from memolith.adapters.chroma.store import ChromaStore
from memolith.adapters.crypto.ciphers import PlainCipher
from memolith.adapters.crypto.key_ring import KeyRing
from memolith.adapters.crypto.master_key import KeyFile
from memolith.adapters.crypto.xchacha import KeyRingCiphers
from memolith.adapters.inmemory.store import InMemoryStore
from memolith.adapters.sqlite.store import SqliteStore, SqliteVecStore
from memolith.ports.store import Store
from memolith.testing.builders import DIMENSION
from memolith.testing.store_contract import StoreContract
from memolith.testing.store_filters import ScopeContract
from memolith.testing.store_reembedding import ReembeddingContract
from memolith.testing.store_search import NearnessContract
from support.chroma import UpToDateStore, on_server
from support.postgres import dropped, fresh, own

NAME = "memory.db"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a new store, plain, and one that is sealed, with its keys: to be copied.

    To make a store takes ten times as long as to open one that was made.
    """
    folder = tmp_path_factory.mktemp("made")
    SqliteStore.open(folder / "plain" / NAME, cipher=PlainCipher()).close()
    SqliteStore.open(folder / "sealed" / NAME, cipher=ring_in(folder / "sealed")).close()
    return folder


@pytest.fixture
def plain(made: Path, tmp_path: Path) -> Path:
    """A new store of this test's own."""
    return shutil.copytree(made / "plain", tmp_path / "plain") / NAME


@pytest.fixture
def sealed(made: Path, tmp_path: Path) -> Path:
    """A new store of this test's own, with its keys in the same folder."""
    return shutil.copytree(made / "sealed", tmp_path / "sealed") / NAME


def ring_in(folder: Path) -> KeyRingCiphers:
    return KeyRingCiphers(KeyRing(folder / "key.ring", KeyFile(folder / "key")))


class TestInMemoryStore(StoreContract):
    @pytest.fixture
    def fresh_store(self) -> Iterator[Store]:
        store = InMemoryStore()
        yield store
        store.close()


class TestSqliteStore(StoreContract):
    @pytest.fixture
    def fresh_store(self, plain: Path) -> Iterator[Store]:
        store = SqliteStore.open(plain, cipher=PlainCipher())
        yield store
        store.close()


class TestEncryptedSqliteStore(StoreContract):
    @pytest.fixture
    def fresh_store(self, sealed: Path) -> Iterator[Store]:
        store = SqliteStore.open(sealed, cipher=ring_in(sealed.parent))
        yield store
        store.close()


class TestSqliteVecStore(NearnessContract, ScopeContract, ReembeddingContract):
    @pytest.fixture
    def store(self, plain: Path) -> Iterator[Store]:
        store = SqliteVecStore.open(plain, cipher=PlainCipher())
        store.adopt_embedder("builders", DIMENSION)
        yield store
        store.close()


class TestEncryptedSqliteVecStore(NearnessContract, ScopeContract):
    @pytest.fixture
    def store(self, sealed: Path) -> Iterator[Store]:
        store = SqliteVecStore.open(sealed, cipher=ring_in(sealed.parent))
        store.adopt_embedder("builders", DIMENSION)
        yield store
        store.close()


@pytest.mark.soak
class TestStoreWhoseVectorsAreSentMeanwhile(StoreContract):
    @pytest.fixture
    def fresh_store(self, plain: Path) -> Iterator[Store]:
        chroma = EmbeddedChroma(plain.parent / "chroma")
        store = ChromaStore.open(plain, cipher=PlainCipher(), chroma=chroma)
        yield store
        store.close()


class TestStoreWithChromaInThisProcess(NearnessContract):
    @pytest.fixture
    def store(self, plain: Path) -> Iterator[Store]:
        chroma = EmbeddedChroma(plain.parent / "chroma")
        store = UpToDateStore.open(plain, cipher=PlainCipher(), chroma=chroma)
        store.adopt_embedder("builders", DIMENSION)
        yield store
        store.close()


class TestEncryptedStoreWithChromaServer(NearnessContract, ScopeContract):
    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[Store]:
        # Not a copy: on the server the vectors of a store stand under the store's own id.
        chroma = ChromaServer(on_server().url, 30.0)
        store = UpToDateStore.open(tmp_path / NAME, cipher=ring_in(tmp_path), chroma=chroma)
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
        with fresh(postgres_url, own("sealed"), ring_in(keys)) as store:
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
        with fresh(postgres_url, own("sealed"), ring_in(keys), vectors_in_memory=0) as store:
            store.adopt_embedder("builders", DIMENSION)
            yield store
