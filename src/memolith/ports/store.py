"""The store: memories, messages and search index of many owners.

A `Store` opens a `Snapshot` to read and search one owner, and a `Transaction` to change one. Item,
session and speaker numbers belong to one owner and have no meaning for another. All times are
timezone-aware; stores keep them in UTC with microsecond precision.
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
    """Metadata of a store.

    Attributes:
        schema: Version of the table schema.
        embedder: Name of the model of its vectors; None until the first vector.
        dimension: Length of its vectors; None until the first vector.
        cipher: Name of the cipher it was created with.
        analyser: Version of the text analysis that produced its keywords.
        digest_name: The name used in digests of embedded texts, that of the store's first model;
            None until the first vector.
        embedding_generation: How often the store switched to another model.
    """

    schema: int
    embedder: str | None
    dimension: int | None
    cipher: str
    analyser: int
    digest_name: str | None = None
    embedding_generation: int = 0


# --- Transaction


class Transaction(Snapshot, PurgeWriter, StrengthWriter, BaseMemoryWriter, WorkWriter, Protocol):
    """A snapshot of one owner that is also the owner's only writer; atomic.

    An error in one of its methods rolls back the whole transaction, even if the block catches it:
    the end of the block then raises `Conflict`.

    A review applies as long as the content is unchanged. The entry of a suspicious text
    (`Trait.SUSPICIOUS`) is stored as reviewed if a version of that record with exactly that content
    was reviewed.

    Reads see earlier writes of the same transaction, with two exceptions. `counter` does not
    change. `nearest`, `similarities`, `centroid`, `postings`, `find_containing`, `items`,
    `usage_stats`, `item_numbers`, `items_with_traits`, `items_in_scope`, `neighbours` and
    `passages` may use the state at its beginning.
    """

    def adopt_profile(self, name: str) -> None:
        """Store the owner's profile if there is none yet."""
        ...

    def set_profile(self, name: str) -> None:
        """Store the owner's profile, replacing any other."""
        ...

    def log(
        self,
        session_id: str,
        messages: Sequence[tuple[Message, IndexEntry]],
        *,
        at: datetime | None = None,
    ) -> None:
        """Append messages to a session, in order; create the session if there is none.

        Ids, roles, times and sequence numbers must be set already (`next_sequence`).

        Args:
            at: The storage time, from which `as_of` includes the messages; None uses each message's
                own time.

        Raises:
            Conflict: An id, a position in the session, or an external id in it is taken.
            InvalidInput: An id is not a UUID, or a vector does not have the store's dimension.
        """
        ...

    def next_sequence(self, session_id: str) -> int:
        """Return the sequence number of the session's next message."""
        ...

    def end_session(self, session_id: str, at: datetime) -> None:
        """Mark a session as ended. Does nothing if it has no messages or does not exist."""
        ...

    def insert(self, memories: Sequence[tuple[Memory, IndexEntry]]) -> None:
        """Store new memories, each valid from its `updated_at`.

        The validity of an inactive memory ends when it begins: it is stored, but no search returns
        it.

        Raises:
            Conflict: An id is taken, or an active memory has the same key.
            InvalidInput: An id is not a UUID, or a vector does not have the store's dimension.
        """
        ...

    def revise(self, memory: Memory, entry: IndexEntry) -> None:
        """Close the open version of a memory, if any, and open `memory.version`.

        The new version is valid from `memory.updated_at`, or from the end of the last version if
        that is later.

        Raises:
            NotFound: There is no such memory.
            Conflict: The version is not above the last, or the key is taken.
        """
        ...

    def revise_message(self, message: Message, entry: IndexEntry, at: datetime) -> None:
        """Close the open version of a message, if any, and open `message.version`.

        Session, sequence and external id stay. Raises the same errors as `revise`.
        """
        ...

    def reindex(self, message_id: str, entry: IndexEntry) -> None:
        """Replace the terms and vectors of a message's open version after its window changed.

        The message may get another item number, with the same validity.

        Raises:
            NotFound: There is no such message, or it is forgotten.
        """
        ...

    def amend(self, memory: Memory) -> None:
        """Store all fields of a memory except content and version.

        If the state becomes inactive, the open version closes at `memory.updated_at`, but never
        before its start. This can't make a memory active again: that takes a new version.

        Raises:
            NotFound: There is no such memory.
            Conflict: The memory would become active, or the key is taken.
        """
        ...

    def close_messages(self, ids: Sequence[str], at: datetime) -> None:
        """Forget messages by closing their open versions. Other ids are skipped."""
        ...

    def link(self, links: Sequence[Link]) -> None:
        """Store links; existing ones stay."""
        ...

    def record(self, events: Sequence[Event]) -> None:
        """Append events."""
        ...


# --- Store


class Store(OwnerEraser, Protocol):
    """Memories of many owners. Thread-safe; several processes may open it at once."""

    @property
    def meta(self) -> StoreMeta:
        """The store's metadata."""
        ...

    @property
    def jobs(self) -> JobStore:
        """The store's scheduled jobs."""
        ...

    @property
    def leases(self) -> WorkLeases:
        """The leases of background work."""
        ...

    @property
    def usage(self) -> UsageCounter:
        """Usage of language models."""
        ...

    @property
    def api_keys(self) -> ApiKeys:
        """The service's API keys."""
        ...

    @property
    def idempotency(self) -> IdempotencyStore:
        """Responses to requests with an idempotency key."""
        ...

    def read(self, owner_id: str) -> AbstractContextManager[Snapshot]:
        """Take a snapshot of one owner. Never waits for writers.

        Raises:
            StoreUnavailable: The store can't be reached.
            StoreDamaged: The store is corrupt.
        """
        ...

    def write(self, owner_id: str) -> AbstractContextManager[Transaction]:
        """Lock one owner and begin an atomic transaction.

        At the end of the block, its writes are durable. The owner's counter has increased by one if
        there were any. An error in the block rolls back all of them.

        Raises:
            StoreUnavailable: Another writer holds the lock for too long, or the disk is full.
            StoreReadOnly: The store can't be written.
            OwnerErased: The owner was erased.
        """
        ...

    def record_access(self, owner_id: str, accessed: Mapping[str, tuple[int, datetime]]) -> None:
        """Add to the access counts of memories and set the time of their last recall.

        Maps each id to the number of new accesses and the latest time. A time earlier than the
        stored one is ignored. Creates no event and no version; does not change `updated_at` or the
        owner's counter. Unknown ids are skipped.
        """
        ...

    def adopt_embedder(self, name: str, dimension: int) -> None:
        """Record the model of the store's vectors, when the store is first used.

        Another model may replace it as long as there are no vectors.

        Raises:
            WrongEmbeddingModel: The store has vectors of another model.
        """
        ...

    def expect_embedder(self, name: str, dimension: int | None) -> None:
        """Declare the model of the query vectors and of the vectors to be stored from now on.

        If the store is later re-embedded with another model (`SupportsReembedding`), searching and
        storing vectors raise `WrongEmbeddingModel`. `adopt_embedder` includes this declaration.
        Without a declaration, any stored vectors are used.

        Args:
            name: The model's name.
            dimension: The length of its vectors; None if not known yet.

        Raises:
            WrongEmbeddingModel: The store has adopted another model.
        """
        ...

    def check_embedder(self) -> None:
        """Check that the store's vectors are still from the expected model.

        Raises:
            WrongEmbeddingModel: The store has switched to another model since.
        """
        ...

    def owners(self) -> list[str]:
        """Return all owners' ids, sorted."""
        ...

    def close(self) -> None:
        """Release all resources. Closing twice is not an error."""
        ...
