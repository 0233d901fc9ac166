"""Writes memories, with embedding and arbitration done outside locks and transactions.

A model may be a remote service, so it is called while no snapshot or transaction is open. The
required texts often show only during a change. The change is then rolled back, the missing
vectors are computed, and the change is run again on the current state.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from memolith.domain.memories import Link, Memory
from memolith.errors import ServiceFailed, StoreUnavailable
from memolith.policies.merging import Verdict
from memolith.ports.models import Arbitrator
from memolith.ports.store import IndexEntry, Store, Transaction
from memolith.services.access import Access
from memolith.services.indexing import Indexer, IndexText
from memolith.services.maintenance import evict
from memolith.services.planning import (
    Mutation,
    NeedsInput,
    Plan,
    Planner,
    PreparedInputs,
    WriteRequest,
    index_texts,
)
from memolith.services.validation import NewMemory
from memolith.tracing import count, trace_calls

Vectors = Mapping[bytes, NDArray[np.int8]]

MAX_EMBEDDING_ROUNDS = 8
"""Attempts at a change. Two are usually enough; each further one needs a concurrent change of the
same texts. A guess."""

_EMBEDDING_BATCH_SIZE = 256
"""Texts embedded at once; only their vectors are kept in memory."""

_Result = TypeVar("_Result")


class NeedsEmbedding(Exception):
    """Control flow, not an error: texts of a change have no vectors yet."""

    def __init__(self, texts: Mapping[bytes, str]) -> None:
        super().__init__()
        self.texts = texts


class WriteTransaction:
    """A transaction with prepared vectors.

    Attributes:
        tx: The transaction.
        missing: Texts without a vector, by digest.
    """

    def __init__(self, tx: Transaction, indexer: Indexer, vectors: Vectors) -> None:
        self.tx = tx
        self.missing: dict[bytes, str] = {}
        self._indexer = indexer
        self._vectors = vectors

    def get_entry(self, text: IndexText) -> IndexEntry:
        """Return the index entry of a text; missing vectors are recorded in `missing`."""
        unembedded = self._indexer.build_unembedded([text])
        vectors = {
            each: self._vectors[each]
            for each in unembedded.texts_by_digest
            if each in self._vectors
        }
        vectors |= self.tx.vectors(
            [each for each in unembedded.texts_by_digest if each not in vectors]
        )
        self.missing |= {
            each: new_text
            for each, new_text in unembedded.texts_by_digest.items()
            if each not in vectors
        }
        return unembedded.with_vectors(vectors)[0]


class TransactionRunner:
    """Runs changes whose texts must be embedded."""

    def __init__(self, store: Store, indexer: Indexer) -> None:
        self._store = store
        self._indexer = indexer

    def write(
        self,
        owner_id: str,
        change: Callable[[WriteTransaction], _Result],
        known_texts: Sequence[IndexText] = (),
        advance: Callable[[int], None] | None = None,
    ) -> _Result:
        """Run a change of an owner in one transaction; return its result.

        Args:
            owner_id: The owner.
            change: Called under the owner's lock, possibly several times: it must have no effects
                outside the transaction.
            known_texts: Texts that it will probably need, embedded before the first attempt.
            advance: Called with the number of those embedded since the last call.

        Raises:
            ServiceFailed: The embedder failed; nothing was written.
            StoreUnavailable: The store can't be written to, or others constantly change the same
                texts; nothing was written.
        """
        ready: dict[bytes, NDArray[np.int8]] = {}
        for first in range(0, len(known_texts), _EMBEDDING_BATCH_SIZE):
            batch = known_texts[first : first + _EMBEDDING_BATCH_SIZE]
            ready |= self._indexer.get_vectors(
                self._indexer.build_unembedded(batch).texts_by_digest, owner_id
            )
            if advance is not None:
                advance(len(batch))
        for _ in range(MAX_EMBEDDING_ROUNDS):
            try:
                return self._attempt(owner_id, change, ready)
            except NeedsEmbedding as missing:
                ready |= self._indexer.get_vectors(missing.texts, owner_id)
        raise StoreUnavailable("too many concurrent changes of the same texts: nothing was written")

    def _attempt(
        self, owner_id: str, change: Callable[[WriteTransaction], _Result], vectors: Vectors
    ) -> _Result:
        with self._store.write(owner_id) as tx:
            write_tx = WriteTransaction(tx, self._indexer, vectors)
            result = change(write_tx)
            if write_tx.missing:
                raise NeedsEmbedding(write_tx.missing)
            return result


# --- Storing new memories


MAX_PLAN_ROUNDS = 3
"""Attempts to plan a write that concurrent writes invalidate; after them, new memories are inserted
without a model. A guess: another attempt would hardly succeed."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class WriteResult:
    """The result of a write.

    Attributes:
        memories: The memory that each new one resulted in, in order.
        new_ids: Ids of the memories that did not exist before.
    """

    memories: tuple[Memory, ...]
    new_ids: frozenset[str]


class WritePipeline:
    """Stores memories by the rules of their owner's profile."""

    def __init__(
        self,
        access: Access,
        indexer: Indexer,
        find_arbitrator: Callable[[str], Arbitrator | None] = lambda _owner: None,
    ) -> None:
        """Configure the pipeline; without an arbitrator, doubtful memories are inserted."""
        self._access = access
        self._indexer = indexer
        self._find_arbitrator = find_arbitrator

    def write_memories(
        self,
        request: WriteRequest,
        in_transaction: Callable[[Transaction], Sequence[NewMemory]] | None = None,
    ) -> tuple[Memory, ...]:
        """Store a request's memories in one transaction; return the resulting memories.

        Args:
            request: The memories to store.
            in_transaction: Called first in the transaction; returns the memories still to be
                stored.

        Raises:
            Conflict: A key belongs to a more trusted memory.
            StoreUnavailable: The store can't be written to; nothing was written.
            ServiceFailed: The embedder failed; nothing was written.
        """
        return self.write(request, in_transaction).memories

    @trace_calls("store")
    def write(
        self,
        request: WriteRequest,
        in_transaction: Callable[[Transaction], Sequence[NewMemory]] | None = None,
    ) -> WriteResult:
        """Store a request's memories as `write_memories` does; also return which are new."""
        ready = PreparedInputs({IndexText(text): entry for text, entry in request.entries.items()})
        if missing := [text for text in index_texts(request) if text not in ready.entries]:
            self._prepare_inputs(request, NeedsInput(missing), ready)
        for _ in range(MAX_PLAN_ROUNDS):
            plan = self._prepare_plan(request, ready) if request.new_memories else None
            try:
                with self._access.store.write(request.owner_id) as tx:
                    result = self._apply_plan(tx, request, in_transaction, plan, ready)
            except NeedsInput as missing:
                self._prepare_inputs(request, missing, ready)
            else:
                return _count_stored(result)
        with self._access.store.write(request.owner_id) as tx:
            result = self._apply_plan(tx, request, in_transaction, None, ready, skip_model=True)
        return _count_stored(result)

    def _prepare_plan(self, request: WriteRequest, prepared: PreparedInputs) -> Plan:
        """Return a plan for the current state, with all inputs prepared."""
        while True:
            try:
                with self._access.store.read(request.owner_id) as snapshot:
                    return Planner(
                        self._access,
                        snapshot,
                        request,
                        prepared,
                        has_arbitrator=self._has_arbitrator(request),
                    ).plan()
            except NeedsInput as missing:
                self._prepare_inputs(request, missing, prepared)

    def _apply_plan(
        self,
        tx: Transaction,
        request: WriteRequest,
        in_transaction: Callable[[Transaction], Sequence[NewMemory]] | None,
        plan: Plan | None,
        prepared: PreparedInputs,
        *,
        skip_model: bool = False,
    ) -> WriteResult:
        new_memories = request.new_memories if in_transaction is None else tuple(in_transaction(tx))
        if plan is None or tx.counter != plan.counter or new_memories != request.new_memories:
            current = replace(request, new_memories=new_memories)
            plan = Planner(
                self._access,
                tx,
                current,
                prepared,
                has_arbitrator=self._has_arbitrator(request),
                skip_model=skip_model,
            ).plan()
        tx.adopt_profile(request.profile.name)
        for mutation in plan.mutations:
            _apply_mutation(tx, mutation)
        evict(tx, request.profile, request.now)
        new = frozenset(
            mutation.memory.id for mutation in plan.mutations if mutation.operation == "insert"
        )
        return WriteResult(plan.memories, new)

    def _has_arbitrator(self, request: WriteRequest) -> bool:
        return self._find_arbitrator(request.owner_id) is not None

    def _prepare_inputs(
        self, request: WriteRequest, missing: NeedsInput, prepared: PreparedInputs
    ) -> None:
        if missing.texts:
            entries = self._indexer.build_entries(missing.texts, request.owner_id)
            for text, entry in zip(missing.texts, entries, strict=True):
                prepared.entries[text] = entry
        if missing.pair is not None:
            prepared.verdicts[missing.pair] = self._arbitrate(request.owner_id, *missing.pair)

    def _arbitrate(self, owner_id: str, existing: str, new: str) -> Verdict | None:
        arbitrator = self._find_arbitrator(owner_id)
        if arbitrator is None:
            return None
        try:
            return arbitrator.arbitrate(existing, new)
        except ServiceFailed as error:
            _log.warning("the arbitrator failed, keeping both memories: %s", error)
            return None


def _count_stored(result: WriteResult) -> WriteResult:
    count("memories_stored", len(result.new_ids))
    return result


def _apply_mutation(tx: Transaction, mutation: Mutation) -> None:
    if mutation.operation == "insert" and mutation.entry is not None:
        tx.insert([(mutation.memory, mutation.entry)])
        tx.link(
            [
                Link(mutation.memory.id, duplicate_id, "near")
                for duplicate_id in mutation.near_duplicates
            ]
        )
    elif mutation.operation == "revise" and mutation.entry is not None:
        tx.revise(mutation.memory, mutation.entry)
    else:
        tx.amend(mutation.memory)
    tx.record([mutation.event])
