"""Reading and searching one owner's memory as it stood at one instant."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, Protocol

from memolith.ports.base_memory import BaseMemoryReader
from memolith.ports.removal import MessageRevisionReader
from memolith.ports.upkeep import MemoryStatsReader
from memolith.ports.work import PendingWorkReader

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    import numpy as np
    from numpy.typing import NDArray

    from memolith.domain.items import Span, Trait
    from memolith.domain.memories import History, Memory, Page, State
    from memolith.domain.messages import Message, Participant, Session
    from memolith.domain.owners import Statistics
    from memolith.domain.recall import SearchFilter
    from memolith.ports.columns import Items, Postings, Similarities, UsageStats

    Integers = NDArray[np.int64]
    Floats = NDArray[np.float64]


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
