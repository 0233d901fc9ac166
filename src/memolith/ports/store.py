"""The store: the memories, messages and index of many owners.

Three protocols. A `Store` gives a `Snapshot` of one owner to read and search, and a
`Transaction` on one owner to change; they stand in modules of their own. A number, session
number or speaker number belongs to one owner and means nothing to another.

All times are timezone-aware; stores keep them to the microsecond, in UTC.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from memolith.domain.memories import Event, Link, Memory
from memolith.domain.messages import Message
from memolith.ports.index import (
    MAX_PARTS,
    PART_BITS,
    IndexEntry,
    Items,
    Passage,
    Postings,
    Similarities,
    UsageStats,
)
from memolith.ports.service import ApiKeys, IdempotencyStore, UsageCounter
from memolith.ports.snapshot import (
    BaseMemoryWriter,
    MemoryStats,
    OwnerEraser,
    PurgeWriter,
    Snapshot,
    StrengthWriter,
)
from memolith.ports.work import JobStore, WorkLeases, WorkWriter

__all__ = [
    "MAX_PARTS",
    "PART_BITS",
    "IndexEntry",
    "Items",
    "MemoryStats",
    "Passage",
    "Postings",
    "Similarities",
    "Snapshot",
    "Store",
    "StoreMeta",
    "Transaction",
    "UsageStats",
]


@dataclass(frozen=True, slots=True)
class StoreMeta:
    """What a store says of itself.

    Attributes:
        schema: Version of its tables.
        embedder: Name of the model its vectors are of; None until the first vector.
        dimension: Their length; None until the first vector.
        cipher: Name of the cipher it was made with.
        analyser: Version of the text analysis that its keywords were made with.
        digests: The name that digests of embedded texts are made with: that of the store's first
            model; None until then.
        space: How often its vectors were made anew by another model.
    """

    schema: int
    embedder: str | None
    dimension: int | None
    cipher: str
    analyser: int
    digest_name: str | None = None
    embedding_generation: int = 0


# --- Changing one owner's memory, all or nothing


class Transaction(Snapshot, PurgeWriter, StrengthWriter, BaseMemoryWriter, WorkWriter, Protocol):
    """A snapshot of one owner that is also the only writer of that owner.

    An error in one of its methods undoes the whole transaction, even where the block catches
    it: the block's end then raises `Conflict`.

    What somebody has looked at stays so while it says the same: the entry of a suspicious text
    (`Trait.SUSPICIOUS`) is kept as reviewed where a version of that record with just that content
    was.

    Reads see what was written before in the same transaction, but for `counter`, which stays,
    and `nearest`, `similarities`, `centroid`, `postings`, `containing`, `items`, `uses`,
    `numbers`, `marked`, `within`, `neighbours` and `passages`, which may answer from the state at
    its begin.
    """

    def adopt_profile(self, name: str) -> None:
        """Keep the owner's profile, where none is kept yet."""
        ...

    def set_profile(self, name: str) -> None:
        """Keep this as the owner's profile, whatever it was."""
        ...

    def log(
        self,
        session_id: str,
        messages: Sequence[tuple[Message, IndexEntry]],
        *,
        at: datetime | None = None,
    ) -> None:
        """Append messages to a session, in order; the session is made where there is none.

        Ids, roles, times and sequence numbers are set already (`next_sequence`).

        Args:
            at: When they are stored, from which on `as_of` finds them; None: each from when it
                was said.

        Raises:
            Conflict: An id, a place in the session, or a caller's id in it is taken.
            InvalidInput: An id is not a UUID, or a vector not of the store's length.
        """
        ...

    def next_sequence(self, session_id: str) -> int:
        """Return the sequence number that the session's next message has."""
        ...

    def end_session(self, session_id: str, at: datetime) -> None:
        """Mark a session as ended. One without a message, or not there at all, is left so."""
        ...

    def insert(self, memories: Sequence[tuple[Memory, IndexEntry]]) -> None:
        """Store new memories, each valid from its `updated_at`.

        One that is not active ends as it begins: it is kept, and never found.

        Raises:
            Conflict: An id is taken, or a key by an active memory.
            InvalidInput: An id is not a UUID, or a vector not of the store's length.
        """
        ...

    def revise(self, memory: Memory, entry: IndexEntry) -> None:
        """Close the open version of a memory, if any, and open `memory.version`.

        Valid from `memory.updated_at`, but never from before the last version's end.

        Raises:
            NotFound: There is no such memory.
            Conflict: The version is not above the last, or the key is taken.
        """
        ...

    def revise_message(self, message: Message, entry: IndexEntry, at: datetime) -> None:
        """Close the open version of a message, if any, and open `message.version`.

        Session, sequence and the caller's id stay. Raises as `revise` does.
        """
        ...

    def reindex(self, message_id: str, entry: IndexEntry) -> None:
        """Replace terms and vectors of a message's open version; its window has changed.

        It may be another item afterwards, of the same validity.

        Raises:
            NotFound: The message is not there, or forgotten.
        """
        ...

    def amend(self, memory: Memory) -> None:
        """Store all of a memory but its content and version.

        Where the state becomes inactive, its open version is closed as of
        `memory.updated_at`, but never before it began. It can't become active again thus: that
        is a new version.

        Raises:
            NotFound: There is no such memory.
            Conflict: It would become active, or the key is taken.
        """
        ...

    def close_messages(self, ids: Sequence[str], at: datetime) -> None:
        """Close the open versions of these messages: forgotten. Others are left out."""
        ...

    def link(self, links: Sequence[Link]) -> None:
        """Store links; those already there stay."""
        ...

    def record(self, events: Sequence[Event]) -> None:
        """Append events."""
        ...


# --- The store: the memories, messages and index of many owners


class Store(OwnerEraser, Protocol):
    """Memories of many owners. Thread-safe; several processes may have it open."""

    @property
    def meta(self) -> StoreMeta:
        """What the store says of itself."""
        ...

    @property
    def jobs(self) -> JobStore:
        """Its scheduled jobs."""
        ...

    @property
    def leases(self) -> WorkLeases:
        """Who does what is waiting for a model."""
        ...

    @property
    def usage(self) -> UsageCounter:
        """What models were asked."""
        ...

    @property
    def api_keys(self) -> ApiKeys:
        """The keys by which callers of the service are known."""
        ...

    @property
    def idempotency(self) -> IdempotencyStore:
        """What was answered to requests that have a key."""
        ...

    def read(self, owner_id: str) -> AbstractContextManager[Snapshot]:
        """Take a snapshot of one owner. Never waits for a writer.

        Raises:
            StoreUnavailable: The store can't be reached.
            StoreDamaged: The store can't be understood.
        """
        ...

    def write(self, owner_id: str) -> AbstractContextManager[Transaction]:
        """Lock one owner for writing; all or nothing is kept.

        At the end of the block what was written is durable and the owner's counter has grown
        by one, if anything was written; an error in the block undoes all of it.

        Raises:
            StoreUnavailable: Somebody else holds the lock for too long, or the disk is full.
            StoreReadOnly: The store can't be written.
            OwnerErased: The owner was erased.
        """
        ...

    def record_access(self, owner_id: str, accessed: Mapping[str, tuple[int, datetime]]) -> None:
        """Add to the access counts of memories and set when they were last recalled.

        By id: how many times more, and the latest time; an earlier one than is known does not
        count. No event, no version, no change of
        `updated_at` or of the counter. Ids that are not there are left out.
        """
        ...

    def adopt_embedder(self, name: str, dimension: int) -> None:
        """Keep which model the vectors are of, at the first use of a store.

        While there are no vectors, another may take its place.

        Raises:
            WrongEmbeddingModel: The store has vectors of another.
        """
        ...

    def expect_embedder(self, name: str, dimension: int | None) -> None:
        """Say of which model the vectors are that are asked with, and stored, from now on.

        From then on, should the store's vectors be made anew by another model (`Reembeddable`),
        this store is refused, wherever it searches or stores a vector, by `WrongEmbeddingModel`.
        `adopt_embedder` says it too. Who says nothing uses whatever there is.

        Args:
            name: The model's.
            dimension: The length of its vectors; None: not known yet.

        Raises:
            WrongEmbeddingModel: The store has adopted another.
        """
        ...

    def check_embedder(self) -> None:
        """See that the store's vectors are still of the model that was expected.

        Raises:
            WrongEmbeddingModel: They are of another since.
        """
        ...

    def owners(self) -> list[str]:
        """Return all owners' ids, sorted."""
        ...

    def close(self) -> None:
        """Let go of all that is held open. Closing twice is no error."""
        ...
