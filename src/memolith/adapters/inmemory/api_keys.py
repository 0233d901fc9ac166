"""The keys of the service's callers, of a store that only one process has."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import UTC
from typing import TYPE_CHECKING

from memolith.errors import Conflict

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from memolith.ports.api_keys import ApiKey


class InMemoryApiKeys:
    """See the port."""

    def __init__(self, check_open: Callable[[], None]) -> None:
        """Begin without any."""
        self._lock = threading.Lock()
        self._keys: dict[bytes, ApiKey] = {}
        self._check_open = check_open

    def add(self, key: ApiKey, digest: bytes) -> None:
        """See the port."""
        self._check_open()
        with self._lock:
            if key.revoked_at is None and self._in_force(key.name):
                raise Conflict(f"there is a key {key.name!r} already")
            if digest in self._keys:
                raise Conflict("there is such a key already")
            self._keys[digest] = replace(key, created_at=key.created_at.astimezone(UTC))

    def find(self, digest: bytes) -> ApiKey | None:
        """See the port."""
        self._check_open()
        return self._keys.get(digest)

    def all(self) -> list[ApiKey]:
        """See the port."""
        self._check_open()
        return sorted(self._keys.values(), key=lambda key: (key.created_at, key.name))

    def revoke(self, name: str, at: datetime) -> bool:
        """See the port."""
        self._check_open()
        with self._lock:
            found = self._in_force(name)
            for digest in found:
                self._keys[digest] = replace(self._keys[digest], revoked_at=at.astimezone(UTC))
        return bool(found)

    def forget(self, owner: str) -> None:
        """Remove the keys of an owner who is erased."""
        with self._lock:
            self._keys = {d: key for d, key in self._keys.items() if key.owner != owner}

    def _in_force(self, name: str) -> list[bytes]:
        return [d for d, k in self._keys.items() if k.name == name and k.revoked_at is None]
