"""The store, the clock, ids, and owners' profiles, as shared by all services."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from memolith.domain.memories import Memory, State
from memolith.errors import Disabled, InvalidConfiguration, MemolithError, StoreReadOnly
from memolith.policies.arguments import ENTROPY_BYTES, uuid7
from memolith.ports.clock import Clock
from memolith.ports.store import Snapshot, Store
from memolith.profiles.model import Profile

_UNUSED_BITS = 7
"""Leading random bits left zero, so that incrementing an id can't overflow."""


class IdGenerator:
    """Generates UUIDv7 ids that increase even within a millisecond. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last = (0, 0)

    def new_id(self, now: datetime) -> str:
        """Return a new id, greater than all earlier ones of the same millisecond."""
        millisecond = int(now.timestamp() * 1000)
        with self._lock:
            last, entropy = self._last
            if millisecond == last:
                entropy += 1
            else:
                entropy = int.from_bytes(os.urandom(ENTROPY_BYTES), "big") >> _UNUSED_BITS
            self._last = (millisecond, entropy)
        return uuid7(now, entropy.to_bytes(ENTROPY_BYTES, "big"))


@dataclass(frozen=True, slots=True)
class Access:
    """Shared access to stored memories.

    Attributes:
        store: The open store.
        clock: The current time.
        profiles: All profiles by name.
        default_profile: The name of the profile of new owners.
        enabled: Whether writes are accepted.
        id_generator: Generates ids of new records.
    """

    store: Store
    clock: Clock
    profiles: Mapping[str, Profile]
    default_profile: str
    enabled: bool = True
    id_generator: IdGenerator = field(default_factory=IdGenerator)

    def get_profile(self, owner_id: str) -> Profile:
        """Return the owner's profile; raises as `get_snapshot_profile` does."""
        with self.store.read(owner_id) as snapshot:
            return self.get_snapshot_profile(snapshot)

    def get_snapshot_profile(self, snapshot: Snapshot) -> Profile:
        """Return the profile of a snapshot's owner.

        Raises:
            InvalidConfiguration: The configuration or package that defines it is missing.
        """
        name = snapshot.profile or self.default_profile
        profile = self.profiles.get(name)
        if profile is None:
            raise InvalidConfiguration(
                "profile",
                f"owner {snapshot.owner_id!r} has the profile {name!r}, which no configuration or"
                " package defines: add it again, or switch the owner to another profile",
            )
        return profile

    def find_profile(self, owner_id: str) -> Profile | None:
        """Return the owner's profile; None: its definition is missing."""
        return self.profiles.get(self.get_profile_name(owner_id))

    def get_profile_name(self, owner_id: str) -> str:
        """Return the name of the owner's profile, even if its definition is missing."""
        with self.store.read(owner_id) as snapshot:
            return snapshot.profile or self.default_profile

    def new_id(self, now: datetime) -> str:
        """Return a new id that sorts after all ids generated before."""
        return self.id_generator.new_id(now)

    def check_enabled(self) -> None:
        """Raise `Disabled` if memory is switched off."""
        if not self.enabled:
            raise Disabled


# --- Iterating over memories


_PAGE_SIZE = 1_000


def iter_memories(
    snapshot: Snapshot, states: frozenset[State], kinds: frozenset[str] | None = None
) -> Iterator[Memory]:
    """Yield the memories in these states, newest first; `kinds` None: of all kinds."""
    cursor: str | None = None
    while True:
        page = snapshot.page(states=states, kinds=kinds, tags=(), limit=_PAGE_SIZE, cursor=cursor)
        yield from page.memories
        cursor = page.cursor
        if cursor is None:
            return


# --- Access counts


_log = logging.getLogger(__name__)

FLUSH_INTERVAL_S = 1.0
"""Seconds between writes of access counts: short enough to be seen soon, long enough to batch."""


class AccessCounter:
    """Counts recalled memories and writes the counts from a background thread. Thread-safe.

    A lost count is harmless, a delayed read is not: a failed write is logged and dropped.
    """

    def __init__(self, store: Store, clock: Clock) -> None:
        """Write to the store, timed by the clock."""
        self._store = store
        self._clock = clock
        self._lock = threading.Lock()
        self._pending: dict[str, dict[str, tuple[int, datetime]]] = {}
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None

    def add(self, owner_id: str, ids: Iterable[str]) -> None:
        """Count one access, now, of each memory."""
        now = self._clock.now()
        with self._lock:
            pending = self._pending.setdefault(owner_id, {})
            for id_ in ids:
                pending[id_] = (pending.get(id_, (0, now))[0] + 1, now)
            if not pending:
                del self._pending[owner_id]
            elif self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="memolith-touch", daemon=True
                )
                self._thread.start()

    def flush(self) -> None:
        """Write the pending counts."""
        with self._lock:
            pending, self._pending = self._pending, {}
        for owner_id, accessed in pending.items():
            try:
                self._store.record_access(owner_id, accessed)
            except StoreReadOnly:
                continue  # a read-only store counts no accesses
            except MemolithError as error:
                _log.warning("could not record %d recalls: %s", len(accessed), type(error).__name__)

    def close(self) -> None:
        """Write the pending counts and end the thread."""
        self._closing.set()
        if self._thread is not None:
            self._thread.join()
        self.flush()

    def _run(self) -> None:
        while not self._closing.wait(FLUSH_INTERVAL_S):
            self.flush()
