"""Reading and searching one owner's memory as it stood at one instant."""

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
    """What a message says in one of its versions.

    Attributes:
        message: The message in that version.
        valid_from: From when it stood so.
        valid_to: Until when; None: it does.
    """

    message: Message
    valid_from: datetime
    valid_to: datetime | None


class MessageRevisionReader(Protocol):
    """The part of a `Snapshot` that looks at all versions of messages."""

    def message_revisions(self, ids: Sequence[str]) -> dict[str, list[MessageRevision]]:
        """Return every version of these messages, oldest first, forgotten or not.

        Ids that the owner has no message of are left out.
        """
        ...

    def find_adjacent_message(self, id: str, step: Literal[-1, 1]) -> str | None:
        """Return the message whose sequence is one lower or higher, forgotten or not."""
        ...


class PurgeWriter(Protocol):
    """The part of a `Transaction` that removes for good.

    Nothing of what is removed is left in the store, but for what others have too: not in old
    versions, index entries, links or events. Indexes that were derived before are made anew.
    """

    def purge(self, ids: Sequence[str]) -> None:
        """Remove memories and messages with all that belongs to them.

        All versions go, with index entries, tags, events, and links from or to them. Other
        memories lose them as a source and as what superseded them. A session no longer counts
        them, but gives their places to no other message. Who has said nothing else is no longer
        a participant. Ids that are not there are left out.
        """
        ...

    def remove_sessions(self, ids: Sequence[str]) -> None:
        """Remove conversations with all their messages, as `purge` does.

        Memories outlive them, in no session. A conversation logged under such an id later is
        another. Ids that are not there are left out.
        """
        ...

    def rewrite_message(self, id: str, revisions: Sequence[tuple[Message, IndexEntry]]) -> None:
        """Replace what versions of a message say, each by its number; remove the others.

        Times, place and caller's id stay. The highest of these versions is the message as it
        is, or, where that version had ended, as it was when it was forgotten.

        Raises:
            NotFound: There is no such message, or no such version of it.
            InvalidInput: No version is given, or a vector is not of the store's length.
        """
        ...


class OwnerEraser(Protocol):
    """The part of a `Store` that removes an owner for good."""

    def erase(self, owner_id: str, at: datetime) -> bool:
        """Remove everything of an owner, and the owner's key; keep that it was done.

        From then on writing for this owner raises `OwnerErased`, and reading finds nothing,
        also in a backup that is restored over this store. Doing it again changes nothing.

        Returns:
            Whether there was anything: False also where the owner was erased before.
        """
        ...

    def is_erased(self, owner_id: str) -> bool:
        """Return whether an owner was erased, and not readmitted since."""
        ...

    def readmit(self, owner_id: str) -> bool:
        """Let an erased owner begin again, with nothing; return whether they were erased."""
        ...

    def compact(self) -> bool:
        """Overwrite what was removed wherever the store still has it, as in logs.

        Returns:
            False where somebody who is reading keeps it from being done; to be tried again.
        """
        ...


# --- Looking after memories: what scheduled work needs of a snapshot and of a transaction


@dataclass(frozen=True, slots=True)
class MemoryStats:
    """All that decides whether memories live on, in columns, one row each.

    Times are in microseconds since 1970.

    Attributes:
        number: The item of its latest version.
        id: The memory's id.
        kind: Its kind.
        state: Where it is in its life.
        importance: As judged when it was stored, 0..1.
        strength: What is left of that, as last stored, 0..1.
        access_count: How often it was recalled.
        used_at: When it was last recalled, else created.
        created_at: When its first version was stored.
        updated_at: When this version was stored, or its state last changed.
        expires_at: When it ends by itself; −1: never.
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
    """The part of a `Snapshot` that tells how memories stand, without reading what they say."""

    def memory_stats(self, *, states: frozenset[State]) -> MemoryStats:
        """Return the vitals of all memories in these states, oldest first (by creation, then id).

        A transaction sees in them what was written in it.
        """
        ...


class StrengthWriter(Protocol):
    """The part of a `Transaction` that looks after memories."""

    def set_strengths(self, ids: Sequence[str], strengths: Sequence[float]) -> None:
        """Store what is left of memories, each 0..1, in the order of their ids.

        No event, no version, no change of `updated_at` or of the counter. Ids that are not there
        are left out; of one that stands there twice, the last counts.
        """
        ...


# --- The base memory in a store: what a snapshot and a transaction can do with it


class BaseMemoryReader(Protocol):
    """The part of a `Snapshot` that reads the base memory."""

    def base_memory(self, *, as_of: datetime | None = None) -> BaseMemory | None:
        """Return the base memory; None where there is none.

        With `as_of`, in the version that was valid then.
        """
        ...

    def base_memories(self) -> list[BaseMemory]:
        """Return all its versions, oldest first."""
        ...


class BaseMemoryWriter(Protocol):
    """The part of a `Transaction` that changes the base memory.

    What is purged is no longer among the sources of any version.
    """

    def set_base_memory(self, content: str, *, sources: Sequence[Source], at: datetime) -> None:
        """Close the open version, if any, and open the next.

        Valid from `at`, but never from before the last version's beginning. The old ones stay.

        Raises:
            InvalidInput: A source's id is not a UUID.
        """
        ...

    def rewrite_base_memory(self, contents: Mapping[int, str]) -> None:
        """Replace for good what versions say, by their numbers; times and sources stay.

        Raises:
            NotFound: There is no such version.
        """
        ...


# --- Reading and searching one owner's memory as it stood at one instant


class Snapshot(
    MessageRevisionReader, MemoryStatsReader, BaseMemoryReader, PendingWorkReader, Protocol
):
    """One owner's memory as it stood when the snapshot was taken.

    Nothing of another owner can be seen through it, nor does what others hold change any
    answer. An owner that was never written to has nothing.
    """

    @property
    def owner_id(self) -> str:
        """Whose it is."""
        ...

    @property
    def counter(self) -> int:
        """How many transactions have changed this owner; touches do not count. 0 at first."""
        ...

    @property
    def profile(self) -> str | None:
        """The name of the profile kept at its first write; None before that."""
        ...

    def memories(self, ids: Sequence[str], *, as_of: datetime | None = None) -> list[Memory]:
        """Return the memories with these ids, in their order, in any state.

        Ids that the owner has no memory of are left out. With `as_of`, each as in the version
        that was valid then; those that had none are left out. Versions read as they stood while
        they were valid: active, and `updated_at` is when they began.
        """
        ...

    def find_by_key(self, key: str) -> Memory | None:
        """Return the active memory that has this key."""
        ...

    def find_by_content(self, content_key: str, *, dormant: bool = False) -> list[Memory | Message]:
        """Return active memories and valid messages of exactly this `content_key`.

        Memories first, each group oldest first. With `dormant`, memories that are expired, faded
        or evicted are among them.
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

    def recent_messages(self, limit: int, *, session_id: str | None = None) -> list[Message]:
        """Return the last of what `messages` returns, at most so many, in the same order."""
        ...

    def original_messages(self, ids: Sequence[str]) -> list[Message]:
        """Return messages as they were said (version 1), forgotten or not, in their order.

        Their `version` is the newest that there is, so that one more is the next. Ids that the
        owner has no message of are left out.
        """
        ...

    def forgotten_messages(self) -> list[Message]:
        """Return those of them that are forgotten, in the order they were stored."""
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

    def derived_memories(self, source_ids: Sequence[str]) -> dict[str, list[Memory]]:
        """Return the memories, in any state, that have each message, or memory, as a source.

        Each one's oldest first; those without any are left out.
        """
        ...

    def vectors(self, digests: Sequence[bytes]) -> dict[bytes, NDArray[np.int8]]:
        """Return the stored vectors of texts that were embedded before, by their digests."""
        ...

    def statistics(self) -> Statistics:
        """Return how much the owner has stored."""
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

        An item is as near as its nearest passage; ties go to the lower number. Items without
        a vector are never near. Among many vectors a store may leave out some of the nearest.

        Args:
            vector: What to be near to.
            limit: How many at most.
            scope: Which items may be among them.
            at_least: The least cosine that they may have; −∞: any. Where it is high a store may
                look at fewer.

        Returns:
            At most `limit` different numbers.

        Raises:
            InvalidInput: The vector has another length than the stored ones.
        """
        ...

    def similarities(self, vector: NDArray[np.int8], numbers: Integers) -> Similarities:
        """Return the cosines of a vector to every passage of these items, in their order."""
        ...

    def centroid(self, scope: SearchFilter) -> Floats | None:
        """Return the mean of the unit vectors of the passages of memories in the scope.

        Messages do not count, nor vectors that are zero. None where there are no others.

        Returns:
            Shape (dimension,), comparable with a vector as it was given.
        """
        ...

    def postings(self, terms: Sequence[str], scope: SearchFilter) -> Postings:
        """Return where these terms stand, within the scope; rows by term, then by passage.

        A passage counts as valid by its item's validity alone, expired or not.
        """
        ...

    def find_containing(
        self, words: Sequence[str], scope: SearchFilter
    ) -> tuple[Integers, Integers]:
        """Return the memories in the scope whose key or content holds any of these texts.

        Anywhere, within words too; compared without regard to case (`str.casefold`), all other
        characters literally. Opens every memory in the scope: a last resort.

        Returns:
            Their items, ascending, and how many of the texts each holds.
        """
        ...

    def items(self, numbers: Integers) -> Items:
        """Return the columns of these items, in their order. Every number must exist."""
        ...

    def usage_stats(self, numbers: Integers) -> UsageStats:
        """Return how these items have been used, in their order, as of now."""
        ...

    def item_numbers(self, record_ids: Sequence[str], scope: SearchFilter) -> Integers:
        """Return the item of each record that the scope lets through, in their order.

        −1 for those it does not.
        """
        ...

    def items_with_content(self, content_key: str, limit: int, scope: SearchFilter) -> Integers:
        """Return the numbers of the items in the scope of exactly this `content_key`.

        Memories come before messages, each by number.

        Returns:
            At most `limit` numbers.
        """
        ...

    def items_with_traits(self, traits: Trait, scope: SearchFilter) -> Integers:
        """Return the numbers of the items in the scope that have any of these traits, ascending."""
        ...

    def items_in_scope(self, scope: SearchFilter) -> Integers:
        """Return the numbers of all items in the scope, ascending."""
        ...

    def neighbours(self, numbers: Integers, step: Literal[-1, 1], scope: SearchFilter) -> Integers:
        """Return the valid message just before or after each, in its session; −1: none.

        Of the scope only the instant counts. Memories have no neighbours.
        """
        ...

    def passages(self, numbers: Integers) -> list[list[tuple[Span, int]]]:
        """Return span and word pieces of every passage of these items, in their order."""
        ...
