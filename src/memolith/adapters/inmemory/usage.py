"""What models were asked, counted in each owner's state."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from memolith.adapters.sql.work import hour_of
from memolith.ports.usage import Spent

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
        locked: Callable[[str], AbstractContextManager[None]],
        check_open: Callable[[], None],
    ) -> None:
        """Take the owners' states, and the way to be the only one to change an owner's."""
        self._states = states
        self._locked = locked
        self._check_open = check_open

    def add(self, owner_id: str, purpose: str, spent: Spent, *, at: datetime) -> None:
        """See the port."""
        with self._locked(owner_id):
            state = self._states.get(owner_id)
            if state is not None:
                place = (hour_of(at), purpose)
                usage = {**state.usage, place: state.usage.get(place, Spent()) + spent}
                self._states[owner_id] = replace(state, usage=usage)

    def since(self, owner_id: str, start: datetime) -> Mapping[str, Spent]:
        """See the port."""
        self._check_open()
        found: dict[str, Spent] = {}
        state = self._states.get(owner_id)
        for (hour, purpose), spent in sorted(state.usage.items()) if state else ():
            if hour >= hour_of(start):
                found[purpose] = found.get(purpose, Spent()) + spent
        return found
