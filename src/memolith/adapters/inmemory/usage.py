"""What models were asked, counted in each owner's state."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from memolith.adapters.sql.work import hour_of
from memolith.ports.usage import ModelUsage

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager
    from datetime import datetime

    from memolith.adapters.inmemory.state import OwnerState


class InMemoryUsage:
    """See the port."""

    def __init__(
        self,
        states: dict[str, OwnerState],
        lock_owner: Callable[[str], AbstractContextManager[None]],
        check_open: Callable[[], None],
    ) -> None:
        """Take the owners' states, and the way to be the only one to change an owner's."""
        self._states = states
        self._lock_owner = lock_owner
        self._check_open = check_open

    def add(self, owner_id: str, purpose: str, model_usage: ModelUsage, *, at: datetime) -> None:
        """See the port."""
        with self._lock_owner(owner_id):
            state = self._states.get(owner_id)
            if state is not None:
                place = (hour_of(at), purpose)
                usage = {**state.usage, place: state.usage.get(place, ModelUsage()) + model_usage}
                self._states[owner_id] = replace(state, usage=usage)

    def get_usage(self, owner_id: str, start: datetime) -> Mapping[str, ModelUsage]:
        """See the port."""
        self._check_open()
        found: dict[str, ModelUsage] = {}
        state = self._states.get(owner_id)
        for (hour, purpose), spent in sorted(state.usage.items()) if state else ():
            if hour >= hour_of(start):
                found[purpose] = found.get(purpose, ModelUsage()) + spent
        return found
