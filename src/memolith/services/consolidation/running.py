"""All that a profile makes shorter, in its order, and the way back."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from memolith.domain.memories import Action, Event, State
from memolith.errors import NotFound
from memolith.policies import ids
from memolith.services.consolidation.staging import (
    CONSOLIDATION_ACTOR,
    ConsolidationResult,
    SourcesChanged,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memolith.domain.memories import Memory
    from memolith.ports.work import WorkLease
    from memolith.profiles.model import Profile
    from memolith.services.access import Access
    from memolith.services.consolidation.base_memory import BaseMemoryRewriter
    from memolith.services.consolidation.messages import MessageSummariser
    from memolith.services.consolidation.sessions import SessionSummariser

_MAX_STEP_ROUNDS = 3
"""How often a step that others were first with is begun anew; then it waits for the next time."""

ShouldStop = Callable[[], bool]

ConsolidationStep = Callable[[str, "Profile", "WorkLease | None"], "Iterator[ConsolidationResult]"]

_log = logging.getLogger(__name__)


class Consolidator:
    """Makes an owner's memory shorter, by the rules of the owner's profile."""

    def __init__(
        self,
        access: Access,
        messages: MessageSummariser,
        sessions: SessionSummariser,
        base_memory: BaseMemoryRewriter,
        *,
        has_model: bool,
    ) -> None:
        """Use these."""
        self._access = access
        self._messages = messages
        self._sessions = sessions
        self._base_memory = base_memory
        self._has_model = has_model

    def runs_automatically(self, profile: Profile) -> bool:
        """Tell whether it is done without being asked for."""
        return self._has_model or profile.consolidation.runs_without_model

    def consolidate(
        self, owner_id: str, claim: WorkLease | None = None, should_stop: ShouldStop = lambda: False
    ) -> Iterator[ConsolidationResult]:
        """Make shorter what is due, and yield each thing once it is written.

        Args:
            owner_id: Whose.
            claim: The right to do it for that owner; None: nobody else does.
            stopped: Asked between steps: whether to leave the rest for later.

        Raises:
            Disabled: Memory is switched off.
            ServiceFailed: The model failed; what was made before stays.
        """
        self._access.check_enabled()
        profile = self._access.get_profile(owner_id)
        for step in (
            self._messages.summarise_oldest,
            self._messages.summarise_ended_sessions,
            self._sessions.compress_oldest,
            self._base_memory.rewrite,
        ):
            if not should_stop():
                yield from self._run_step(step, owner_id, profile, claim, should_stop)

    def undo(self, owner_id: str, id: str) -> Memory:
        """Take back a summary: what it stands for is recalled again; return it, no longer active.

        Its sources are not summarised again. `restore` brings it back.

        Raises:
            Disabled: Memory is switched off.
            InvalidInput: That is no id.
            NotFound: There is no active summary with it.
        """
        self._access.check_enabled()
        id_ = ids.parse_id(id)
        now = self._access.clock.now()
        with self._access.store.write(owner_id) as tx:
            history = tx.history(id_)
            events = history.events if history else ()
            if not any(event.action is Action.CONDENSED for event in events):
                raise NotFound("summary", id_)
            (memory,) = tx.memories([id_])
            if memory.state is not State.ACTIVE:
                raise NotFound("active summary", id_)
            undone = replace(memory, state=State.SUPERSEDED, updated_at=now)
            tx.amend(undone)
            tx.record([Event(id_, Action.UNDONE, now, CONSOLIDATION_ACTOR, memory.version)])
        return undone

    def _run_step(
        self,
        step: ConsolidationStep,
        owner_id: str,
        profile: Profile,
        claim: WorkLease | None,
        should_stop: ShouldStop,
    ) -> Iterator[ConsolidationResult]:
        """Do a step as long as it has something to do, anew where others were first."""
        for _ in range(_MAX_STEP_ROUNDS):
            try:
                for made in step(owner_id, profile, claim):
                    yield made
                    if should_stop():
                        return
            except SourcesChanged:
                continue
            return
        _log.info("a consolidation is left for later: others write at the same time")
