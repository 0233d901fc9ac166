"""Ciphers: encryption of stored data, and digests that make it searchable.

A `CipherProvider` gives a store its `Cipher`, new or existing. The cipher gives each owner an
`OwnerCipher` for a key version, which does the work. `SupportsKeyRotation` adds the operations that
need per-owner keys.
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
    """The location of an encrypted value, authenticated with it: decryption elsewhere fails.

    Attributes:
        owner_id: The owner.
        record: The record's id.
        field: The field of the record.
        version: The version of the record.
    """

    owner_id: str
    record: str
    field: str
    version: int = 1


class OwnerCipher(Protocol):
    """Encrypts one owner's data with one version of the owner's key. Thread-safe."""

    def encrypt(self, plaintext: bytes, context: EncryptionContext) -> bytes:
        """Return the ciphertext of `plaintext`, which decrypts only in the same `context`."""
        ...

    def decrypt(self, ciphertext: bytes, context: EncryptionContext) -> bytes:
        """Return the plaintext that was encrypted in `context`.

        Raises:
            StoreDamaged: The ciphertext was changed, or belongs to another context or key.
        """
        ...

    def digest(self, purpose: str, data: bytes) -> bytes:
        """Return 16 bytes that are equal only for the same owner, key, purpose and data."""
        ...

    def digest_term(self, term: str) -> bytes:
        """Return the index value of a keyword: equal only for the same owner and term."""
        ...

    def encrypt_vectors(self, vectors: NDArray[np.int8]) -> list[bytes]:
        """Return vectors of shape (n, d) in stored form; similarities may be preserved."""
        ...

    def decrypt_vectors(self, stored: Sequence[bytes], dimension: int) -> NDArray[np.int8]:
        """Return the original vectors, bit for bit, shape (n, dimension).

        Raises:
            StoreDamaged: A value was not created by `encrypt_vectors`.
        """
        ...


class Cipher(Protocol):
    """The encryption of one store. Thread-safe.

    Attributes:
        name: The name, as recorded in the store.
        store_id: Identifies the store in the key storage; empty for a cipher without keys.
        key_check: Lets the store recognise its key; empty for a cipher without keys.
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
        """The store's key check value."""
        ...

    def ensure_key_version(self, owner_id: str) -> int:
        """Return the newest version of an owner's key; create a key if there is none.

        The key is durable when this returns. Concurrent calls return the same version.
        """
        ...

    def get_owner_cipher(self, owner_id: str, version: int) -> OwnerCipher:
        """Return an owner's cipher for a key version.

        Version 0 is for an owner without data; its digests match nothing.

        Raises:
            KeyUnavailable: There is no such key because the owner was erased.
        """
        ...

    def tombstone(self, owner_id: str) -> bytes:
        """Return 16 bytes that identify an erased owner."""
        ...


class CipherProvider(Protocol):
    """Provides stores with their ciphers."""

    def create(self) -> Cipher:
        """Return a cipher for a new store; its keys are durable when this returns.

        Raises:
            KeyUnavailable: A key ring exists already and can't be decrypted.
        """
        ...

    def load(self, name: str, store_id: bytes, check: bytes) -> Cipher:
        """Return the cipher that a store was created with, without creating or changing keys.

        Raises:
            KeyUnavailable: The key is missing, or it is a different one.
        """
        ...


@runtime_checkable
class SupportsKeyRotation(Protocol):
    """A cipher with a key for each owner, which can be rotated and deleted."""

    def key_versions(self, owner_id: str) -> list[int]:
        """Return the existing versions of an owner's key, ascending."""
        ...

    def add_key_version(self, owner_id: str) -> int:
        """Create a new key for an owner, durably, and return its version."""
        ...

    def delete_keys_before(self, owner_id: str, version: int) -> None:
        """Permanently delete an owner's keys below a version."""
        ...

    def erase(self, owner_id: str) -> None:
        """Permanently delete all keys of an owner: their data can never be decrypted again."""
        ...

    def is_erased(self, owner_id: str, version: int) -> bool:
        """Return whether a key was deleted by `erase`; False if it is merely missing."""
        ...

    def delete_store_keys(self) -> None:
        """Permanently delete all keys of the store."""
        ...


@runtime_checkable
class SupportsClose(Protocol):
    """A cipher that holds connections to a key storage."""

    def close(self) -> None:
        """Close the connections; the next use opens them again."""
        ...


@runtime_checkable
class SupportsKeyCopy(Protocol):
    """A cipher with owner keys whose store is a copy of another store."""

    def copy_keys(self, owner_id: str, source: Cipher) -> None:
        """Copy an owner's missing keys from the source store's cipher, durably.

        Raises:
            KeyUnavailable: One of the keys can't be read.
        """
        ...


@runtime_checkable
class SupportsClone(Protocol):
    """A cipher provider whose stores can be copied to another location."""

    def clone(self, source: Cipher) -> Cipher:
        """Return a cipher for a copy of the source's store.

        The copy's keys are kept under an id of its own, so the keys of either store can be deleted
        independently. The clone has the store key, durably; owner keys are added by `copy_keys`.

        Raises:
            KeyUnavailable: The source cipher can't be cloned.
        """
        ...


@runtime_checkable
class SupportsRekey(Protocol):
    """A store whose owners' keys can be changed."""

    @property
    def cipher(self) -> Cipher:
        """The cipher that encrypts the store."""
        ...

    def key_version(self, owner_id: str) -> int:
        """Return the version of the key that encrypts an owner's data; 0 if there is none."""
        ...

    def rekey(
        self, owner_id: str, key_version: int, build_entry: Callable[[str, str | None], IndexEntry]
    ) -> None:
        """Re-encrypt and re-digest all data of an owner with another key, atomically.

        Args:
            key_version: The key's version; the cipher must have it.
            build_entry: Returns the index entry of a content and its speaker's name, as it was
                built when stored. Digests of keywords can be recomputed only from the words.

        Raises:
            Conflict: A keyword in the index occurs in none of the owner's texts.
        """
        ...
