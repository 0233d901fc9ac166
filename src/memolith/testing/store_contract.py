"""The contract of a store, as tests: every sentence of the port's docstrings has one.

An adapter's tests subclass `StoreContract` and supply a new, empty store:

    class TestMyStore(StoreContract):
        @pytest.fixture
        def fresh_store(self) -> Iterator[Store]:
            store = MyStore()
            yield store
            store.close()
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from memolith.testing.builders import DIMENSION
from memolith.testing.store_api_keys import ApiKeysContract
from memolith.testing.store_base_memory import BaseMemoryContract
from memolith.testing.store_claims import ClaimsContract
from memolith.testing.store_idempotency import IdempotencyContract
from memolith.testing.store_jobs import JobsContract
from memolith.testing.store_messages import MessagesContract
from memolith.testing.store_records import MemoriesContract
from memolith.testing.store_reembedding import ReembeddingContract
from memolith.testing.store_removal import ErasureContract, RemovalContract
from memolith.testing.store_reviews import ReviewContract
from memolith.testing.store_scopes import ScopeContract
from memolith.testing.store_search import (
    ItemsContract,
    NearnessContract,
    PostingsContract,
    SubstringsContract,
)
from memolith.testing.store_sharing import (
    ConcurrencyContract,
    MetaContract,
    OwnersContract,
    TransactionContract,
)
from memolith.testing.store_upkeep import UpkeepContract
from memolith.testing.store_usage import UsageContract
from memolith.testing.store_waiting import WaitingContract

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memolith.ports.store import Store


class StoreContract(
    MemoriesContract,
    MessagesContract,
    NearnessContract,
    PostingsContract,
    SubstringsContract,
    ItemsContract,
    ScopeContract,
    TransactionContract,
    RemovalContract,
    ErasureContract,
    ReviewContract,
    UpkeepContract,
    ReembeddingContract,
    BaseMemoryContract,
    JobsContract,
    ClaimsContract,
    WaitingContract,
    UsageContract,
    ApiKeysContract,
    IdempotencyContract,
    OwnersContract,
    MetaContract,
    ConcurrencyContract,
):
    """All of it."""

    @pytest.fixture
    def fresh_store(self) -> Iterator[Store]:
        """Supply a new, empty store, and close it afterwards."""
        raise NotImplementedError

    @pytest.fixture
    def store(self, fresh_store: Store) -> Store:
        """Return a new store that has adopted the builders' vectors."""
        fresh_store.adopt_embedder("builders", DIMENSION)
        return fresh_store
