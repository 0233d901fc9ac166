"""Changing one owner's memory, all or nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from memolith.ports.base_memory import BaseMemoryWriter
from memolith.ports.removal import PurgeWriter
from memolith.ports.snapshot import Snapshot
from memolith.ports.upkeep import StrengthWriter
from memolith.ports.work import WorkWriter

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from memolith.domain.memories import Event, Link, Memory
    from memolith.domain.messages import Message
    from memolith.ports.columns import IndexEntry


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
