"""The contract of a store: Hypothesis strategies, snapshot dumps, and all tests as one class.

The strategies draw from few values, so that generated records collide.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from memolith.domain.memories import EPISODE, Memory, Origin, Source, State, Trait
from memolith.domain.messages import Message, Role
from memolith.domain.owners import ProcessingFlag
from memolith.domain.recall import SearchFilter
from memolith.ports.store import Snapshot, Store
from memolith.testing.builders import DIMENSION, at, entry, passage, record_id, vector
from memolith.testing.store_concurrency import (
    ConcurrencyContract,
    MetaContract,
    OwnersContract,
    TransactionContract,
)
from memolith.testing.store_filters import ScopeContract
from memolith.testing.store_leases import ClaimsContract
from memolith.testing.store_messages import BaseMemoryContract, MessagesContract
from memolith.testing.store_pending_work import WaitingContract
from memolith.testing.store_records import MemoriesContract, ReviewContract
from memolith.testing.store_reembedding import ReembeddingContract
from memolith.testing.store_removal import ErasureContract, RemovalContract, UpkeepContract
from memolith.testing.store_search import (
    ItemsContract,
    NearnessContract,
    PostingsContract,
    SubstringsContract,
)
from memolith.testing.store_service_tables import (
    ApiKeysContract,
    IdempotencyContract,
    JobsContract,
    UsageContract,
)

OWNERS = ("alice", "bob")
SESSIONS = ("s1", "s2")
WORDS = ("tea", "cup", "pot", "%", "é")
KINDS = ("fact", "event", EPISODE)
TAGS = ("a", "b")
IDS = tuple(record_id(number) for number in range(1, 25))
"""Few ids, so that they collide: both owners share them, and some serve both kinds of records."""

small = st.integers(-3, 3)
ids = st.sampled_from(IDS)
memory_ids = st.sampled_from(IDS[:14])
message_ids = st.sampled_from(IDS[10:])
picks = st.sampled_from((None, *range(len(IDS))))
"""Index of the existing record a step is about; None for the step's own id."""

steps = st.sampled_from((1, 1, 1, 1, 0, 2))
"""Difference between the last version and the next one."""

times = st.integers(0, 60).map(at)
_terms = st.dictionaries(st.sampled_from(WORDS), st.integers(1, 3), max_size=4)
_near = st.none() | st.tuples(small, small, small)
_passages = st.builds(
    passage, _terms, _near, digest=st.none() | st.sampled_from((b"d" * 16, b"e" * 16))
)
entries = st.builds(
    entry,
    _passages,
    _passages,
    content_key=st.sampled_from(WORDS),
    traits=st.sampled_from(
        (
            Trait.NONE,
            Trait.QUESTION,
            Trait.PLACE | Trait.NUMBER,
            Trait.SUSPICIOUS,
            Trait.SUSPICIOUS | Trait.REVIEWED,
        )
    ),
    words=st.integers(0, 9),
) | st.builds(entry, _passages, content_key=st.sampled_from(WORDS))
sources = st.lists(st.builds(Source, ids, st.sampled_from(("message", "memory"))), max_size=2)
scopes = st.builds(
    SearchFilter,
    now=times,
    as_of=st.none() | times,
    kinds=st.none() | st.frozensets(st.sampled_from(KINDS)),
    session_id=st.none() | st.sampled_from((*SESSIONS, "s3")),
    tags=st.lists(st.sampled_from((*TAGS, "c")), max_size=2).map(tuple),
    since=st.none() | times,
    until=st.none() | times,
    include_compressed=st.booleans(),
    include_quarantined=st.booleans(),
    dormant=st.booleans(),
)
owners = st.sampled_from(OWNERS)
memories = st.builds(
    Memory,
    id=memory_ids,
    owner_id=st.just(""),
    kind=st.sampled_from(KINDS),
    content=st.sampled_from(WORDS),
    created_at=times,
    updated_at=times,
    key=st.sampled_from((None, None, None, None, None, *WORDS[:3])),
    summary=st.none() | st.just("short"),
    tags=st.lists(st.sampled_from(TAGS), unique=True).map(lambda tags: tuple(sorted(tags))),
    importance=st.floats(0, 1),
    strength=st.floats(0, 1),
    access_count=st.integers(0, 3),
    accessed_at=st.none() | times,
    happened_at=st.none() | times,
    expires_at=st.none() | times,
    state=st.sampled_from((State.ACTIVE,) * 4 + tuple(State)),
    superseded_by=st.none() | ids,
    session_id=st.none() | st.sampled_from(SESSIONS),
    sources=sources.map(tuple),
    compressed=st.booleans(),
    origin=st.sampled_from(Origin),
    version=st.integers(1, 6),
    previous_kind=st.sampled_from((None, None, "facts:identity")),
)
messages = st.builds(
    Message,
    speaker=st.none() | st.sampled_from(("Bob", "bob")),
    content=st.sampled_from(WORDS),
    role=st.sampled_from(Role),
    at=times,
    external_id=st.sampled_from((None, None, None, "D1:1", "D1:2")),
    id=message_ids,
    session_id=st.sampled_from(SESSIONS),
    sequence=st.integers(1, 9),
    version=st.integers(1, 6),
)


# --- Comparable dumps of a snapshot


def records(snapshot: Snapshot) -> dict[str, Any]:
    """Return everything that a snapshot returns about records."""
    states = frozenset(State)
    everything: dict[str, Any] = {"states": states, "kinds": None, "tags": (), "cursor": None}
    first = snapshot.page(**everything, limit=2)
    return {
        "counter": snapshot.counter,
        "profile": snapshot.profile,
        "memories": snapshot.memories(IDS),
        "memories then": [snapshot.memories(IDS, as_of=at(n)) for n in (0, 20, 40)],
        "by key": [snapshot.find_by_key(word) for word in WORDS],
        "by content": [snapshot.find_by_content(word) for word in WORDS],
        "by content, dormant too": [snapshot.find_by_content(word, dormant=True) for word in WORDS],
        "first page": first,
        "rest": first.cursor and snapshot.page(**{**everything, "cursor": first.cursor}, limit=9),
        "tagged": snapshot.page(**{**everything, "tags": ("a",)}, limit=9, offset=1),
        "facts": snapshot.page(**{**everything, "kinds": frozenset({"fact"})}, limit=9),
        "histories": [snapshot.history(id_) for id_ in IDS],
        "messages": snapshot.messages(),
        "by id": snapshot.messages(ids=IDS, limit=5),
        "of a session": snapshot.messages(session_id="s1", after=2, limit=3),
        "recent messages": [snapshot.recent_messages(3, session_id=s) for s in (None, "s1")],
        "messages then": [snapshot.messages(session_id=s, as_of=at(20)) for s in (None, "s1")],
        "originals": snapshot.original_messages(IDS),
        "forgotten": snapshot.forgotten_messages(),
        "wordings": snapshot.message_revisions(IDS),
        "adjacent": [
            (snapshot.find_adjacent_message(id_, -1), snapshot.find_adjacent_message(id_, 1))
            for id_ in IDS
        ],
        "external": [snapshot.external_ids(s, ["D1:1", "D1:2", "D1:3"]) for s in SESSIONS],
        "sessions": snapshot.sessions(),
        "participants": snapshot.participants(),
        "derived": snapshot.derived_memories(IDS),
        "vectors": sorted(plain(snapshot.vectors([b"d" * 16, b"e" * 16])).items()),
        "statistics": snapshot.statistics(),
        "base memory": snapshot.base_memory(),
        "base memory then": [snapshot.base_memory(as_of=at(n)) for n in (0, 20, 40)],
        "base memories": snapshot.base_memories(),
        "vitals": snapshot.memory_stats(states=states),
        "awaiting": [snapshot.pending_messages(3, now=at(n)) for n in (20, 60)],
        "attempts": [snapshot.attempts([id_]) for id_ in IDS],
        "unsummarised": snapshot.unsummarised_messages(4),
        "unsummarised of": snapshot.unsummarised_messages(2, session_id="s1"),
        "unsummarised count": snapshot.count_unsummarised_messages(),
        "unsummarised by session": snapshot.count_unsummarised_by_session(),
        "unmarked": snapshot.memories_without_mark(
            ProcessingFlag.INCORPORATED, frozenset({"fact", "event"})
        ),
        "progress": [snapshot.progress(s) for s in (*SESSIONS, "s3")],
        "backlog": snapshot.pending_work(),
        "of the active": snapshot.memory_stats(states=frozenset({State.ACTIVE})),
    }


def searched(
    snapshot: Snapshot, scope: SearchFilter, near: tuple[int, int, int], limit: int
) -> dict[str, Any]:
    """Return everything that a snapshot returns for a search."""
    query = vector(*near)
    nearest = snapshot.nearest(query, limit, scope)
    own = snapshot.item_numbers(IDS, scope)
    numbers = np.unique(np.concatenate([nearest, own[own >= 0]]))
    return {
        "nearest": nearest,
        "very near": snapshot.nearest(query, limit, scope, min_cosine=0.9),
        "numbers": own,
        "similarities": snapshot.similarities(query, numbers[::-1]),
        "centroid": snapshot.centroid(scope),
        "postings": snapshot.postings([*WORDS, "nothing"], scope),
        "containing": snapshot.find_containing(["E", "%", "po"], scope),
        "items": snapshot.items(numbers),
        "uses": snapshot.usage_stats(numbers),
        "within": snapshot.items_in_scope(scope),
        "saying": [snapshot.items_with_content(word, limit, scope) for word in WORDS],
        "marked": snapshot.items_with_traits(Trait.SUSPICIOUS | Trait.PLACE, scope),
        "before": snapshot.neighbours(numbers, -1, scope),
        "after": snapshot.neighbours(numbers, 1, scope),
        "passages": snapshot.passages(numbers),
    }


def plain(value: Any) -> Any:
    """Return a value with arrays as lists, so that `==` compares values and types."""
    if isinstance(value, np.ndarray):
        return (value.dtype.name, value.tolist())
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    return value


# --- The contract: at least one test for every promise in the port's docstrings


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
    """All tests of a store. Subclasses provide `fresh_store`."""

    @pytest.fixture
    def fresh_store(self) -> Iterator[Store]:
        """Supply a new, empty store, and close it afterwards."""
        raise NotImplementedError

    @pytest.fixture
    def store(self, fresh_store: Store) -> Store:
        """Return a new store with the builders' embedder."""
        fresh_store.adopt_embedder("builders", DIMENSION)
        return fresh_store
