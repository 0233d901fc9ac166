"""The library in front of a PostgreSQL database."""

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


def opened(url: str) -> Memolith:
    return Memolith.open(url, embedder=HashingEmbedder(), tokens=WordCounter())


def test_what_is_remembered_is_recalled_by_another_process_of_the_same_url(url: str) -> None:
    with opened(url) as memory:
        memory.owner("alice").remember("My sister lives in Lisbon.")
        memory.owner("bob").remember("My brother lives in Porto.")
    with opened(url) as memory:
        found = memory.owner("alice").recall("Where does my sister live?")
        assert [each.record.content for each in found.memories] == ["My sister lives in Lisbon."]
        assert memory.owner("bob").recall("sister Lisbon").memories != found.memories


def test_the_password_of_a_database_that_is_not_there_is_not_told() -> None:
    named = "postgresql://me:secret@127.0.0.1:1/db"
    with pytest.raises(StoreUnavailable) as refused:
        reset_store(Settings(store=named))
    assert "secret" not in str(refused.value)


def test_who_would_not_wait_for_a_lock_does_not_wait_for_ever(url: str) -> None:
    """0 is for ever, to PostgreSQL."""
    with (
        closing(
            PostgresStore.open(url, cipher=PlainCipher(), schema=SCHEMA, busy_timeout_s=0)
        ) as store,
        store._connections.read() as connection,
    ):
        assert connection.row("SHOW lock_timeout") == ("1ms",)
