"""The reference store: plain dictionaries, linear searches and re-embedding."""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from memolith.adapters.crypto.ciphers import PlainCipher
from memolith.adapters.inmemory.purge import PurgeWriter
from memolith.adapters.inmemory.reads import PendingWorkReader
from memolith.adapters.inmemory.search import LinearSearch
from memolith.adapters.inmemory.service_tables import (
    InMemoryApiKeys,
    InMemoryClaims,
    InMemoryIdempotency,
    InMemoryJobs,
    InMemoryUsage,
)
from memolith.adapters.inmemory.state import Item, OwnerState
from memolith.adapters.inmemory.writes import BaseMemoryWriter, StrengthWriter, WorkWriter
from memolith.adapters.sql.codecs import OwnerEncryption
from memolith.adapters.sql.embedding_generations import ExpectedGeneration
from memolith.errors import (
    Conflict,
    InvalidInput,
    OwnerErased,
    StoreUnavailable,
    WrongEmbeddingModel,
)
from memolith.ports.admin import (
    MAX_WRITE_PAUSE_S,
    EmbeddingModel,
    UnembeddedPassage,
    UnembeddedPassages,
)
from memolith.ports.service import ApiKeys, IdempotencyStore, UsageCounter
from memolith.ports.store import Snapshot, StoreMeta, Transaction
from memolith.ports.work import JobStore, WorkLeases

PassagePosition = tuple[int, int]


class ReembeddingMixin:
    """The embedding model of the reference store, and re-embedding with another one."""

    _busy_timeout_s: float
    _states: dict[str, OwnerState]
    _locks: dict[str, threading.Lock]
    _lock: threading.Lock
    _meta: StoreMeta

    def __init__(self) -> None:
        """Initialise without a model."""
        self._space = 0
        self._expected: ExpectedGeneration | None = None
        self._next_model: EmbeddingModel | None = None
        self._is_emptying = False
        self._unheld = threading.Event()
        self._unheld.set()

    # --- The model in use

    def expect_embedder(self, name: str, dimension: int | None) -> None:
        """See the port."""
        self._require_open()
        meta = self._meta
        given = EmbeddingModel(name, dimension or 0)
        if meta.embedder is not None and (
            meta.embedder != name or dimension not in (None, meta.dimension)
        ):
            raise WrongEmbeddingModel(
                str(self._model), str(given), is_reembedding=self._next_model == given
            )
        self._expected = ExpectedGeneration(self._space, str(given))

    def check_embedder(self) -> None:
        """See the port."""
        self._require_open()
        self._build_check()()

    def adopt_embedder(self, name: str, dimension: int) -> None:
        """See the port."""
        given = EmbeddingModel(name, dimension)
        with self._lock:
            self._require_open()
            if self._model not in (None, given) and self._has_vectors():
                self._build_check()()
                raise WrongEmbeddingModel(str(self._model), str(given))
            digests = self._meta.digest_name if self._model == given or self._space else name
            self._meta = replace(
                self._meta, embedder=name, dimension=dimension, digest_name=digests
            )
        self._expected = ExpectedGeneration(self._space, str(given))

    @property
    def _model(self) -> EmbeddingModel | None:
        meta = self._meta
        return EmbeddingModel(meta.embedder, meta.dimension or 0) if meta.embedder else None

    def _build_check(self) -> Callable[[], None]:
        """Return a check that fails if the vectors were replaced meanwhile."""
        space = self._space

        def check() -> None:
            expected = self._expected
            if expected is not None and expected.generation != space:
                raise WrongEmbeddingModel(str(self._model), expected.model, is_changed=True)

        return check

    def _has_vectors(self) -> bool:
        return any(
            passage.vector is not None
            for state in self._states.values()
            for item in state.items.values()
            for passage in item.passages
        )

    # --- Re-embedding

    @property
    def reembedding_model(self) -> EmbeddingModel | None:
        """See `SupportsReembedding`."""
        return self._next_model

    @property
    def has_unused_vectors(self) -> bool:
        """See `SupportsReembedding`."""
        return self._is_emptying

    def begin_reembedding(self, model: EmbeddingModel) -> None:
        """See `SupportsReembedding`."""
        with self._lock:
            if self._next_model not in (None, model):
                raise Conflict(
                    f"re-embedding with {self._next_model} is in progress: finish or cancel it"
                )
            if self._is_emptying:
                raise Conflict("unused vectors of the previous model have not been removed yet")
            self._next_model = model

    def owners_missing_vectors(self) -> list[str]:
        """See `SupportsReembedding`."""
        return sorted(owner for owner in self._states if self.count_missing_vectors(owner))

    def count_missing_vectors(self, owner_id: str) -> int:
        """See `SupportsReembedding`."""
        state = self._states.get(owner_id)
        return len(_find_missing_vectors(state)) if state and self._next_model else 0

    def passages_missing_vectors(self, owner_id: str, limit: int) -> UnembeddedPassages:
        """See `SupportsReembedding`."""
        state = self._states.get(owner_id)
        if self._next_model is None:
            raise Conflict("no re-embedding is in progress: begin again")
        bare = _find_missing_vectors(state) if state else []
        stamp, is_last = (self._space, self._next_model), len(bare) <= limit
        return UnembeddedPassages(stamp, tuple(bare[:limit]), 0, is_last)

    def add_vectors(
        self,
        owner_id: str,
        passages: UnembeddedPassages,
        vectors: Mapping[PassagePosition, NDArray[np.int8]],
    ) -> bool:
        """See `SupportsReembedding`."""
        with self._lock_owner(owner_id):
            following, state = self._next_model, self._states.get(owner_id)
            if following is None or state is None:
                return False
            if passages.state != (self._space, following):
                return False
            for vector in vectors.values():
                if vector.dtype.name != "int8" or vector.shape != (following.dimension,):
                    raise InvalidInput("vectors", f"must be int8 of length {following.dimension}")
            if not all(number in state.items for number, _ in vectors):
                return False
            changed = state.copy()
            changed.next_vectors |= {place: vector.copy() for place, vector in vectors.items()}
            self._states[owner_id] = changed
            return True

    def switch_vectors(self) -> bool:
        """See `SupportsReembedding`."""
        with self._lock_all():
            if self._next_model is None:
                raise Conflict("no re-embedding is in progress: begin again")
            if any(map(_find_missing_vectors, self._states.values())):
                return False
            for owner_id, state in self._states.items():
                self._states[owner_id] = _switch_state(state)
            name, dimension = self._next_model.name, self._next_model.dimension
            digests = self._meta.digest_name or name
            self._space += 1
            self._meta = replace(
                self._meta,
                embedder=name,
                dimension=dimension,
                digest_name=digests,
                embedding_generation=self._space,
            )
            self._end_reembedding()
            return True

    def pause_writers(self) -> None:
        """See `SupportsReembedding`."""
        self._unheld.clear()

    def resume_writers(self) -> None:
        """See `SupportsReembedding`."""
        self._unheld.set()

    def _wait_for_hold(self) -> None:
        self._unheld.wait(MAX_WRITE_PAUSE_S)

    def abandon_reembedding(self) -> bool:
        """See `SupportsReembedding`."""
        with self._lock_all():
            was = self._next_model is not None
            if was:
                self._end_reembedding()
            return was

    def _end_reembedding(self) -> None:
        self._next_model, self._is_emptying = None, True
        self._unheld.set()

    def remove_unused_vectors(self, owner_id: str, after: int, limit: int) -> int | None:
        """See `SupportsReembedding`; the previous vectors are gone already."""
        with self._lock_owner(owner_id):
            state = self._states.get(owner_id)
            if state is None or not self._is_emptying:
                return None
            places = sorted(place for place in state.next_vectors if place[0] > after)[:limit]
            if not places:
                return None
            changed, last = state.copy(), places[-1][0]
            for place in [each for each in changed.next_vectors if after < each[0] <= last]:
                del changed.next_vectors[place]
            self._states[owner_id] = changed
            return last

    def mark_unused_removed(self) -> None:
        """See `SupportsReembedding`."""
        self._is_emptying = False

    @abstractmethod
    def _lock_owner(self, owner_id: str) -> AbstractContextManager[None]:
        """Lock an owner against other writers."""

    @abstractmethod
    def _require_open(self) -> None:
        """Raise `StoreUnavailable` if the store is closed."""

    @contextmanager
    def _lock_all(self) -> Iterator[None]:
        """Lock out all writers, including those of new owners."""
        with self._lock, ExitStack() as held:
            for lock in self._locks.values():
                if not lock.acquire(timeout=self._busy_timeout_s):
                    raise StoreUnavailable("another writer holds an owner", self._busy_timeout_s)
                held.callback(lock.release)
            yield


def _find_missing_vectors(state: OwnerState) -> list[UnembeddedPassage]:
    """Return the passages with a current vector but no new one."""
    known = _vectors_by_digest(state)
    return [
        UnembeddedPassage(
            place, passage.span.extract(text), speaker, known.get(passage.digest or b"")
        )
        for item in state.items.values()
        for text, speaker in _item_texts(state, item)
        for part, passage in enumerate(item.passages)
        for place in ((item.number, part),)
        if passage.vector is not None and place not in state.next_vectors
    ]


def _vectors_by_digest(state: OwnerState) -> dict[bytes, NDArray[np.int8]]:
    """Return new vectors by text digest."""
    return {
        digest: vector
        for (number, part), vector in state.next_vectors.items()
        if (digest := state.items[number].passages[part].digest) is not None
    }


def _item_texts(state: OwnerState, item: Item) -> list[tuple[str, str | None]]:
    """Return each passage's text and speaker; empty for a replaced item."""
    if item.kind is None:
        said = state.messages.get(item.record_id, ())
        return [(v.message.content, v.message.speaker) for v in said if v.item == item.number]
    kept = state.memories.get(item.record_id, ())
    return [(v.memory.content, None) for v in kept if v.item == item.number]


def _switch_state(state: OwnerState) -> OwnerState:
    """Return a state with the new vectors in use."""
    changed = state.copy()
    changed.items = {
        number: replace(
            item,
            passages=tuple(
                replace(passage, vector=state.next_vectors.get((number, part)))
                for part, passage in enumerate(item.passages)
            ),
        )
        for number, item in state.items.items()
    }
    changed.next_vectors = {}
    return changed


# --- The store


class InMemorySnapshot(LinearSearch, PendingWorkReader):
    """A `Snapshot` of the reference store."""

    def __init__(
        self, state: OwnerState, encryption: OwnerEncryption, check: Callable[[], None]
    ) -> None:
        """Use an immutable state, and a check that fails if the vectors were replaced."""
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
    """A `Transaction` of the reference store. Searches see the state at its start."""

    def __init__(
        self,
        state: OwnerState,
        encryption: OwnerEncryption,
        dimension: int | None,
        check: Callable[[], None],
    ) -> None:
        """Use the initial state, and a check that fails if the vectors were replaced."""
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
    """A volatile `Store`. States are never changed, only replaced."""

    def __init__(self, *, busy_timeout_s: float = 5.0) -> None:
        """Create an empty store."""
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
        """See the port; there is nothing to compact."""
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
