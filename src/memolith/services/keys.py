"""Rotates owners' encryption keys, and manages the API keys of the service."""

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
    """Re-encrypts all data of an owner with a new key.

    The new key is durable before it is used. The owner's rows change in one transaction, and only
    then the old key is removed. After a crash at any point, all required keys exist, and running
    the rotation again completes it.
    """

    def __init__(self, store: Store, indexer: Indexer) -> None:
        """Configure the rotation; the indexer extracts the keywords of stored texts again."""
        self._store = store
        self._indexer = indexer

    def rotate(self, owner_id: str) -> int:
        """Rotate the owner's key and return the version of the new one.

        Raises:
            Conflict: The store is not encrypted.
            NotFound: The owner has no stored data.
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
        if min(versions, default=current) < current:  # interrupted before the old key was removed
            keys.delete_keys_before(owner_id, current)
            return current
        later = [version for version in versions if version > current]
        version = later[-1] if later else keys.add_key_version(owner_id)
        store.rekey(owner_id, version, self._build_entry)
        keys.delete_keys_before(owner_id, version)
        return version

    def _build_entry(self, content: str, speaker: str | None) -> IndexEntry:
        return self._indexer.build_keyword_entry(IndexText(content, speaker))


# --- API keys


KEY_PREFIX = "memolith_"
"""The prefix of API keys, recognisable for people and secret scanners."""

_RANDOM_BYTES = 32
_HASH_PERSON = b"memolith api key"


@dataclass(frozen=True, slots=True)
class NewApiKey:
    """A new API key.

    Attributes:
        key: The key's metadata.
        secret: The key itself. It is not stored and can't be shown again.
    """

    key: ApiKey
    secret: str


class ApiKeyService:
    """Creates, finds and revokes API keys."""

    def __init__(self, access: Access) -> None:
        self._access = access

    def create(self, name: str, role: str, owner: str | None) -> NewApiKey:
        """Create a key; see `Memolith.create_api_key`."""
        name = arguments.check_name(name, "name")
        roles = [each.value for each in KeyRole]
        if role not in roles:
            raise InvalidInput("role", f"must be one of {', '.join(roles)}")
        is_owner_key = role == KeyRole.OWNER
        if is_owner_key and owner is None:
            raise InvalidInput("owner", "is required for a key of role owner")
        if owner is not None and not is_owner_key:
            raise InvalidInput("owner", f"must not be given for a key of role {role}")
        owner_id = None if owner is None else validate_name(owner, "owner")
        if owner_id is not None and self._access.store.is_erased(owner_id):
            raise Conflict(f"the owner {owner_id!r} was erased")
        key = ApiKey(name, KeyRole(role), owner_id, self._access.clock.now())
        secret = KEY_PREFIX + secrets.token_urlsafe(_RANDOM_BYTES)
        self._access.store.api_keys.add(key, _hash_secret(secret))
        return NewApiKey(key, secret)

    def find_active(self, secret: str) -> ApiKey | None:
        """Return the active key with this secret; None: there is none."""
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
    """Return the stored hash of a secret. Secrets are random, so that no slow hash is needed."""
    return blake2b(secret.encode(), digest_size=32, person=_HASH_PERSON).digest()
