"""Verifying a store: what can be compared with what it was derived from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractContextManager

    from memolith.ports.store import IndexEntry


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is not as it must be.

    Attributes:
        kind: What it is about: "file", "sealed", "text", "versions", "item", "passages",
            "vector", "terms", "digest", "key", "tags", "sources", "link", "reference",
            "session", "sequence", "speaker", "counter", "orphan", "event",
            "profile", "work", "value".
        owner_id: Whose it is; None: the store's, or nobody's.
        record_id: The memory or message; None: none in particular.
        detail: What is wrong, never content.
        repaired: Whether it has been put right.
    """

    kind: str
    owner_id: str | None
    record_id: str | None
    detail: str
    repaired: bool = False


@dataclass(frozen=True, slots=True)
class CheckedCounts:
    """How much was looked at."""

    owners: int = 0
    memories: int = 0
    messages: int = 0
    passages: int = 0


@dataclass(frozen=True, slots=True)
class StoredText:
    """A version of a memory or a message, with the number of its item in the index.

    Attributes:
        item: The item.
        record_id: The memory or message.
        content: The text.
        speaker: Who said it, of a message; None where that has no name.
        kind: A memory's kind; None: a message.
        key: A memory's key, where it has one.
        place: Session and sequence of a message; None: a memory.
        is_open: Whether it is what is valid now.
        valid_from: When it became valid, in microseconds since 1970.
        follows_sealed: Whether the message before it does not open, so that what the index has of
            that can't be compared.
    """

    item: int
    record_id: str
    content: str
    speaker: str | None
    kind: str | None
    key: str | None
    position: tuple[int, int] | None
    is_open: bool
    valid_from: int
    follows_unreadable: bool = False


class OwnerVerification(Protocol):
    """One owner's records and index, as they stand at one instant."""

    def check_records(self) -> list[Finding]:
        """Return what is wrong with records, by themselves and with each other."""
        ...

    def stored_texts(self) -> list[StoredText]:
        """Return every version of messages, by session, place and version, then of memories.

        What does not open is left out: `records` names it.
        """
        ...

    def compare(
        self, text: StoredText, entries: Sequence[IndexEntry], *, needs_vectors: bool
    ) -> list[Finding]:
        """Return in what the stored index entry of a text differs from one made anew.

        Args:
            text: The text.
            entries: The entries it may have, without vectors: any of them will do.
            embedded: Whether it must have vectors; those that it has must be whole in any case.
        """
        ...

    def count_checked(self) -> CheckedCounts:
        """Return how much there is."""
        ...


@runtime_checkable
class SupportsVerification(Protocol):
    """A store whose insides can be compared, and repaired."""

    def check_file(self) -> list[Finding]:
        """Return what is wrong with the store itself, and rows that belong to nobody."""
        ...

    def repair_file(self) -> None:
        """Repair what can be of what `check_file` finds."""
        ...

    def verify_owner(self, owner_id: str) -> AbstractContextManager[OwnerVerification]:
        """Look at one owner, at one instant."""
        ...

    def repair_owner(
        self,
        owner_id: str,
        entries: Mapping[int, IndexEntry],
        expected_texts: Mapping[int, StoredText],
    ) -> None:
        """Put right what of an owner can be derived: all of it, or nothing.

        Args:
            owner_id: Whose records.
            entries: By item, the index entries that take the place of the stored ones.
            seen: The texts that these entries were made of; one that has changed since is left.
        """
        ...
