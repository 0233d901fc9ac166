"""Sealing what is stored, and naming it without saying it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Place:
    """Where a sealed value stands; it opens nowhere else.

    Attributes:
        owner_id: Whose it is.
        record: The record's id.
        field: Which field of it.
        version: Which version of it.
    """

    owner_id: str
    record: str
    field: str
    version: int = 1


class Cipher(Protocol):
    """Seals contents, and hashes what must be found by equality. Thread-safe.

    Attributes:
        name: As the store keeps it: a store is opened only with the cipher it was made with.
    """

    @property
    def name(self) -> str:
        """The cipher's name."""
        ...

    def seal(self, plain: bytes, place: Place) -> bytes:
        """Return a sealed form of `plain` that opens only at `place`."""
        ...

    def open(self, sealed: bytes, place: Place) -> bytes:
        """Return what was sealed at `place`.

        Raises:
            StoreDamaged: It was sealed elsewhere, or changed since.
        """
        ...

    def digest(self, owner_id: str, purpose: str, data: bytes) -> bytes:
        """Return 16 bytes that are the same for the same owner, purpose and data only."""
        ...

    def term(self, owner_id: str, term: str) -> bytes:
        """Return what the index holds for a keyword: the same for the same owner and term."""
        ...
