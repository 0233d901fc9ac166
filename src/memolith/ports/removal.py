"""Removing for good: what a snapshot, a transaction and a store need for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from memolith.domain.messages import Message
    from memolith.ports.store import IndexEntry


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
