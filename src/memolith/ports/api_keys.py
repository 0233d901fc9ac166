"""Keys by which callers of the service are known. The store has their digests, never the keys."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from datetime import datetime


class KeyRole(StrEnum):
    """What the holder of a key may do."""

    OWNER = "owner"
    """Everything of one owner."""
    SERVICE = "service"
    """Everything of any owner, named in each call."""
    ADMIN = "admin"
    """That, and what concerns the store: decay, erasing."""


@dataclass(frozen=True, slots=True)
class ApiKey:
    """What is known of a key.

    Attributes:
        name: What it is called by people.
        role: What its holder may do.
        owner: Whose it is, if it is an owner's; else None.
        created_at: When it was made.
        revoked_at: When it was revoked; None: it is in force.
    """

    name: str
    role: KeyRole
    owner: str | None
    created_at: datetime
    revoked_at: datetime | None = None


class ApiKeys(Protocol):
    """The keys of a store. Thread-safe, and the same to all processes that have it open."""

    def add(self, key: ApiKey, digest: bytes) -> None:
        """Keep a new key, by the digest of what its holder shows.

        Raises:
            Conflict: A key in force has that name, or a key has that digest.
        """
        ...

    def find(self, digest: bytes) -> ApiKey | None:
        """Return the key of a digest, also a revoked one; None: there is none."""
        ...

    def all(self) -> list[ApiKey]:
        """Return all keys, revoked ones too, oldest first, by name where that is the same."""
        ...

    def revoke(self, name: str, at: datetime) -> bool:
        """Revoke the key in force of that name, at once; return whether there was one."""
        ...
