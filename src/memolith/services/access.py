"""What every use case shares: the store, the time, new ids, and the owners' profiles."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from memolith.errors import Disabled, InvalidConfiguration
from memolith.policies.ids import ENTROPY_BYTES, uuid7

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from memolith.ports.clock import Clock
    from memolith.ports.store import Snapshot, Store
    from memolith.profiles.model import Profile


_UNUSED_BITS = 7
"""Of the random ones, so many that adding one never runs over."""


class IdGenerator:
    """Makes ids that sort by when they were made, within a millisecond too. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last = (0, 0)

    def new_id(self, now: datetime) -> str:
        """Return a new id."""
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
    """The way to the memories.

    Attributes:
        store: Where they are.
        clock: The time.
        profiles: All profiles by name.
        default_profile: The name of the profile of new owners.
        enabled: Whether writes are taken.
    """

    store: Store
    clock: Clock
    profiles: Mapping[str, Profile]
    default_profile: str
    enabled: bool = True
    id_generator: IdGenerator = field(default_factory=IdGenerator)

    def get_profile(self, owner_id: str) -> Profile:
        """Return the owner's profile; errors as in `profile_of`."""
        with self.store.read(owner_id) as snapshot:
            return self.get_snapshot_profile(snapshot)

    def get_snapshot_profile(self, snapshot: Snapshot) -> Profile:
        """Return the profile of a snapshot's owner.

        Raises:
            InvalidConfiguration: It was added by a configuration or a package that is not there.
        """
        name = snapshot.profile or self.default_profile
        found = self.profiles.get(name)
        if found is None:
            raise InvalidConfiguration(
                "profile",
                f"{snapshot.owner_id!r} has {name!r}, which no configuration and no package here"
                " adds: bring it back, or switch the owner to another profile",
            )
        return found

    def find_profile(self, owner_id: str) -> Profile | None:
        """Return the owner's profile; None where it is not there."""
        return self.profiles.get(self.get_profile_name(owner_id))

    def get_profile_name(self, owner_id: str) -> str:
        """Return the name of the owner's profile, whether it is there or not."""
        with self.store.read(owner_id) as snapshot:
            return snapshot.profile or self.default_profile

    def new_id(self, now: datetime) -> str:
        """Return a new id that sorts after all made before, by this process or earlier."""
        return self.id_generator.new_id(now)

    def check_enabled(self) -> None:
        """Raise `Disabled` where writes are not taken."""
        if not self.enabled:
            raise Disabled
