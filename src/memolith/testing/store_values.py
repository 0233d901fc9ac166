"""Hypothesis strategies for what a store holds and is asked: few values, so that they meet."""

from __future__ import annotations

from hypothesis import strategies as st

from memolith.domain.items import Trait
from memolith.domain.memories import EPISODE, Memory, Origin, Source, State
from memolith.domain.messages import Message, Role
from memolith.domain.recall import SearchFilter
from memolith.testing.builders import at, entry, passage, record_id

OWNERS = ("alice", "bob")
SESSIONS = ("s1", "s2")
WORDS = ("tea", "cup", "pot", "%", "é")
KINDS = ("fact", "event", EPISODE)
TAGS = ("a", "b")
IDS = tuple(record_id(number) for number in range(1, 25))
"""Few of each, so that they meet: both owners have the same, and some are of both kinds."""

small = st.integers(-3, 3)
ids = st.sampled_from(IDS)
memory_ids = st.sampled_from(IDS[:14])
message_ids = st.sampled_from(IDS[10:])
picks = st.sampled_from((None, *range(len(IDS))))
"""Which of what is there a step is about; None: what the step says, there or not."""

steps = st.sampled_from((1, 1, 1, 1, 0, 2))
"""How far above the last version the next one is."""

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
