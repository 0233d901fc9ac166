"""The reference store: plain dictionaries, and searches that look at everything."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC
from typing import TYPE_CHECKING

from memolith.adapters.crypto.plain import PlainCipher
from memolith.adapters.inmemory.api_keys import InMemoryApiKeys
from memolith.adapters.inmemory.base_memory import BaseMemoryWriter
from memolith.adapters.inmemory.claims import InMemoryClaims
from memolith.adapters.inmemory.idempotency import InMemoryIdempotency
from memolith.adapters.inmemory.jobs import InMemoryJobs
from memolith.adapters.inmemory.purging import PurgeWriter
from memolith.adapters.inmemory.reembedding import ReembeddingMixin
from memolith.adapters.inmemory.search import LinearSearch
from memolith.adapters.inmemory.state import OwnerState
from memolith.adapters.inmemory.upkeep import StrengthWriter
from memolith.adapters.inmemory.usage import InMemoryUsage
from memolith.adapters.inmemory.waiting import PendingWorkReader
from memolith.adapters.inmemory.work_changes import WorkWriter
from memolith.adapters.sql.sealing import OwnerEncryption
from memolith.errors import OwnerErased, StoreUnavailable
from memolith.ports.store import StoreMeta

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import datetime

    import numpy as np
    from numpy.typing import NDArray

    from memolith.ports.api_keys import ApiKeys
    from memolith.ports.idempotency import IdempotencyStore
    from memolith.ports.jobs import JobStore
    from memolith.ports.store import Snapshot, Transaction
    from memolith.ports.usage import UsageCounter
    from memolith.ports.work import WorkLeases


class InMemorySnapshot(LinearSearch, PendingWorkReader):
    """A `Snapshot` of the reference store."""

    def __init__(
        self, state: OwnerState, encryption: OwnerEncryption, check: Callable[[], None]
    ) -> None:
        """Take a state that nobody changes, and what refuses whoever expects other vectors."""
        LinearSearch.__init__(self, state, check)
        PendingWorkReader.__init__(self, state, encryption)

    @property
    def counter(self) -> int:
        """See the port."""
        return self._state_at_begin.counter

    @property
    def profile(self) -> str | None:
        """See the port."""
        return self._state_at_begin.profile

    def vectors(self, digests: Sequence[bytes]) -> dict[bytes, NDArray[np.int8]]:
        """See the port."""
        self._check()
        return super().vectors(digests)


class InMemoryTransaction(LinearSearch, BaseMemoryWriter, PurgeWriter, StrengthWriter, WorkWriter):
    """A `Transaction` of the reference store. Its searches answer from the state at its begin."""

    def __init__(
        self,
        state: OwnerState,
        encryption: OwnerEncryption,
        dimension: int | None,
        check: Callable[[], None],
    ) -> None:
        """Take the state to begin with, and what refuses whoever expects other vectors."""
        LinearSearch.__init__(self, state, check)
        PurgeWriter.__init__(self, state, encryption, dimension)

    @property
    def counter(self) -> int:
        """See the port."""
        return self._state_at_begin.counter

    @property
    def profile(self) -> str | None:
        """See the port."""
        return self._state_at_begin.profile

    def vectors(self, digests: Sequence[bytes]) -> dict[bytes, NDArray[np.int8]]:
        """See the port."""
        self._check()
        return super().vectors(digests)


class InMemoryStore(ReembeddingMixin):
    """A `Store` that forgets all when it goes. States are never changed, only replaced."""

    def __init__(self, *, busy_timeout_s: float = 5.0) -> None:
        """Begin with nothing."""
        super().__init__()
        self._busy_timeout_s = busy_timeout_s
        self._states: dict[str, OwnerState] = {}
        self._erased: set[str] = set()
        self._locks: dict[str, threading.Lock] = {}
        self._lock = threading.Lock()
        self._meta = StoreMeta(1, None, None, PlainCipher.name, 1)
        self._is_closed = False
        self._jobs = InMemoryJobs()
        self._api_keys = InMemoryApiKeys(self._require_open)
        self._idempotency = InMemoryIdempotency(self._require_open, self.is_erased)
        shared = (self._states, self._lock_owner, self._require_open)
        self._claims = InMemoryClaims(*shared)
        self._usage = InMemoryUsage(*shared)

    @property
    def jobs(self) -> JobStore:
        """See the port."""
        return self._jobs

    @property
    def leases(self) -> WorkLeases:
        """See the port."""
        return self._claims

    @property
    def usage(self) -> UsageCounter:
        """See the port."""
        return self._usage

    @property
    def api_keys(self) -> ApiKeys:
        """See the port."""
        return self._api_keys

    @property
    def idempotency(self) -> IdempotencyStore:
        """See the port."""
        return self._idempotency

    @property
    def meta(self) -> StoreMeta:
        """See the port."""
        self._require_open()
        return self._meta

    @contextmanager
    def read(self, owner_id: str) -> Iterator[Snapshot]:
        """See the port."""
        self._require_open()
        yield InMemorySnapshot(
            self._state(owner_id),
            OwnerEncryption(PlainCipher().get_owner_cipher(owner_id, 0), owner_id),
            self._build_check(),
        )

    @contextmanager
    def write(self, owner_id: str) -> Iterator[Transaction]:
        """See the port."""
        self._wait_for_hold()
        with self._lock_owner(owner_id):
            if owner_id in self._erased:
                raise OwnerErased(owner_id)
            sealing = OwnerEncryption(PlainCipher().get_owner_cipher(owner_id, 0), owner_id)
            transaction = InMemoryTransaction(
                self._state(owner_id), sealing, self._meta.dimension, self._build_check()
            )
            yield transaction
            state = transaction.finish()
            if state is not None:
                self._states[owner_id] = state

    def record_access(self, owner_id: str, accessed: Mapping[str, tuple[int, datetime]]) -> None:
        """See the port."""
        with self._lock_owner(owner_id):
            if owner_id not in self._states:
                return
            state = self._states[owner_id].copy()
            for id_, (count, at) in accessed.items():
                for last in state.memories.get(id_, ())[-1:]:
                    memory = replace(
                        last.memory,
                        access_count=last.memory.access_count + count,
                        accessed_at=max(last.memory.accessed_at or at, at).astimezone(UTC),
                    )
                    state.memories[id_] = (*state.memories[id_][:-1], replace(last, memory=memory))
            self._states[owner_id] = state

    def owners(self) -> list[str]:
        """See the port."""
        self._require_open()
        return sorted(self._states)

    def erase(self, owner_id: str, at: datetime) -> bool:
        """See the port."""
        del at
        with self._lock_owner(owner_id):
            self._erased.add(owner_id)
            self._jobs.forget_states()
            self._api_keys.forget(owner_id)
            self._idempotency.forget(owner_id)
            return self._states.pop(owner_id, None) is not None

    def is_erased(self, owner_id: str) -> bool:
        """See the port."""
        return owner_id in self._erased

    def readmit(self, owner_id: str) -> bool:
        """See the port."""
        with self._lock_owner(owner_id):
            was_erased = owner_id in self._erased
            self._erased.discard(owner_id)
            return was_erased

    def compact(self) -> bool:
        """See the port: nothing is kept anywhere else."""
        return True

    def close(self) -> None:
        """See the port."""
        self._is_closed = True

    def _state(self, owner_id: str) -> OwnerState:
        return self._states.get(owner_id) or OwnerState()

    @contextmanager
    def _lock_owner(self, owner_id: str) -> Iterator[None]:
        with self._lock:
            lock = self._locks.setdefault(owner_id, threading.Lock())
        if not lock.acquire(timeout=self._busy_timeout_s):
            raise StoreUnavailable("another writer holds the owner", self._busy_timeout_s)
        try:
            self._require_open()
            yield
        finally:
            lock.release()

    def _require_open(self) -> None:
        if self._is_closed:
            raise StoreUnavailable("the store is closed")
