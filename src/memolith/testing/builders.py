"""Builders of memories, messages and index entries for tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from memolith.domain.memories import Features, Memory, Span, Trait
from memolith.domain.messages import Message, Role
from memolith.policies.indexing import quantise
from memolith.policies.ranking.model import Candidates
from memolith.ports.store import IndexEntry, Passage

START = datetime(2024, 1, 1, 12, tzinfo=UTC)
"""Start of the timeline in tests."""

DIMENSION = 8


def at(seconds: float) -> datetime:
    """Return the instant a number of seconds after `START`."""
    return START + timedelta(seconds=seconds)


def record_id(number: int) -> str:
    """Return the UUID of a number; UUIDs sort like their numbers."""
    return str(UUID(int=number))


def vector(*values: float) -> NDArray[np.int8]:
    """Return a stored vector of `DIMENSION` that starts with the given values."""
    padded = np.zeros(DIMENSION)
    padded[: len(values)] = values
    return quantise(padded)


def memory(number: int, content: str = "", *, owner_id: str = "alice", **fields: Any) -> Memory:
    """Return a memory, created `number` seconds after `START` by default."""
    created_at = fields.pop("created_at", at(number))
    return Memory(
        id=record_id(number),
        owner_id=owner_id,
        kind=fields.pop("kind", "fact"),
        content=content or f"memory {number}",
        created_at=created_at,
        updated_at=fields.pop("updated_at", created_at),
        **fields,
    )


def message(number: int, content: str = "", *, sequence: int, **fields: Any) -> Message:
    """Return a message, sent `number` seconds after `START` by default."""
    return Message(
        speaker=fields.pop("speaker", None),
        content=content or f"message {number}",
        role=fields.pop("role", Role.USER),
        at=fields.pop("said_at", at(number)),
        id=record_id(number),
        session_id=fields.pop("session_id", "s1"),
        sequence=sequence,
        **fields,
    )


def passage(
    terms: Mapping[str, int] | None = None,
    near: Sequence[float] | None = None,
    *,
    span: Span | None = None,
    digest: bytes | None = None,
) -> Passage:
    """Return a passage with the given terms and, optionally, a vector that starts with `near`."""
    return Passage(
        span=span or Span(0, 1),
        tokens=sum((terms or {}).values()) + 2,
        terms=terms or {},
        vector=None if near is None else vector(*near),
        digest=digest,
    )


def entry(
    *passages: Passage, content_key: str = "", traits: Trait = Trait.NONE, words: int = 1
) -> IndexEntry:
    """Return an index entry with the given passages."""
    tokens = sum(one.tokens for one in passages)
    return IndexEntry(Features(traits, words, tokens), passages, content_key)


def short_entry(text: str, *near: float) -> IndexEntry:
    """Return the entry of a one-passage text: its words are its terms, and the text is its key."""
    words = text.split()
    terms = {word: words.count(word) for word in words}
    return entry(
        passage(terms, near or None, span=Span(0, len(text))),
        content_key=text,
        words=len(words),
    )


def candidates(rows: int, **columns: Any) -> Candidates:
    """Return equal candidates, each in its own session, with the given columns replaced."""
    values: dict[str, Any] = {
        "similarity": np.full(rows, 0.5),
        "best_similarity": np.full(rows, 0.5),
        "text": np.zeros(rows),
        "next_similarity": np.full(rows, np.nan),
        "previous_text": np.zeros(rows),
        "previous_traits": np.zeros(rows, dtype=np.int64),
        "previous_speaker": np.full(rows, -1),
        "around": np.zeros(rows),
        "is_memory": np.zeros(rows, dtype=bool),
        "kind": ["episode"] * rows,
        "session": np.full(rows, -1),
        "sequence": np.zeros(rows, dtype=np.int64),
        "speaker": np.full(rows, -1),
        "role": [Role.ASSISTANT] * rows,
        "at": np.zeros(rows, dtype=np.int64),
        "traits": np.zeros(rows, dtype=np.int64),
        "words": np.full(rows, 10),
        "importance": np.full(rows, 0.5),
        "strength": np.full(rows, 0.5),
        "freshness": np.full(rows, 0.5),
        "substring_words": np.zeros(rows, dtype=np.int64),
    }
    return Candidates(**(values | columns))
