"""Changing an owner's key."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memolith.errors import Conflict, NotFound
from memolith.ports.cipher import SupportsKeyRotation, SupportsRekey
from memolith.services.indexing import IndexText

if TYPE_CHECKING:
    from memolith.ports.store import IndexEntry, Store
    from memolith.services.indexing import Indexer


class KeyRotation:
    """Seals everything of an owner anew.

    The new key is durable before anything is sealed with it; the owner's rows change in one
    transaction; only then is the old key removed. Killed anywhere, what the rows say they are
    sealed with is there, and doing it again finishes.
    """

    def __init__(self, store: Store, indexer: Indexer) -> None:
        """Use this indexer to find the keywords of what is stored."""
        self._store = store
        self._indexer = indexer

    def rotate(self, owner_id: str) -> int:
        """Return the version of the key that is in force afterwards.

        Raises:
            Conflict: The store is not encrypted.
            NotFound: The owner has nothing stored.
        """
        store = self._store
        if not isinstance(store, SupportsRekey) or not isinstance(
            store.cipher, SupportsKeyRotation
        ):
            raise Conflict("the store is not encrypted: there is no key to rotate")
        keys, current = store.cipher, store.key_version(owner_id)
        if not current:
            raise NotFound("owner", owner_id)
        versions = keys.key_versions(owner_id)
        if min(versions, default=current) < current:  # interrupted between sealing and removing
            keys.delete_keys_before(owner_id, current)
            return current
        later = [version for version in versions if version > current]
        version = later[-1] if later else keys.add_key_version(owner_id)
        store.rekey(owner_id, version, self._build_entry)
        keys.delete_keys_before(owner_id, version)
        return version

    def _build_entry(self, content: str, speaker: str | None) -> IndexEntry:
        return self._indexer.build_keyword_entry(IndexText(content, speaker))
