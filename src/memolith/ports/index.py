"""Index entries, and the columns that searches return."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from memolith.domain.memories import Features, Span, Trait
from memolith.domain.messages import Role

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

PART_BITS = 16
"""Bits of a passage id that hold its part: `item number << PART_BITS | part`."""

MAX_PARTS = 1 << PART_BITS


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage of a text, as indexed.

    Attributes:
        span: Its position in the content.
        tokens: Its number of word pieces.
        terms: Its keywords with their frequencies. A context window may add keywords of adjacent
            messages.
        vector: Shape (dimension,), int8 (see `policies.indexing`); None in a store with keyword
            search only.
        digest: 16 bytes that identify the embedded text, so that its vector can be reused; None if
            it can't be.
    """

    span: Span
    tokens: int
    terms: Mapping[str, int]
    vector: NDArray[np.int8] | None
    digest: bytes | None = None


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """Index data of one message, or of one version of a memory."""

    features: Features
    passages: tuple[Passage, ...]
    content_key: str
    """The text in canonical form, for detecting identical texts; stored as a digest."""

    def mark_reviewed(self) -> IndexEntry:
        """Return the entry marked as reviewed."""
        features = replace(self.features, traits=self.features.traits | Trait.REVIEWED)
        return replace(self, features=features)


@dataclass(frozen=True, slots=True)
class Items:
    """Columns about items, one row each, in the requested order.

    Attributes:
        number: The item number.
        is_memory: Whether the item is a memory; else it is a message.
        record_id: The memory's or message's id.
        kind: The memory's kind, or "episode".
        session: The session's number; −1 without one.
        sequence: A message's position in its session; 0 for a memory.
        speaker: The participant's number; −1 without one.
        role: The speaker's role; for a memory, "user" if its origin is the user, else "assistant".
        at: Time of the message or event, in microseconds since 1970; creation time for a memory
            without an event time.
        traits: Bits of `Trait`.
        words: Word count.
        tokens: Number of word pieces.
    """

    number: Integers
    is_memory: NDArray[np.bool_]
    record_id: Sequence[str]
    kind: Sequence[str]
    session: Integers
    sequence: Integers
    speaker: Integers
    role: Sequence[Role]
    at: Integers
    traits: Integers
    words: Integers
    tokens: Integers


@dataclass(frozen=True, slots=True)
class UsageStats:
    """Inputs of an item's strength and freshness, one row each.

    Attributes:
        importance: The memory's importance; 1.0 for a message.
        access_count: Number of recalls; 0 for a message.
        used_at: Last recall, else creation; for a message, its time. Microseconds since 1970.
        updated_at: Time of the newest version or of the last state change; for a message, its time.
            Microseconds since 1970.
    """

    importance: Floats
    access_count: Integers
    used_at: Integers
    updated_at: Integers


@dataclass(frozen=True, slots=True)
class Postings:
    """Occurrences of a query's keywords, as columns for computing BM25.

    Attributes:
        passages: Ids of the passages in scope that contain any of the terms, ascending, shape (p,).
            Other passages may be included.
        lengths: Their lengths in terms, shape (p,).
        term: Index of the requested term, shape (n,).
        slot: Index into `passages`, shape (n,).
        frequency: Number of occurrences, shape (n,).
        document_frequency: Number of the owner's valid passages that contain each term, regardless
            of the rest of the scope, shape (number of terms,).
        total: Number of the owner's valid passages.
        mean_length: Their mean length in terms; 0.0 if there are none.
    """

    passages: Integers
    lengths: Floats
    term: Integers
    slot: Integers
    frequency: Floats
    document_frequency: Integers
    total: int
    mean_length: float


@dataclass(frozen=True, slots=True)
class Similarities:
    """Cosine similarities between a query and every passage of some items.

    Attributes:
        row: Index of the requested item, ascending, shape (n,).
        part: The part number of the passage, shape (n,).
        cosine: −1..1, shape (n,).
    """

    row: Integers
    part: Integers
    cosine: Floats
