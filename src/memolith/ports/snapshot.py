"""Snapshots: reading and searching one owner's memory as of one instant.

The module also defines the parts of `Transaction` and `Store` that purge records, erase owners, and
maintain strengths and the base memory.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from memolith.domain.memories import BaseMemory, History, Memory, Page, Source, Span, State, Trait
from memolith.domain.messages import Message, Participant, Session
from memolith.domain.owners import Statistics
from memolith.domain.recall import SearchFilter
from memolith.ports.index import Items, Postings, Similarities, UsageStats
from memolith.ports.work import PendingWorkReader

if TYPE_CHECKING:
    from memolith.ports.index import IndexEntry

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class MessageRevision:
    """A version of a message.

    Attributes:
        message: The message in that version.
        valid_from: Start of its validity.
        valid_to: End of its validity; None if it is currently valid.
    """

    message: Message
    valid_from: datetime
    valid_to: datetime | None


class MessageRevisionReader(Protocol):
    """The part of a `Snapshot` that reads all versions of messages."""

    def message_revisions(self, ids: Sequence[str]) -> dict[str, list[MessageRevision]]:
        """Return every version of these messages, oldest first, including forgotten ones.

        Ids that are not messages of the owner are left out.
        """
        ...

    def find_adjacent_message(self, id: str, step: Literal[-1, 1]) -> str | None:
        """Return the message with the next lower or higher sequence, even if forgotten."""
        ...


class PurgeWriter(Protocol):
    """The part of a `Transaction` that deletes permanently.

    Nothing of the deleted data remains in the store: not in old versions, index entries, links or
    events. Data that other records share stays. Indexes that were derived from it are rebuilt.
    """

    def purge(self, ids: Sequence[str]) -> None:
        """Delete memories and messages with all dependent data.

        This removes all versions, index entries, tags and events, and links from and to the
        records. Other memories lose them as sources and as successors (`superseded_by`). The
        session's message count decreases, but the sequence numbers are not reused. Participants
        without any remaining message are removed. Unknown ids are skipped.
        """
        ...

    def remove_sessions(self, ids: Sequence[str]) -> None:
        """Delete conversations with all their messages, as `purge` does.

        Their memories remain, without a session. A later conversation with the same id is a new
        one. Unknown ids are skipped.
        """
        ...

    def rewrite_message(self, id: str, revisions: Sequence[tuple[Message, IndexEntry]]) -> None:
        """Replace the content of versions of a message, by version number; remove all others.

        Times, position in the session and external id stay. The highest of these versions becomes
        the message's newest version. If that version had ended, the message remains forgotten.

        Raises:
            NotFound: There is no such message, or no such version of it.
            InvalidInput: There are no revisions, or a vector does not have the store's dimension.
        """
        ...


class OwnerEraser(Protocol):
    """The part of a `Store` that erases owners."""

    def erase(self, owner_id: str, at: datetime) -> bool:
        """Permanently remove all data of an owner and the owner's key; record the erasure.

        Afterwards, writing for this owner raises `OwnerErased`, and reading returns nothing. This
        also holds after a backup is restored over this store. Repeating it changes nothing.

        Returns:
            Whether there was any data; also False if the owner was erased before.
        """
        ...

    def is_erased(self, owner_id: str) -> bool:
        """Return whether an owner was erased and not readmitted since."""
        ...

    def readmit(self, owner_id: str) -> bool:
        """Let an erased owner start again without data; return whether the owner was erased."""
        ...

    def compact(self) -> bool:
        """Overwrite deleted data wherever the store still has it, such as in logs.

        Returns:
            False if a concurrent reader prevents it; try again later.
        """
        ...


# --- Strength of memories


@dataclass(frozen=True, slots=True)
class MemoryStats:
    """Inputs of decay and retention, as columns with one row per memory.

    Times are in microseconds since 1970.

    Attributes:
        number: The item number of the newest version.
        id: The memory's id.
        kind: Its kind.
        state: Its state.
        importance: Importance when it was stored, 0..1.
        strength: Remaining strength, as last stored, 0..1.
        access_count: Number of recalls.
        used_at: Last recall, else creation.
        created_at: When its first version was stored.
        updated_at: When this version was stored, or its state last changed.
        expires_at: When it expires; −1 for never.
        session: The session's number, as in `Items.session`; −1 without one.
    """

    number: Integers
    id: Sequence[str]
    kind: Sequence[str]
    state: Sequence[State]
    importance: Floats
    strength: Floats
    access_count: Integers
    used_at: Integers
    created_at: Integers
    updated_at: Integers
    expires_at: Integers
    session: Integers


class MemoryStatsReader(Protocol):
    """The part of a `Snapshot` that reads the state of memories without decrypting content."""

    def memory_stats(self, *, states: frozenset[State]) -> MemoryStats:
        """Return the stats of all memories in these states, oldest first (by creation, then id).

        In a transaction, they include its own writes.
        """
        ...


class StrengthWriter(Protocol):
    """The part of a `Transaction` that stores the strength of memories."""

    def set_strengths(self, ids: Sequence[str], strengths: Sequence[float]) -> None:
        """Store the strengths of memories, each 0..1, in the order of their ids.

        Creates no event and no version; does not change `updated_at` or the owner's counter.
        Unknown ids are skipped. If an id occurs twice, the last value counts.
        """
        ...


# --- Base memory


class BaseMemoryReader(Protocol):
    """The part of a `Snapshot` that reads the base memory."""

    def base_memory(self, *, as_of: datetime | None = None) -> BaseMemory | None:
        """Return the base memory; None if there is none.

        With `as_of`, the version that was valid then.
        """
        ...

    def base_memories(self) -> list[BaseMemory]:
        """Return all versions of the base memory, oldest first."""
        ...


class BaseMemoryWriter(Protocol):
    """The part of a `Transaction` that changes the base memory.

    Purged records are removed from the sources of all versions.
    """

    def set_base_memory(self, content: str, *, sources: Sequence[Source], at: datetime) -> None:
        """Close the open version, if any, and open the next.

        The new version is valid from `at`, or from the start of the last version if that is later.
        Old versions stay.

        Raises:
            InvalidInput: A source's id is not a UUID.
        """
        ...

    def rewrite_base_memory(self, contents: Mapping[int, str]) -> None:
        """Permanently replace the content of versions, by number; times and sources stay.

        Raises:
            NotFound: There is no such version.
        """
        ...


# --- Snapshot


class Snapshot(
    MessageRevisionReader, MemoryStatsReader, BaseMemoryReader, PendingWorkReader, Protocol
):
    """One owner's memory as of the instant when the snapshot was taken.

    It shows no data of other owners, and their data does not affect any result. An owner without
    any writes has no data.
    """

    @property
    def owner_id(self) -> str:
        """The owner."""
        ...

    @property
    def counter(self) -> int:
        """Number of transactions that changed this owner, without `record_access`; 0 at first."""
        ...

    @property
    def profile(self) -> str | None:
        """The name of the profile stored by the owner's first write; None before that."""
        ...

    def memories(self, ids: Sequence[str], *, as_of: datetime | None = None) -> list[Memory]:
        """Return the memories with these ids, in their order, in any state.

        Ids that are not memories of the owner are left out. With `as_of`, each memory is in the
        version that was valid then; memories without one are left out. Such versions are returned
        as they were while valid: active, with `updated_at` set to their start.
        """
        ...

    def find_by_key(self, key: str) -> Memory | None:
        """Return the active memory with this key."""
        ...

    def find_by_content(self, content_key: str, *, dormant: bool = False) -> list[Memory | Message]:
        """Return active memories and valid messages with exactly this `content_key`.

        Memories come first, each group oldest first. With `dormant`, expired, faded and evicted
        memories are included.
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
        """Return a page of memories, newest first (by creation, then id).

        Raises:
            InvalidInput: The cursor is not from a page of this owner.
        """
        ...

    def history(self, id: str) -> History | None:
        """Return a memory's versions and events, oldest first; None if there is no such memory."""
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
        """Return messages in their valid version; forgotten messages are left out.

        With `as_of`, each is in the version that was valid then; messages without one are left out.
        Selected by `ids`, in their order; by session, ordered by sequence and only those above
        `after`; or all messages, in the order stored.
        """
        ...

    def recent_messages(self, limit: int, *, session_id: str | None = None) -> list[Message]:
        """Return the last `limit` messages that `messages` would return, in the same order."""
        ...

    def original_messages(self, ids: Sequence[str]) -> list[Message]:
        """Return messages with their original content (version 1), even if forgotten, in order.

        Their `version` is the newest existing one, so that the next version is one higher. Ids that
        are not messages of the owner are left out.
        """
        ...

    def forgotten_messages(self) -> list[Message]:
        """Return the forgotten messages with their original content, in the order stored."""
        ...

    def external_ids(self, session_id: str, ids: Sequence[str]) -> set[str]:
        """Return which of these external ids exist in the session, including forgotten messages."""
        ...

    def sessions(self) -> list[Session]:
        """Return the sessions, ordered by their first message."""
        ...

    def participants(self) -> list[Participant]:
        """Return the participants, ordered by number."""
        ...

    def derived_memories(self, source_ids: Sequence[str]) -> dict[str, list[Memory]]:
        """Return the memories, in any state, derived from each of these messages or memories.

        Each list is oldest first; sources without derived memories are left out.
        """
        ...

    def vectors(self, digests: Sequence[bytes]) -> dict[bytes, NDArray[np.int8]]:
        """Return the stored vectors of previously embedded texts, by digest."""
        ...

    def statistics(self) -> Statistics:
        """Return counts of the owner's stored data."""
        ...

    def nearest(
        self,
        vector: NDArray[np.int8],
        limit: int,
        scope: SearchFilter,
        *,
        min_cosine: float = -math.inf,
    ) -> Integers:
        """Return the numbers of the items nearest to a vector, nearest first.

        The nearest passage of an item counts; ties go to the lower number. Items without a vector
        are never returned. With many vectors, a store may miss some of the nearest.

        Args:
            vector: The query.
            limit: Maximum number of results.
            scope: The items to search.
            min_cosine: The minimum cosine; −∞ for any. A high value may let the store compare fewer
                items.

        Returns:
            At most `limit` different numbers.

        Raises:
            InvalidInput: The vector does not have the dimension of the stored ones.
        """
        ...

    def similarities(self, vector: NDArray[np.int8], numbers: Integers) -> Similarities:
        """Return the cosines between a vector and every passage of these items, in their order."""
        ...

    def centroid(self, scope: SearchFilter) -> Floats | None:
        """Return the mean of the unit vectors of the passages of memories in the scope.

        Messages and zero vectors do not count. None if there are no other vectors.

        Returns:
            Shape (dimension,), comparable with a vector before quantisation.
        """
        ...

    def postings(self, terms: Sequence[str], scope: SearchFilter) -> Postings:
        """Return the occurrences of these terms within the scope, ordered by term, then passage.

        A passage is valid if its item is valid, even if expired.
        """
        ...

    def find_containing(
        self, words: Sequence[str], scope: SearchFilter
    ) -> tuple[Integers, Integers]:
        """Return the memories in the scope whose key or content contains any of these texts.

        Matches anywhere, including within words. Ignores case (`str.casefold`); all other
        characters match literally. Decrypts every memory in the scope, so use it as a last resort.

        Returns:
            The item numbers, ascending, and the number of texts that each contains.
        """
        ...

    def items(self, numbers: Integers) -> Items:
        """Return the columns of these items, in their order. Every number must exist."""
        ...

    def usage_stats(self, numbers: Integers) -> UsageStats:
        """Return the current usage of these items, in their order."""
        ...

    def item_numbers(self, record_ids: Sequence[str], scope: SearchFilter) -> Integers:
        """Return the item of each record within the scope, in their order.

        −1 for records outside the scope.
        """
        ...

    def items_with_content(self, content_key: str, limit: int, scope: SearchFilter) -> Integers:
        """Return the numbers of the items in the scope with exactly this `content_key`.

        Memories come before messages, each ordered by number.

        Returns:
            At most `limit` numbers.
        """
        ...

    def items_with_traits(self, traits: Trait, scope: SearchFilter) -> Integers:
        """Return the numbers of the items in the scope with any of these traits, ascending."""
        ...

    def items_in_scope(self, scope: SearchFilter) -> Integers:
        """Return the numbers of all items in the scope, ascending."""
        ...

    def neighbours(self, numbers: Integers, step: Literal[-1, 1], scope: SearchFilter) -> Integers:
        """Return the valid message just before or after each one in its session; −1 for none.

        Only the instant of the scope applies. Memories have no neighbours.
        """
        ...

    def passages(self, numbers: Integers) -> list[list[tuple[Span, int]]]:
        """Return span and number of word pieces of every passage of these items, in their order."""
        ...
