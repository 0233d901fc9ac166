"""Memolith with a PostgreSQL database."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from memolith import Memolith
from memolith.adapters.crypto.ciphers import PlainCipher
from memolith.adapters.postgres.store import PostgresStore
from memolith.config import Settings
from memolith.errors import StoreUnavailable
from memolith.stores import reset_store
from memolith.testing.fakes import HashingEmbedder, WordCounter
from support.postgres import dropped

SCHEMA = "memolith"


@pytest.fixture
def url(postgres_url: str) -> Iterator[str]:
    dropped(postgres_url, SCHEMA)
    yield postgres_url
    dropped(postgres_url, SCHEMA)


def open_memory(url: str) -> Memolith:
    return Memolith.open(url, embedder=HashingEmbedder(), tokens=WordCounter())


def test_reopened_database_recalls_stored_memories(url: str) -> None:
    with open_memory(url) as memory:
        memory.owner("alice").remember("My sister lives in Lisbon.")
        memory.owner("bob").remember("My brother lives in Porto.")
    with open_memory(url) as memory:
        found = memory.owner("alice").recall("Where does my sister live?")
        assert [each.record.content for each in found.memories] == ["My sister lives in Lisbon."]
        assert memory.owner("bob").recall("sister Lisbon").memories != found.memories


def test_connection_error_does_not_contain_the_password() -> None:
    named = "postgresql://me:secret@127.0.0.1:1/db"
    with pytest.raises(StoreUnavailable) as refused:
        reset_store(Settings(store=named))
    assert "secret" not in str(refused.value)


def test_zero_busy_timeout_does_not_wait_forever(url: str) -> None:
    """PostgreSQL waits forever with `lock_timeout = 0`."""
    with (
        closing(
            PostgresStore.open(url, cipher=PlainCipher(), schema=SCHEMA, busy_timeout_s=0)
        ) as store,
        store._connections.read() as connection,
    ):
        assert connection.row("SHOW lock_timeout") == ("1ms",)
