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
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an unencrypted and an encrypted store, and its keys, to be copied.

    Creating a store takes ten times as long as opening one.
    """
    folder = tmp_path_factory.mktemp("made")
    SqliteStore.open(folder / "plain" / NAME, cipher=PlainCipher()).close()
    SqliteStore.open(folder / "sealed" / NAME, cipher=build_ciphers(folder / "sealed")).close()
    return folder


@pytest.fixture
def plain_path(template: Path, tmp_path: Path) -> Path:
    """A new unencrypted store for one test."""
    return shutil.copytree(template / "plain", tmp_path / "plain") / NAME


@pytest.fixture
def encrypted_path(template: Path, tmp_path: Path) -> Path:
    """A new encrypted store for one test, with its keys in the same folder."""
    return shutil.copytree(template / "sealed", tmp_path / "sealed") / NAME


def build_ciphers(folder: Path) -> KeyRingCiphers:
    return KeyRingCiphers(KeyRing(folder / "key.ring", KeyFile(folder / "key")))


class TestInMemoryStore(StoreContract):
    @pytest.fixture
    def fresh_store(self) -> Iterator[Store]:
        store = InMemoryStore()
        yield store
        store.close()


class TestSqliteStore(StoreContract):
    @pytest.fixture
    def fresh_store(self, plain_path: Path) -> Iterator[Store]:
        store = SqliteStore.open(plain_path, cipher=PlainCipher())
        yield store
        store.close()


class TestEncryptedSqliteStore(StoreContract):
    @pytest.fixture
    def fresh_store(self, encrypted_path: Path) -> Iterator[Store]:
        store = SqliteStore.open(encrypted_path, cipher=build_ciphers(encrypted_path.parent))
        yield store
        store.close()


class TestSqliteVecStore(NearnessContract, ScopeContract, ReembeddingContract):
    @pytest.fixture
    def store(self, plain_path: Path) -> Iterator[Store]:
        store = SqliteVecStore.open(plain_path, cipher=PlainCipher())
        store.adopt_embedder("builders", DIMENSION)
        yield store
        store.close()


class TestEncryptedSqliteVecStore(NearnessContract, ScopeContract):
    @pytest.fixture
    def store(self, encrypted_path: Path) -> Iterator[Store]:
        store = SqliteVecStore.open(encrypted_path, cipher=build_ciphers(encrypted_path.parent))
        store.adopt_embedder("builders", DIMENSION)
        yield store
        store.close()


@pytest.mark.soak
class TestStoreWhoseVectorsAreSentMeanwhile(StoreContract):
    @pytest.fixture
    def fresh_store(self, plain_path: Path) -> Iterator[Store]:
        chroma = EmbeddedChroma(plain_path.parent / "chroma")
        store = ChromaStore.open(plain_path, cipher=PlainCipher(), chroma=chroma)
        yield store
        store.close()


class TestStoreWithChromaInThisProcess(NearnessContract):
    @pytest.fixture
    def store(self, plain_path: Path) -> Iterator[Store]:
        chroma = EmbeddedChroma(plain_path.parent / "chroma")
        store = UpToDateStore.open(plain_path, cipher=PlainCipher(), chroma=chroma)
        store.adopt_embedder("builders", DIMENSION)
        yield store
        store.close()


class TestEncryptedStoreWithChromaServer(NearnessContract, ScopeContract):
    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[Store]:
        # Not a copy: the server keys vectors by the id of the store.
        chroma = ChromaServer(on_server().url, 30.0)
        store = UpToDateStore.open(tmp_path / NAME, cipher=build_ciphers(tmp_path), chroma=chroma)
        store.adopt_embedder("builders", DIMENSION)
        yield store
        store.close()


@pytest.mark.soak  # the encrypted variant below runs always; the machine covers the plain one
class TestPostgresStore(StoreContract):
    @pytest.fixture
    def fresh_store(self, postgres_url: str) -> Iterator[Store]:
        with fresh(postgres_url, own("plain"), PlainCipher()) as store:
            yield store


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory, postgres_url: str) -> Path:
    """A folder for the key ring of a store that is emptied for each test but keeps its keys."""
    dropped(postgres_url, own("sealed"))
    return tmp_path_factory.mktemp("keys")


class TestEncryptedPostgresStore(StoreContract):
    @pytest.fixture
    def fresh_store(self, postgres_url: str, keys: Path) -> Iterator[Store]:
        with fresh(postgres_url, own("sealed"), build_ciphers(keys)) as store:
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
        with fresh(postgres_url, own("sealed"), build_ciphers(keys), vectors_in_memory=0) as store:
            store.adopt_embedder("builders", DIMENSION)
            yield store
