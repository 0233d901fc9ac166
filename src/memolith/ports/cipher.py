"""Sealing what is stored, and naming it without saying it.

A `Ciphers` gives a store its `Cipher`, new or known; a cipher gives each owner an `OwnerCipher`
of a key version, which does the work. `KeyChanging` is what only a cipher with keys can do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from memolith.ports.store import IndexEntry


@dataclass(frozen=True, slots=True)
class EncryptionContext:
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


class OwnerCipher(Protocol):
    """Seals what is one owner's, with one version of the owner's key. Thread-safe."""

    def encrypt(self, plaintext: bytes, context: EncryptionContext) -> bytes:
        """Return a sealed form of `plain` that opens only at `place`."""
        ...

    def decrypt(self, ciphertext: bytes, context: EncryptionContext) -> bytes:
        """Return what was sealed at `place`.

        Raises:
            StoreDamaged: It was sealed elsewhere or with another key, or changed since.
        """
        ...

    def digest(self, purpose: str, data: bytes) -> bytes:
        """Return 16 bytes that are the same for the same owner, key, purpose and data only."""
        ...

    def digest_term(self, term: str) -> bytes:
        """Return what the index holds for a keyword: the same for the same owner and term."""
        ...

    def encrypt_vectors(self, vectors: NDArray[np.int8]) -> list[bytes]:
        """Return vectors, shape (n, d), as they are stored; similarities may survive."""
        ...

    def decrypt_vectors(self, stored: Sequence[bytes], dimension: int) -> NDArray[np.int8]:
        """Return stored vectors as they were, bit for bit, shape (n, dimension).

        Raises:
            StoreDamaged: One of them was not made by `hide`.
        """
        ...


class Cipher(Protocol):
    """What one store is sealed with. Thread-safe.

    Attributes:
        name: As the store keeps it.
        store_id: Names the store where its keys are kept; empty for a cipher without keys.
        check: By which the store knows its key again; empty for a cipher without keys.
    """

    @property
    def name(self) -> str:
        """The cipher's name."""
        ...

    @property
    def store_id(self) -> bytes:
        """The store's id."""
        ...

    @property
    def key_check(self) -> bytes:
        """The store's check value."""
        ...

    def ensure_key_version(self, owner_id: str) -> int:
        """Return the newest version of an owner's key; a key is made if there is none.

        It is durable when this returns; who asks at the same time gets the same.
        """
        ...

    def get_owner_cipher(self, owner_id: str, version: int) -> OwnerCipher:
        """Return an owner's cipher; version 0, of an owner who has nothing, finds nothing.

        Raises:
            KeyUnavailable: There is no such key: the owner was erased.
        """
        ...

    def tombstone(self, owner_id: str) -> bytes:
        """Return 16 bytes by which an erased owner is known again."""
        ...


class CipherProvider(Protocol):
    """Gives stores their ciphers."""

    def create(self) -> Cipher:
        """Return a cipher for a new store; its keys are durable when this returns.

        Raises:
            KeyUnavailable: There is a key ring already, and it does not open.
        """
        ...

    def load(self, name: str, store_id: bytes, check: bytes) -> Cipher:
        """Return the cipher that a store was made with; nothing is made or changed.

        Raises:
            KeyUnavailable: Its key is missing, or another.
        """
        ...


@runtime_checkable
class SupportsKeyRotation(Protocol):
    """What a cipher with keys of owners can do besides."""

    def key_versions(self, owner_id: str) -> list[int]:
        """Return the versions of an owner's keys that there are, ascending."""
        ...

    def add_key_version(self, owner_id: str) -> int:
        """Make a further key of an owner, durably, and return its version."""
        ...

    def delete_keys_before(self, owner_id: str, version: int) -> None:
        """Remove an owner's keys of lower versions for good."""
        ...

    def erase(self, owner_id: str) -> None:
        """Remove all keys of an owner for good: nothing sealed with them opens again."""
        ...

    def is_erased(self, owner_id: str, version: int) -> bool:
        """Return whether a key was removed by `erase`; False where it is only missing."""
        ...

    def delete_store_keys(self) -> None:
        """Remove all keys of the store for good."""
        ...


@runtime_checkable
class SupportsClose(Protocol):
    """What a cipher can do whose keys are somewhere that it holds connections to."""

    def close(self) -> None:
        """Let go of them; the next use connects again."""
        ...


@runtime_checkable
class SupportsKeyCopy(Protocol):
    """What a cipher with keys of owners can do, whose store is a copy of another."""

    def copy_keys(self, owner_id: str, source: Cipher) -> None:
        """Keep an owner's keys that the other store's cipher has, durably; those kept stay.

        Raises:
            KeyUnavailable: One of them is not to be had.
        """
        ...


@runtime_checkable
class SupportsClone(Protocol):
    """What `Ciphers` can do whose stores can be copied to another place."""

    def clone(self, source: Cipher) -> Cipher:
        """Return a cipher that opens a copy of what the other seals, for a store of its own.

        Its keys are kept under an id of its own: those of either store can go without the
        other's. It has the store's key, durably, and those of owners once it takes them.

        Raises:
            KeyUnavailable: The other is not of a kind of which there can be two.
        """
        ...


@runtime_checkable
class SupportsRekey(Protocol):
    """What a store can do whose owners' keys can be changed."""

    @property
    def cipher(self) -> Cipher:
        """What the store is sealed with."""
        ...

    def key_version(self, owner_id: str) -> int:
        """Return the version of the key that an owner's data is sealed with; 0 without any."""
        ...

    def rekey(
        self, owner_id: str, key_version: int, build_entry: Callable[[str, str | None], IndexEntry]
    ) -> None:
        """Seal and digest everything of an owner with another key: all of it, or nothing.

        Args:
            version: The key's; the cipher has it.
            entry: Gives the index entry of a content and its speaker's name, as it was made
                when it was stored: digests of keywords can only be made anew from words.

        Raises:
            Conflict: A keyword of the index comes from none of the owner's texts.
        """
        ...
