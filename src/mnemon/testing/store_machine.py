"""A state machine that drives a store and the in-memory reference side by side.

Whatever is written to both, every read and every search must give the same, bit for bit, and
what one refuses the other must refuse with the same error. An adapter's tests subclass
`StoreMachine`, say how to open their store, and let Hypothesis run it:

    class MyMachine(StoreMachine):
        def open_store(self) -> Store:
            return MyStore.open(self.path)

    TestMyStore = MyMachine.TestCase
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from mnemon.adapters.inmemory.store import InMemoryStore
from mnemon.domain.items import Trait
from mnemon.domain.memories import EPISODE, Action, Event, Link, Memory, Origin, Source, State
from mnemon.domain.messages import Message, Role
from mnemon.domain.recall import Scope
from mnemon.errors import MnemonError
from mnemon.ports.store import IndexEntry
from mnemon.testing.builders import DIMENSION, at, entry, passage, record_id, vector

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mnemon.ports.store import Snapshot, Store, Transaction

OWNERS = ("alice", "bob")
SESSIONS = ("s1", "s2")
WORDS = ("tea", "cup", "pot", "%", "é")
KINDS = ("fact", "event", EPISODE)
TAGS = ("a", "b")
IDS = tuple(record_id(number) for number in range(1, 25))
"""Few of each, so that they meet: both owners have the same, and some are of both kinds."""

_small = st.integers(-3, 3)
_ids = st.sampled_from(IDS)
_memory_ids = st.sampled_from(IDS[:14])
_message_ids = st.sampled_from(IDS[10:])
_picks = st.sampled_from((None, *range(len(IDS))))
"""Which of what is there a step is about; None: what the step says, there or not."""

_steps = st.sampled_from((1, 1, 1, 1, 0, 2))
"""How far above the last version the next one is."""

_times = st.integers(0, 60).map(at)
_terms = st.dictionaries(st.sampled_from(WORDS), st.integers(1, 3), max_size=4)
_near = st.none() | st.tuples(_small, _small, _small)
_passages = st.builds(
    passage, _terms, _near, digest=st.none() | st.sampled_from((b"d" * 16, b"e" * 16))
)
_entries = st.builds(
    entry,
    _passages,
    _passages,
    content_key=st.sampled_from(WORDS),
    traits=st.sampled_from((Trait.NONE, Trait.QUESTION, Trait.PLACE | Trait.NUMBER)),
    words=st.integers(0, 9),
) | st.builds(entry, _passages, content_key=st.sampled_from(WORDS))
_sources = st.lists(st.builds(Source, _ids, st.sampled_from(("message", "memory"))), max_size=2)
_scopes = st.builds(
    Scope,
    now=_times,
    as_of=st.none() | _times,
    kinds=st.none() | st.frozensets(st.sampled_from(KINDS)),
    session_id=st.none() | st.sampled_from((*SESSIONS, "s3")),
    tags=st.lists(st.sampled_from((*TAGS, "c")), max_size=2).map(tuple),
    since=st.none() | _times,
    until=st.none() | _times,
    include_compressed=st.booleans(),
)
_owners = st.sampled_from(OWNERS)
_memories = st.builds(
    Memory,
    id=_memory_ids,
    owner_id=st.just(""),
    kind=st.sampled_from(KINDS),
    content=st.sampled_from(WORDS),
    created_at=_times,
    updated_at=_times,
    key=st.sampled_from((None, None, None, None, None, *WORDS[:3])),
    summary=st.none() | st.just("short"),
    tags=st.lists(st.sampled_from(TAGS), unique=True).map(lambda tags: tuple(sorted(tags))),
    importance=st.floats(0, 1),
    strength=st.floats(0, 1),
    access_count=st.integers(0, 3),
    accessed_at=st.none() | _times,
    happened_at=st.none() | _times,
    expires_at=st.none() | _times,
    state=st.sampled_from((State.ACTIVE,) * 4 + tuple(State)),
    superseded_by=st.none() | _ids,
    session_id=st.none() | st.sampled_from(SESSIONS),
    sources=_sources.map(tuple),
    compressed=st.booleans(),
    origin=st.sampled_from(Origin),
    version=st.integers(1, 6),
)
_messages = st.builds(
    Message,
    speaker=st.none() | st.sampled_from(("Bob", "bob")),
    content=st.sampled_from(WORDS),
    role=st.sampled_from(Role),
    at=_times,
    external_id=st.sampled_from((None, None, None, "D1:1", "D1:2")),
    id=_message_ids,
    session_id=st.sampled_from(SESSIONS),
    sequence=st.integers(1, 9),
    version=st.integers(1, 6),
)


class StoreMachine(RuleBasedStateMachine):
    """Drives a store under test, and the reference, through the same steps."""

    def open_store(self) -> Store:
        """Open the store under test: new at first, then as it was closed."""
        raise NotImplementedError

    def __init__(self) -> None:
        """Begin with a new store and a new reference."""
        super().__init__()
        self._stack = ExitStack()
        self.reference: Store = InMemoryStore()
        self.store = self.open_store()
        self._held: list[tuple[Snapshot, Snapshot]] = []
        self._turn = 0

    @initialize(
        with_vectors=st.sampled_from((True, True, True, False)),
        memories=st.lists(st.tuples(_memories, _entries), min_size=2, max_size=4),
        said=st.lists(st.tuples(_messages, _entries), min_size=2, max_size=4),
    )
    def begin(
        self,
        memories: Sequence[tuple[Memory, IndexEntry]],
        said: Sequence[tuple[Message, IndexEntry]],
        *,
        with_vectors: bool,
    ) -> None:
        """Store something for each owner, so that later steps find it.

        Where the builders' vectors are not adopted, entries with one are refused.
        """
        if with_vectors:
            self.adopt_embedder()
        for owner in OWNERS:
            numbered = [
                (replace(one, id=id_, key=None, state=State.ACTIVE), own)
                for id_, (one, own) in zip(IDS, memories, strict=False)
            ]
            self.insert(owner, numbered)
            named = [
                (replace(one, id=id_, external_id=None), own)
                for id_, (one, own) in zip(reversed(IDS), said, strict=False)
            ]
            self.log(owner, SESSIONS[0], named, None, in_place=True)

    @rule()
    def adopt_embedder(self) -> None:
        """Adopt the builders' vectors, perhaps again."""
        for store in (self.store, self.reference):
            store.adopt_embedder("builders", DIMENSION)

    @rule(owner=_owners, pairs=st.lists(st.tuples(_memories, _entries), min_size=1, max_size=3))
    def insert(self, owner: str, pairs: Sequence[tuple[Memory, IndexEntry]]) -> None:
        """Store memories."""
        owned = [(replace(memory, owner_id=owner), own) for memory, own in pairs]
        self._write(owner, lambda tx: tx.insert(owned))

    @rule(
        owner=_owners,
        session=st.sampled_from(SESSIONS),
        pairs=st.lists(st.tuples(_messages, _entries), min_size=1, max_size=3),
        at_=st.none() | _times,
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
        """Log messages; where they follow the last one, or anywhere."""

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

    @rule(owner=_owners, memory=_memories, own=_entries, step=_steps, pick=_picks)
    def revise(
        self, owner: str, memory: Memory, own: IndexEntry, step: int, pick: int | None
    ) -> None:
        """Open another version of a memory."""

        def write(tx: Transaction) -> None:
            id_ = _picked(_memory_ids_of(tx), pick, memory.id)
            version = max((one.version for one in tx.memories([id_])), default=0) + step
            tx.revise(replace(memory, id=id_, owner_id=owner, version=version), own)

        self._write(owner, write)

    @rule(owner=_owners, memory=_memories, pick=_picks)
    def amend(self, owner: str, memory: Memory, pick: int | None) -> None:
        """Change a memory within its version."""

        def write(tx: Transaction) -> None:
            id_ = _picked(_memory_ids_of(tx), pick, memory.id)
            tx.amend(replace(memory, id=id_, owner_id=owner))

        self._write(owner, write)

    @rule(owner=_owners, said=_messages, own=_entries, at_=_times, step=_steps, pick=_picks)
    def revise_message(
        self,
        owner: str,
        said: Message,
        own: IndexEntry,
        at_: Any,
        step: int,
        pick: int | None,
    ) -> None:
        """Open another version of a message."""

        def write(tx: Transaction) -> None:
            id_ = _picked(_message_ids_of(tx), pick, said.id)
            version = max((one.version for one in tx.originals([id_])), default=0) + step
            tx.revise_message(replace(said, id=id_, version=version), own, at_)

        self._write(owner, write)

    @rule(owner=_owners, id_=_message_ids, own=_entries, pick=_picks)
    def reindex(self, owner: str, id_: str, own: IndexEntry, pick: int | None) -> None:
        """Index a message anew."""

        def write(tx: Transaction) -> None:
            tx.reindex(_picked(_message_ids_of(tx), pick, id_), own)

        self._write(owner, write)

    @rule(owner=_owners, ids=st.lists(_message_ids, max_size=6), at_=_times)
    def close_messages(self, owner: str, ids: Sequence[str], at_: Any) -> None:
        """Forget messages."""
        self._write(owner, lambda tx: tx.close_messages(ids, at_))

    @rule(
        owner=_owners,
        source=_memory_ids,
        to=_memory_ids,
        relation=st.sampled_from(("near", "summary_of")),
    )
    def link(self, owner: str, source: str, to: str, relation: Any) -> None:
        """Link two records."""
        self._write(owner, lambda tx: tx.link([Link(source, to, relation)]))

    @rule(
        owner=_owners,
        session=st.sampled_from((*SESSIONS, "s3")),
        at_=_times,
        id_=_ids,
        profile=st.none() | st.sampled_from(("standard", "facts")),
    )
    def others(self, owner: str, session: str, at_: Any, id_: str, profile: str | None) -> None:
        """End a session, record an event, and perhaps adopt a profile, all in one."""

        def write(tx: Transaction) -> None:
            tx.end_session(session, at_)
            tx.record([Event(id_, Action.UPDATED, at_, "user", 1, {"from": session})])
            if profile is not None:
                tx.adopt_profile(profile)

        self._write(owner, write)

    @rule(owner=_owners, ids=st.lists(_memory_ids, max_size=5), count=st.integers(1, 3), at_=_times)
    def touch(self, owner: str, ids: Sequence[str], count: int, at_: Any) -> None:
        """Say that memories were recalled."""
        for store in (self.store, self.reference):
            store.touch(owner, dict.fromkeys(ids, (count, at_)))

    @rule(owner=_owners, memory=_memories, own=_entries)
    def fail(self, owner: str, memory: Memory, own: IndexEntry) -> None:
        """Write, and then fail: nothing of it may stay."""

        def write(tx: Transaction) -> None:
            tx.close_messages(IDS, at(60))
            tx.insert([(replace(memory, owner_id=owner), own)])
            raise _FailedOnPurposeError

        self._write(owner, write)

    @rule()
    def reopen(self) -> None:
        """Close the store under test and open it again."""
        self._let_go()
        self.store.close()
        self.store = self.open_store()

    @rule(owner=_owners)
    def hold(self, owner: str) -> None:
        """Take a snapshot of each and keep it for later."""
        if len(self._held) < _MOST_HELD:
            pair = [self._stack.enter_context(s.read(owner)) for s in (self.store, self.reference)]
            self._held.append((pair[0], pair[1]))

    @rule(scope=_scopes, near=st.tuples(_small, _small, _small), limit=st.integers(0, 9))
    def compare_held(self, scope: Scope, near: tuple[int, int, int], limit: int) -> None:
        """Compare old snapshots: they have stood still."""
        for under_test, reference in self._held:
            self._same(under_test, reference, lambda one: searched(one, scope, near, limit))
            self._same(under_test, reference, records)

    @rule()
    def let_go(self) -> None:
        """Let old snapshots go."""
        self._let_go()

    @rule(
        owner=_owners,
        scope=_scopes,
        near=st.tuples(_small, _small, _small),
        limit=st.integers(0, 9),
    )
    def search(self, owner: str, scope: Scope, near: tuple[int, int, int], limit: int) -> None:
        """Compare a search."""
        with self.store.read(owner) as under_test, self.reference.read(owner) as reference:
            self._same(under_test, reference, lambda one: searched(one, scope, near, limit))

    @invariant()
    def same_records(self) -> None:
        """Compare all records of all owners."""
        assert self.store.owners() == self.reference.owners()
        for owner in OWNERS:
            assert self.store.profile(owner, "?") == self.reference.profile(owner, "?")
            with self.store.read(owner) as under_test, self.reference.read(owner) as reference:
                self._same(under_test, reference, records)

    @invariant()
    def same_searches(self) -> None:
        """Compare a search every third time, so that indexes are a few writes behind."""
        self._turn += 1
        if self._turn % 3:
            return
        scope = _SCOPES[self._turn // 3 % len(_SCOPES)]
        near = (self._turn % 5 - 2, self._turn % 7 - 3, 1)
        for owner in OWNERS:
            with self.store.read(owner) as under_test, self.reference.read(owner) as reference:
                self._same(under_test, reference, lambda one: searched(one, scope, near, 5))

    def teardown(self) -> None:
        """Close both."""
        self._let_go()
        self.store.close()
        self.reference.close()

    def _let_go(self) -> None:
        self._held.clear()
        self._stack.close()

    def _write(self, owner: str, step: Callable[[Transaction], None]) -> None:
        """Do a step in both stores: it must go well in both, or fail alike."""
        outcomes: list[type[Exception] | None] = []
        for store in (self.store, self.reference):
            try:
                with store.write(owner) as tx:
                    step(tx)
            except (MnemonError, _FailedOnPurposeError) as error:
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

_NOW = Scope(now=at(30))
_SCOPES = (
    _NOW,
    replace(_NOW, as_of=at(20)),
    replace(_NOW, tags=("a",), include_compressed=True),
    _NOW,
    replace(_NOW, session_id="s1", since=at(10)),
    replace(_NOW, kinds=frozenset({"fact"}), until=at(40)),
)


def _memory_ids_of(snapshot: Snapshot) -> list[str]:
    return [one.id for one in snapshot.memories(IDS)]


def _message_ids_of(snapshot: Snapshot) -> list[str]:
    return [one.id for one in snapshot.originals(IDS)]


def _picked(there: Sequence[str], pick: int | None, otherwise: str) -> str:
    return there[pick % len(there)] if there and pick is not None else otherwise


class _FailedOnPurposeError(Exception):
    """Raised within a transaction, to see it undone."""


def records(snapshot: Snapshot) -> dict[str, Any]:
    """Return all that a snapshot says of records."""
    states = frozenset(State)
    everything: dict[str, Any] = {"states": states, "kinds": None, "tags": (), "cursor": None}
    first = snapshot.page(**everything, limit=2)
    return {
        "counter": snapshot.counter,
        "memories": snapshot.memories(IDS),
        "memories then": [snapshot.memories(IDS, as_of=at(n)) for n in (0, 20, 40)],
        "by key": [snapshot.by_key(word) for word in WORDS],
        "by content": [snapshot.by_content(word) for word in WORDS],
        "first page": first,
        "rest": first.cursor and snapshot.page(**{**everything, "cursor": first.cursor}, limit=9),
        "tagged": snapshot.page(**{**everything, "tags": ("a",)}, limit=9, offset=1),
        "facts": snapshot.page(**{**everything, "kinds": frozenset({"fact"})}, limit=9),
        "histories": [snapshot.history(id_) for id_ in IDS],
        "messages": snapshot.messages(),
        "by id": snapshot.messages(ids=IDS, limit=5),
        "of a session": snapshot.messages(session_id="s1", after=2, limit=3),
        "messages then": [snapshot.messages(session_id=s, as_of=at(20)) for s in (None, "s1")],
        "originals": snapshot.originals(IDS),
        "external": [snapshot.external_ids(s, ["D1:1", "D1:2", "D1:3"]) for s in SESSIONS],
        "sessions": snapshot.sessions(),
        "participants": snapshot.participants(),
        "derived": snapshot.derived(IDS),
        "vectors": sorted(plain(snapshot.vectors([b"d" * 16, b"e" * 16])).items()),
        "statistics": snapshot.statistics(),
    }


def searched(
    snapshot: Snapshot, scope: Scope, near: tuple[int, int, int], limit: int
) -> dict[str, Any]:
    """Return all that a snapshot says to a search."""
    query = vector(*near)
    nearest = snapshot.nearest(query, limit, scope)
    own = snapshot.numbers(IDS, scope)
    numbers = np.unique(np.concatenate([nearest, own[own >= 0]]))
    return {
        "nearest": nearest,
        "numbers": own,
        "similarities": snapshot.similarities(query, numbers[::-1]),
        "postings": snapshot.postings([*WORDS, "nothing"], scope),
        "items": snapshot.items(numbers),
        "uses": snapshot.uses(numbers),
        "before": snapshot.neighbours(numbers, -1, scope),
        "after": snapshot.neighbours(numbers, 1, scope),
        "passages": snapshot.passages(numbers),
    }


def plain(value: Any) -> Any:
    """Return a value in which arrays are lists, so that `==` compares all of it, types too."""
    if isinstance(value, np.ndarray):
        return (value.dtype.name, value.tolist())
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    return value
