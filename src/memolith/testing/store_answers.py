"""All that a snapshot says, in a form that compares bit for bit."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from memolith.domain.items import Trait
from memolith.domain.memories import State
from memolith.domain.work import ProcessingFlag
from memolith.testing.builders import at, vector
from memolith.testing.store_values import IDS, SESSIONS, WORDS

if TYPE_CHECKING:
    from memolith.domain.recall import SearchFilter
    from memolith.ports.store import Snapshot


def records(snapshot: Snapshot) -> dict[str, Any]:
    """Return all that a snapshot says of records."""
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
    """Return all that a snapshot says to a search."""
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
