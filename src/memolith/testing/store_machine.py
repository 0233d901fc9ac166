"""A Hypothesis state machine that compares a store with the in-memory reference.

Both receive the same writes. Every read and search must return identical results, and both must
reject the same calls with the same error. An adapter's tests subclass `StoreMachine` and define how
to open their store:

    class MyMachine(StoreMachine):
        def open_store(self) -> Store:
            return MyStore.open(self.path)

    TestMyStore = MyMachine.TestCase
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from memolith.adapters.inmemory.store import InMemoryStore
from memolith.domain.memories import Action, Event, Link, Memory, State
from memolith.domain.messages import Message
from memolith.domain.owners import ConsolidationProgress, ProcessingFlag, WorkKind
from memolith.domain.recall import SearchFilter
from memolith.errors import MemolithError
from memolith.ports.service import ModelUsage
from memolith.ports.store import IndexEntry, Snapshot, Store, Transaction
from memolith.ports.work import WorkLease
from memolith.testing import store_contract as some
from memolith.testing.builders import DIMENSION, at
from memolith.testing.store_contract import plain, records, searched

_works = st.sampled_from(WorkKind)
_sessions = st.sampled_from((*some.SESSIONS, "s3"))
_purposes = st.sampled_from(("extract", "summarise"))
_LEASE_S = 10.0

_CHANGES: dict[str, Callable[[Transaction, Sequence[str], datetime], None]] = {
    "await": lambda tx, ids, _: tx.mark_pending(ids),
    "learned": lambda tx, ids, then: tx.mark_learned(ids, then),
    "postpone": lambda tx, ids, then: tx.schedule_retry(ids, retry_at=then),
    "park": lambda tx, ids, _: tx.schedule_retry(ids, retry_at=None),
    "summarised": lambda tx, ids, then: tx.mark_summarised(ids, then),
    "not summarised": lambda tx, ids, _: tx.mark_summarised(ids, None),
    "mark": lambda tx, ids, _: tx.add_mark(ids, ProcessingFlag.INCORPORATED),
    "unmark": lambda tx, ids, _: tx.remove_mark(ids, ProcessingFlag.INCORPORATED),
}


class WorkRules:
    """Rules for pending work, leases and usage."""

    store: Store
    reference: Store

    def __init__(self) -> None:
        """Initialise without leases."""
        super().__init__()
        self._claims: list[tuple[WorkLease, WorkLease]] = []

    def _write(self, owner: str, step: Callable[[Transaction], None]) -> None:
        raise NotImplementedError

    @property
    def _both(self) -> tuple[Store, Store]:
        return self.store, self.reference

    @rule(
        owner=some.owners,
        what=st.sampled_from(("await", "await", "await", *_CHANGES)),
        ids=st.lists(some.ids, max_size=8),
        at_=some.times,
    )
    def say_what_was_done(self, owner: str, what: str, ids: Sequence[str], at_: Any) -> None:
        """Mark messages as pending, learned, failed or summarised, or change marks of memories."""
        self._write(owner, lambda tx: _CHANGES[what](tx, ids, at_))

    @rule(
        owner=some.owners,
        session=_sessions,
        progress=st.builds(
            ConsolidationProgress, st.integers(0, 9), st.integers(0, 3), st.none() | some.times
        ),
    )
    def set_progress(self, owner: str, session: str, progress: ConsolidationProgress) -> None:
        """Set the consolidation progress of a session."""
        self._write(owner, lambda tx: tx.set_progress(session, progress))

    @rule(owner=some.owners, work=_works, at_=some.times)
    def take(self, owner: str, work: WorkKind, at_: Any) -> None:
        """Take a lease."""
        one, other = (s.leases.acquire(owner, work, now=at_, lease_s=_LEASE_S) for s in self._both)
        assert (one and one.attempts) == (other and other.attempts)
        if one is not None and other is not None:
            self._claims.append((one, other))

    @rule(pick=st.integers(0, 9), at_=some.times, end=st.sampled_from(("keep", "release", "fail")))
    def end_or_keep(self, pick: int, at_: Any, end: str) -> None:
        """Renew, release or fail a lease, even if it was lost."""
        if not self._claims:
            return
        pair = self._claims[pick % len(self._claims)]
        held = [self._holds(*each) for each in zip(self._both, pair, strict=True)]
        assert held[0] == held[1]
        for store, claim in zip(self._both, pair, strict=True):
            if end == "keep":
                kept = store.leases.renew(claim, now=at_, lease_s=_LEASE_S)
                assert kept is held[0] or held[0] is None
            elif end == "release":
                store.leases.release(claim)
            else:
                store.leases.fail(claim, retry_at=at_ if pick % 2 else None)

    @rule(owner=some.owners)
    def retry(self, owner: str) -> None:
        """Retry all failed work."""
        for store in self._both:
            store.leases.retry(owner)

    @rule(owner=some.owners, purpose=_purposes, tokens=st.integers(0, 9), hour=st.integers(0, 3))
    def add_usage(self, owner: str, purpose: str, tokens: int, hour: int) -> None:
        """Count a call."""
        for store in self._both:
            store.usage.add(owner, purpose, ModelUsage(1, tokens, 1), at=at(hour * 3_600))

    @invariant()
    def same_work(self) -> None:
        """Compare due work and usage."""
        for work in WorkKind:
            for seconds in (10, 40, 1e6):
                one, other = (s.leases.owners(work, now=at(seconds)) for s in self._both)
                assert one == other
        for owner in some.OWNERS:
            spent = [s.usage.get_usage(owner, at(3_600)) for s in self._both]
            assert spent[0] == spent[1]

    @staticmethod
    def _holds(store: Store, claim: WorkLease) -> bool | None:
        """Return whether a lease is valid; None if its owner was erased."""
        if store.is_erased(claim.owner_id):
            return None
        with store.write(claim.owner_id) as tx:
            return tx.holds_lease(claim)


# --- Records and searches


class StoreMachine(WorkRules, RuleBasedStateMachine):
    """Drives a store under test and the reference through the same steps."""

    def open_store(self) -> Store:
        """Open the store under test: new the first time, then with its previous content."""
        raise NotImplementedError

    def __init__(self) -> None:
        """Create a store and a reference."""
        super().__init__()
        self._stack = ExitStack()
        self.reference: Store = InMemoryStore()
        self.store = self.open_store()
        self._held: list[tuple[Snapshot, Snapshot]] = []
        self._turn = 0

    @initialize(
        with_vectors=st.sampled_from((True, True, True, False)),
        memories=st.lists(st.tuples(some.memories, some.entries), min_size=2, max_size=4),
        said=st.lists(st.tuples(some.messages, some.entries), min_size=2, max_size=4),
    )
    def begin(
        self,
        memories: Sequence[tuple[Memory, IndexEntry]],
        said: Sequence[tuple[Message, IndexEntry]],
        *,
        with_vectors: bool,
    ) -> None:
        """Store records for each owner, so that later steps have something to change.

        Without the builders' embedder, entries with vectors are rejected.
        """
        if with_vectors:
            self.adopt_embedder()
        for owner in some.OWNERS:
            numbered = [
                (replace(one, id=id_, key=None, state=State.ACTIVE), own)
                for id_, (one, own) in zip(some.IDS, memories, strict=False)
            ]
            self.insert(owner, numbered)
            named = [
                (replace(one, id=id_, external_id=None), own)
                for id_, (one, own) in zip(reversed(some.IDS), said, strict=False)
            ]
            self.log(owner, some.SESSIONS[0], named, None, in_place=True)

    @rule()
    def adopt_embedder(self) -> None:
        """Adopt the builders' embedder, possibly again."""
        for store in (self.store, self.reference):
            store.adopt_embedder("builders", DIMENSION)

    @rule(
        owner=some.owners,
        pairs=st.lists(st.tuples(some.memories, some.entries), min_size=1, max_size=3),
    )
    def insert(self, owner: str, pairs: Sequence[tuple[Memory, IndexEntry]]) -> None:
        """Insert memories."""
        owned = [(replace(memory, owner_id=owner), own) for memory, own in pairs]
        self._write(owner, lambda tx: tx.insert(owned))

    @rule(
        owner=some.owners,
        session=st.sampled_from(some.SESSIONS),
        pairs=st.lists(st.tuples(some.messages, some.entries), min_size=1, max_size=3),
        at_=st.none() | some.times,
        in_place=st.sampled_from((True, True, True, False)),
    )
    def log(
        self,
        owner: str,
        session: str,
        pairs: Sequence[tuple[Message, IndexEntry]],
        at_: Any,
        *,
        in_place: bool,
    ) -> None:
        """Log messages after the last one, or at arbitrary positions."""

        def step(tx: Transaction) -> None:
            first = tx.next_sequence(session)
            numbered = [
                (
                    replace(
                        said, session_id=session, sequence=first + n if in_place else said.sequence
                    ),
                    own,
                )
                for n, (said, own) in enumerate(pairs)
            ]
            tx.log(session, numbered, at=at_)

        self._write(owner, step)

    @rule(
        owner=some.owners, memory=some.memories, own=some.entries, step=some.steps, pick=some.picks
    )
    def revise(
        self, owner: str, memory: Memory, own: IndexEntry, step: int, pick: int | None
    ) -> None:
        """Create a new version of a memory."""

        def write(tx: Transaction) -> None:
            id_ = _picked(_memory_ids_of(tx), pick, memory.id)
            version = max((one.version for one in tx.memories([id_])), default=0) + step
            tx.revise(replace(memory, id=id_, owner_id=owner, version=version), own)

        self._write(owner, write)

    @rule(owner=some.owners, memory=some.memories, pick=some.picks)
    def amend(self, owner: str, memory: Memory, pick: int | None) -> None:
        """Amend a memory within its version."""

        def write(tx: Transaction) -> None:
            id_ = _picked(_memory_ids_of(tx), pick, memory.id)
            tx.amend(replace(memory, id=id_, owner_id=owner))

        self._write(owner, write)

    @rule(
        owner=some.owners,
        said=some.messages,
        own=some.entries,
        at_=some.times,
        step=some.steps,
        pick=some.picks,
    )
    def revise_message(
        self,
        owner: str,
        said: Message,
        own: IndexEntry,
        at_: Any,
        step: int,
        pick: int | None,
    ) -> None:
        """Create a new version of a message."""

        def write(tx: Transaction) -> None:
            id_ = _picked(_message_ids_of(tx), pick, said.id)
            version = max((one.version for one in tx.original_messages([id_])), default=0) + step
            tx.revise_message(replace(said, id=id_, version=version), own, at_)

        self._write(owner, write)

    @rule(owner=some.owners, id_=some.message_ids, own=some.entries, pick=some.picks)
    def reindex(self, owner: str, id_: str, own: IndexEntry, pick: int | None) -> None:
        """Reindex a message."""

        def write(tx: Transaction) -> None:
            tx.reindex(_picked(_message_ids_of(tx), pick, id_), own)

        self._write(owner, write)

    @rule(owner=some.owners, ids=st.lists(some.message_ids, max_size=6), at_=some.times)
    def close_messages(self, owner: str, ids: Sequence[str], at_: Any) -> None:
        """Close messages."""
        self._write(owner, lambda tx: tx.close_messages(ids, at_))

    @rule(owner=some.owners, ids=st.lists(some.ids, max_size=3), own=some.entries, pick=some.picks)
    def purge(self, owner: str, ids: Sequence[str], own: IndexEntry, pick: int | None) -> None:
        """Purge records, and rewrite a message that remains."""

        def write(tx: Transaction) -> None:
            tx.purge(ids)
            left = _message_ids_of(tx)
            if not left or pick is None:
                return
            id_ = left[pick % len(left)]
            versions = [wording.message for wording in tx.message_revisions([id_])[id_]]
            kept = versions[pick % len(versions) :]
            tx.rewrite_message(id_, [(replace(one, content="other"), own) for one in kept])

        self._write(owner, write)

    @rule(
        owner=some.owners,
        sessions=st.lists(st.sampled_from((*some.SESSIONS, "s3")), min_size=1, max_size=2),
        turn=st.integers(0, 3),
    )
    def remove_sessions(self, owner: str, sessions: Sequence[str], turn: int) -> None:
        """Remove sessions, one time in four."""
        if not turn:
            self._write(owner, lambda tx: tx.remove_sessions(sessions))

    @rule(owner=some.owners, at_=some.times, readmitted=st.booleans())
    def erase(self, owner: str, at_: Any, *, readmitted: bool) -> None:
        """Erase an owner, or readmit an erased one."""
        if readmitted:
            outcomes = [store.readmit(owner) for store in (self.store, self.reference)]
        else:
            outcomes = [store.erase(owner, at_) for store in (self.store, self.reference)]
        assert outcomes[0] == outcomes[1]
        erased = [store.is_erased(owner) for store in (self.store, self.reference)]
        assert erased == [not readmitted] * 2

    @rule(
        owner=some.owners,
        source=some.memory_ids,
        to=some.memory_ids,
        relation=st.sampled_from(("near", "summary_of")),
    )
    def link(self, owner: str, source: str, to: str, relation: Any) -> None:
        """Link two records."""
        self._write(owner, lambda tx: tx.link([Link(source, to, relation)]))

    @rule(
        owner=some.owners,
        session=st.sampled_from((*some.SESSIONS, "s3")),
        at_=some.times,
        id_=some.ids,
        profile=st.none() | st.sampled_from(("standard", "facts", "tiers")),
    )
    def others(self, owner: str, session: str, at_: Any, id_: str, profile: str | None) -> None:
        """End a session, record an event and perhaps set a profile, in one transaction."""

        def write(tx: Transaction) -> None:
            tx.end_session(session, at_)
            tx.record([Event(id_, Action.UPDATED, at_, "user", 1, {"from": session})])
            if profile == "tiers":
                tx.set_profile(profile)
            elif profile is not None:
                tx.adopt_profile(profile)

        self._write(owner, write)

    @rule(
        owner=some.owners,
        ids=st.lists(some.memory_ids, max_size=5),
        count=st.integers(1, 3),
        at_=some.times,
    )
    def touch(self, owner: str, ids: Sequence[str], count: int, at_: Any) -> None:
        """Count uses of memories."""
        for store in (self.store, self.reference):
            store.record_access(owner, dict.fromkeys(ids, (count, at_)))

    @rule(
        owner=some.owners,
        strengths=st.dictionaries(some.memory_ids, st.floats(0, 1), max_size=5),
    )
    def set_strengths(self, owner: str, strengths: dict[str, float]) -> None:
        """Store memory strengths."""
        own = list(strengths), list(strengths.values())
        self._write(owner, lambda tx: tx.set_strengths(*own))

    @rule(
        owner=some.owners,
        content=st.sampled_from(some.WORDS),
        sources=some.sources,
        at_=some.times,
        reworded=st.none() | st.integers(1, 3),
    )
    def base_memory(
        self, owner: str, content: str, sources: Any, at_: Any, reworded: int | None
    ) -> None:
        """Write the base memory, or rewrite a version of it that may not exist."""

        def write(tx: Transaction) -> None:
            if reworded is None:
                tx.set_base_memory(content, sources=sources, at=at_)
            else:
                tx.rewrite_base_memory({reworded: content})

        self._write(owner, write)

    @rule(owner=some.owners, memory=some.memories, own=some.entries)
    def fail(self, owner: str, memory: Memory, own: IndexEntry) -> None:
        """Write and then fail: nothing may remain."""

        def write(tx: Transaction) -> None:
            tx.close_messages(some.IDS, at(60))
            tx.insert([(replace(memory, owner_id=owner), own)])
            raise _FailedOnPurposeError

        self._write(owner, write)

    @rule()
    def reopen(self) -> None:
        """Close the store under test and open it again."""
        self._let_go()
        self.store.close()
        self.store = self.open_store()

    @rule(owner=some.owners)
    def hold(self, owner: str) -> None:
        """Take a snapshot of each store and keep it."""
        if len(self._held) < _MOST_HELD:
            pair = [self._stack.enter_context(s.read(owner)) for s in (self.store, self.reference)]
            self._held.append((pair[0], pair[1]))

    @rule(
        scope=some.scopes,
        near=st.tuples(some.small, some.small, some.small),
        limit=st.integers(0, 9),
    )
    def compare_held(self, scope: SearchFilter, near: tuple[int, int, int], limit: int) -> None:
        """Compare kept snapshots, which must not have changed."""
        for under_test, reference in self._held:
            self._same(under_test, reference, lambda one: searched(one, scope, near, limit))
            self._same(under_test, reference, records)

    @rule()
    def let_go(self) -> None:
        """Close kept snapshots."""
        self._let_go()

    @rule(
        owner=some.owners,
        scope=some.scopes,
        near=st.tuples(some.small, some.small, some.small),
        limit=st.integers(0, 9),
    )
    def search(
        self, owner: str, scope: SearchFilter, near: tuple[int, int, int], limit: int
    ) -> None:
        """Compare a search."""
        with self.store.read(owner) as under_test, self.reference.read(owner) as reference:
            self._same(under_test, reference, lambda one: searched(one, scope, near, limit))

    @invariant()
    def same_records(self) -> None:
        """Compare all records of all owners."""
        assert self.store.owners() == self.reference.owners()
        for owner in some.OWNERS:
            with self.store.read(owner) as under_test, self.reference.read(owner) as reference:
                self._same(under_test, reference, records)

    @invariant()
    def same_searches(self) -> None:
        """Compare a search every third time, so that indexes lag a few writes behind."""
        self._turn += 1
        if self._turn % 3:
            return
        scope = _SCOPES[self._turn // 3 % len(_SCOPES)]
        near = (self._turn % 5 - 2, self._turn % 7 - 3, 1)
        for owner in some.OWNERS:
            with self.store.read(owner) as under_test, self.reference.read(owner) as reference:
                self._same(under_test, reference, lambda one: searched(one, scope, near, 5))

    def teardown(self) -> None:
        """Close both stores."""
        self._let_go()
        self.store.close()
        self.reference.close()

    def _let_go(self) -> None:
        self._held.clear()
        self._stack.close()

    def _write(self, owner: str, step: Callable[[Transaction], None]) -> None:
        """Run a step in both stores; it must succeed in both or fail alike."""
        outcomes: list[type[Exception] | None] = []
        for store in (self.store, self.reference):
            try:
                with store.write(owner) as tx:
                    step(tx)
            except (MemolithError, _FailedOnPurposeError) as error:
                outcomes.append(type(error))
            else:
                outcomes.append(None)
        assert outcomes[0] is outcomes[1]

    def _same(
        self, under_test: Snapshot, reference: Snapshot, ask: Callable[[Snapshot], Any]
    ) -> None:
        got, expected = plain(ask(under_test)), plain(ask(reference))
        different = {
            name: (got[name], expected[name]) for name in got if got[name] != expected[name]
        }
        assert not different


_MOST_HELD = 3

_NOW = SearchFilter(now=at(30))
_SCOPES = (
    _NOW,
    replace(_NOW, as_of=at(20)),
    replace(_NOW, tags=("a",), include_compressed=True),
    _NOW,
    replace(_NOW, dormant=True),
    replace(_NOW, session_id="s1", since=at(10)),
    replace(_NOW, kinds=frozenset({"fact"}), until=at(40)),
)


def _memory_ids_of(snapshot: Snapshot) -> list[str]:
    return [one.id for one in snapshot.memories(some.IDS)]


def _message_ids_of(snapshot: Snapshot) -> list[str]:
    return [one.id for one in snapshot.original_messages(some.IDS)]


def _picked(there: Sequence[str], pick: int | None, otherwise: str) -> str:
    return there[pick % len(there)] if there and pick is not None else otherwise


class _FailedOnPurposeError(Exception):
    """Raised within a transaction to test its rollback."""
