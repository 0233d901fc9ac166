"""What a store takes and gives in columns: index entries, and what search sees of items."""

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
"""A passage's id is its item's number, shifted, and its part: `number << PART_BITS | part`."""

MAX_PARTS = 1 << PART_BITS


@dataclass(frozen=True, slots=True)
class Passage:
    """One stretch of a text as the index holds it.

    Attributes:
        span: Where it stands in the content.
        tokens: Its word pieces.
        terms: Its keywords, and how often each stands in it. A window may add a neighbour's.
        vector: Shape (dimension,), int8 (see `policies.vectors`); None in a store that only
            searches by keyword.
        digest: 16 bytes that name the embedded text, to find its vector again; None: not to
            be found.
    """

    span: Span
    tokens: int
    terms: Mapping[str, int]
    vector: NDArray[np.int8] | None
    digest: bytes | None = None


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """What the index holds for one message, or one version of a memory."""

    features: Features
    passages: tuple[Passage, ...]
    content_key: str
    """The text in the normal form in which two texts are the same (kept as a digest)."""

    def mark_reviewed(self) -> IndexEntry:
        """Return the entry of a text that somebody has looked at."""
        features = replace(self.features, traits=self.features.traits | Trait.REVIEWED)
        return replace(self, features=features)


@dataclass(frozen=True, slots=True)
class Items:
    """Columns about items, one row each, in the order asked for.

    Attributes:
        number: The item.
        is_memory: Whether it is a memory (else a message).
        record_id: The memory's or message's id.
        kind: The memory's kind, or "episode".
        session: The session's number; −1 without one.
        sequence: A message's place in its session; 0 for a memory.
        speaker: The participant's number; −1 without one.
        role: Who spoke; for a memory, "user" where its origin is the user, else "assistant".
        at: When it was said or happened; of a memory that does not say when, its creation.
            Microseconds since 1970.
        traits: Bits of `Trait`.
        words: Word count.
        tokens: Word pieces.
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
    """What an item's strength and freshness are computed from; one row each.

    Attributes:
        importance: The memory's importance; 1.0 for a message.
        access_count: How often it was recalled; 0 for a message.
        used_at: When it was last recalled, else created; for a message, when it was said.
            Microseconds since 1970.
        updated_at: When its newest version was stored, or its state last changed; for a
            message, when it was said. Microseconds since 1970.
    """

    importance: Floats
    access_count: Integers
    used_at: Integers
    updated_at: Integers


@dataclass(frozen=True, slots=True)
class Postings:
    """Where a query's keywords stand, in columns that BM25 is computed from.

    Attributes:
        passages: Ids of the passages in scope that hold any of the terms (others may be among
            them), ascending, shape (p,).
        lengths: Their lengths in terms, shape (p,).
        term: Which of the terms asked for, an index, shape (n,).
        slot: In which passage, an index into `passages`, shape (n,).
        frequency: How often, shape (n,).
        document_frequency: In how many of the owner's valid passages each term stands,
            whatever else the scope leaves out, shape (number of terms,).
        total: How many valid passages the owner has.
        mean_length: Their mean length in terms; 0.0 with none.
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
    """Cosines of a query to every passage of some items.

    Attributes:
        row: Which of the items asked for, an ascending index, shape (n,).
        part: Which of its passages, shape (n,).
        cosine: −1..1, shape (n,).
    """

    row: Integers
    part: Integers
    cosine: Floats
