"""The store: the memories, messages and index of many owners.

Three protocols. A `Store` gives a `Snapshot` of one owner to read and search, and a
`Transaction` on one owner to change. A number, session number or speaker number belongs to one
owner and means nothing to another.

All times are timezone-aware; stores keep them to the microsecond, in UTC.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, Protocol

from mnemon.domain.items import Trait
from mnemon.ports.removal import Erasure, Removal, Wordings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractContextManager
    from datetime import datetime

    import numpy as np
    from numpy.typing import NDArray

    from mnemon.domain.items import Features, Span
    from mnemon.domain.memories import Event, History, Link, Memory, Page, State
    from mnemon.domain.messages import Message, Participant, Role, Session
    from mnemon.domain.owners import Statistics
    from mnemon.domain.recall import Scope

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

    def reviewed(self) -> IndexEntry:
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
class Uses:
    """What an item's strength and freshness are computed from; one row each.

    Attributes:
        importance: The memory's importance; 1.0 for a message.
        access_count: How often it was recalled; 0 for a message.
        used_at: When it was last recalled, else created; for a message, when it was said.
            Microseconds since 1970.
    """

    importance: Floats
    access_count: Integers
    used_at: Integers


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


@dataclass(frozen=True, slots=True)
class StoreMeta:
    """What a store says of itself.

    Attributes:
        schema: Version of its tables.
        embedder: Name of the model its vectors are of; None until the first vector.
        dimension: Their length; None until the first vector.
        cipher: Name of the cipher it was made with.
        analyser: Version of the text analysis that its keywords were made with.
    """

    schema: int
    embedder: str | None
    dimension: int | None
    cipher: str
    analyser: int


class Snapshot(Wordings, Protocol):
    """One owner's memory as it stood when the snapshot was taken.

    Nothing of another owner can be seen through it, nor does what others hold change any
    answer. An owner that was never written to has nothing.
    """

    @property
    def counter(self) -> int:
        """How many transactions have changed this owner; touches do not count. 0 at first."""
        ...

    def memories(self, ids: Sequence[str], *, as_of: datetime | None = None) -> list[Memory]:
        """Return the memories with these ids, in their order, in any state.

        Ids that the owner has no memory of are left out. With `as_of`, each as in the version
        that was valid then; those that had none are left out. Versions read as they stood while
        they were valid: active, and `updated_at` is when they began.
        """
        ...

    def by_key(self, key: str) -> Memory | None:
        """Return the active memory that has this key."""
        ...

    def by_content(self, content_key: str) -> list[Memory | Message]:
        """Return active memories and valid messages of exactly this `content_key`.

        Memories first, each group oldest first.
        """
        ...

    def page(
        self,
        *,
        states: frozenset[State],
        kinds: frozenset[str] | None,
        tags: tuple[str, ...],
        limit: int,
        cursor: str | None,
        offset: int = 0,
    ) -> Page:
        """Return memories newest first (by creation, then id), a page at a time.

        Raises:
            InvalidInput: The cursor is not one that a page of this owner gave.
        """
        ...

    def history(self, id: str) -> History | None:
        """Return versions and events of a memory, oldest first; None where there is none."""
        ...

    def messages(
        self,
        *,
        ids: Sequence[str] | None = None,
        session_id: str | None = None,
        after: int = 0,
        limit: int | None = None,
        as_of: datetime | None = None,
    ) -> list[Message]:
        """Return messages in their valid version; forgotten ones are left out.

        With `as_of`, in the version that was valid then; those that had none are left out.
        By `ids` in their order, or of a session by sequence, from the first whose sequence is
        above `after`, or of all sessions in the order they were stored.
        """
        ...

    def originals(self, ids: Sequence[str]) -> list[Message]:
        """Return messages as they were said (version 1), forgotten or not, in their order.

        Their `version` is the newest that there is, so that one more is the next. Ids that the
        owner has no message of are left out.
        """
        ...

    def external_ids(self, session_id: str, ids: Sequence[str]) -> set[str]:
        """Return which of the callers' ids that session already has, forgotten ones too."""
        ...

    def sessions(self) -> list[Session]:
        """Return the conversations, in the order in which they were first logged."""
        ...

    def participants(self) -> list[Participant]:
        """Return who has spoken, by number."""
        ...

    def derived(self, message_ids: Sequence[str]) -> dict[str, list[Memory]]:
        """Return the memories, in any state, that have each message as a source.

        Each message's oldest first; messages without any are left out.
        """
        ...

    def vectors(self, digests: Sequence[bytes]) -> dict[bytes, NDArray[np.int8]]:
        """Return the stored vectors of texts that were embedded before, by their digests."""
        ...

    def statistics(self) -> Statistics:
        """Return how much the owner has stored."""
        ...

    def nearest(self, vector: NDArray[np.int8], limit: int, scope: Scope) -> Integers:
        """Return the numbers of the items nearest to a vector, nearest first.

        An item is as near as its nearest passage; ties go to the lower number. Items without
        a vector are never near. Among many vectors a store may leave out some of the nearest.

        Returns:
            At most `limit` different numbers.

        Raises:
            InvalidInput: The vector has another length than the stored ones.
        """
        ...

    def similarities(self, vector: NDArray[np.int8], numbers: Integers) -> Similarities:
        """Return the cosines of a vector to every passage of these items, in their order."""
        ...

    def postings(self, terms: Sequence[str], scope: Scope) -> Postings:
        """Return where these terms stand, within the scope; rows by term, then by passage.

        A passage counts as valid by its item's validity alone, expired or not.
        """
        ...

    def items(self, numbers: Integers) -> Items:
        """Return the columns of these items, in their order. Every number must exist."""
        ...

    def uses(self, numbers: Integers) -> Uses:
        """Return how these items have been used, in their order, as of now."""
        ...

    def numbers(self, record_ids: Sequence[str], scope: Scope) -> Integers:
        """Return the item of each record that the scope lets through, in their order.

        −1 for those it does not.
        """
        ...

    def marked(self, traits: Trait, scope: Scope) -> Integers:
        """Return the numbers of the items in the scope that have any of these traits, ascending."""
        ...

    def neighbours(self, numbers: Integers, step: Literal[-1, 1], scope: Scope) -> Integers:
        """Return the valid message just before or after each, in its session; −1: none.

        Of the scope only the instant counts. Memories have no neighbours.
        """
        ...

    def passages(self, numbers: Integers) -> list[list[tuple[Span, int]]]:
        """Return span and word pieces of every passage of these items, in their order."""
        ...


class Transaction(Snapshot, Removal, Protocol):
    """A snapshot of one owner that is also the only writer of that owner.

    An error in one of its methods undoes the whole transaction, even where the block catches
    it: the block's end then raises `Conflict`.

    What somebody has looked at stays so while it says the same: the entry of a suspicious text
    (`Trait.SUSPICIOUS`) is kept as reviewed where a version of that record with just that content
    was.

    Reads see what was written before in the same transaction, but for `counter`, which stays,
    and `nearest`, `similarities`, `postings`, `items`, `uses`, `numbers`, `marked`, `neighbours`
    and `passages`, which may answer from the state at its begin.
    """

    def adopt_profile(self, name: str) -> None:
        """Keep the owner's profile, where none is kept yet."""
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


class Store(Erasure, Protocol):
    """Memories of many owners. Thread-safe; several processes may have it open."""

    @property
    def meta(self) -> StoreMeta:
        """What the store says of itself."""
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
            OwnerErased: The owner was erased.
        """
        ...

    def touch(self, owner_id: str, accessed: Mapping[str, tuple[int, datetime]]) -> None:
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

    def profile(self, owner_id: str, default: str) -> str:
        """Return the owner's profile: the one kept at its first write, else `default`."""
        ...

    def owners(self) -> list[str]:
        """Return all owners' ids, sorted."""
        ...

    def close(self) -> None:
        """Let go of all that is held open. Closing twice is no error."""
        ...
