"""Changing an owner's key."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from hashlib import blake2b

from memolith.errors import Conflict, InvalidInput, NotFound
from memolith.policies import arguments
from memolith.ports.cipher import SupportsKeyRotation, SupportsRekey
from memolith.ports.service import ApiKey, KeyRole
from memolith.ports.store import IndexEntry, Store
from memolith.services.access import Access
from memolith.services.indexing import Indexer, IndexText
from memolith.services.validation import validate_name


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


# --- Making, knowing and revoking the keys of the service's callers


KEY_PREFIX = "memolith_"
"""By which a key is known for one, by people and by scanners for leaked secrets."""

_RANDOM_BYTES = 32
_HASH_PERSON = b"memolith api key"


@dataclass(frozen=True, slots=True)
class NewApiKey:
    """A key that was just made.

    Attributes:
        key: What is known of it.
        secret: What its holder shows. It is kept nowhere, and can't be shown again.
    """

    key: ApiKey
    secret: str


class ApiKeyService:
    """Keeps the keys by which callers of the service are known."""

    def __init__(self, access: Access) -> None:
        """Use the store's keys and the clock."""
        self._access = access

    def create(self, name: str, role: str, owner: str | None) -> NewApiKey:
        """Make a key; see `Memolith.create_api_key`."""
        name = arguments.check_name(name, "name")
        known = [each.value for each in KeyRole]
        if role not in known:
            raise InvalidInput("role", f"must be one of {', '.join(known)}")
        of_one = role == KeyRole.OWNER
        if of_one and owner is None:
            raise InvalidInput("owner", "must be named for an owner's key")
        if owner is not None and not of_one:
            raise InvalidInput("owner", f"a key of role {role} is not of one owner")
        whose = None if owner is None else validate_name(owner, "owner")
        if whose is not None and self._access.store.is_erased(whose):
            raise Conflict(f"the owner {whose!r} was erased")
        key = ApiKey(name, KeyRole(role), whose, self._access.clock.now())
        secret = KEY_PREFIX + secrets.token_urlsafe(_RANDOM_BYTES)
        self._access.store.api_keys.add(key, _hash_secret(secret))
        return NewApiKey(key, secret)

    def find_active(self, secret: str) -> ApiKey | None:
        """Return the key in force that a caller shows; None: it is none."""
        if not secret.startswith(KEY_PREFIX):
            return None
        key = self._access.store.api_keys.find(_hash_secret(secret))
        return None if key is None or key.revoked_at is not None else key

    def list_keys(self) -> tuple[ApiKey, ...]:
        """Return all keys; see `Memolith.api_keys`."""
        return tuple(self._access.store.api_keys.all())

    def revoke(self, name: str) -> None:
        """Revoke a key; see `Memolith.revoke_api_key`."""
        if not self._access.store.api_keys.revoke(name, self._access.clock.now()):
            raise NotFound("API key in force", name)


def _hash_secret(secret: str) -> bytes:
    """Return what the store knows a key by. A key is random, so that a plain hash will do."""
    return blake2b(secret.encode(), digest_size=32, person=_HASH_PERSON).digest()
