"""What every use case shares: the store, the time, new ids, and the owners' profiles."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mnemon.errors import Disabled
from mnemon.policies.ids import ENTROPY_BYTES, uuid7

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from mnemon.ports.clock import Clock
    from mnemon.ports.store import Store
    from mnemon.profiles.model import Profile


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

    def profile(self, owner_id: str) -> Profile:
        """Return the owner's profile."""
        return self.profiles[self.store.profile(owner_id, self.default_profile)]

    def new_id(self, now: datetime) -> str:
        """Return a new id that sorts after all made in earlier milliseconds."""
        return uuid7(now, secrets.token_bytes(ENTROPY_BYTES))

    def check_enabled(self) -> None:
        """Raise `Disabled` where writes are not taken."""
        if not self.enabled:
            raise Disabled
