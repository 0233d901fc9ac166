"""Doing what waits in the store with a model: each owner's work by one process at a time."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, wait
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from random import Random
from typing import TYPE_CHECKING

from memolith.domain.work import Work
from memolith.errors import MemolithError, OwnerErased, ServiceFailed, WrongEmbeddingModel
from memolith.policies.postponing import Postponing
from memolith.services.crew import Crew
from memolith.services.extracting import Lost
from memolith.services.turns import LEASE_S, Hold, LearningTurn
from memolith.steps import count

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import Future
    from datetime import datetime

    from memolith.domain.work import Backlog
    from memolith.ports.work import Claim
    from memolith.services.access import Access
    from memolith.services.consolidation.running import Consolidating
    from memolith.services.extracting import Extracting

CHECK_EVERY = timedelta(hours=1)
"""How often an owner to whom nothing was written is looked at for what time alone makes due: a
conversation that has fallen silent."""

Stop = Callable[[], bool]

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Worked:
    """What was done for an owner.

    Attributes:
        owner_id: For whom.
        work: What kind of work.
        done: How many exchanges were learned from, or things made shorter.
        failed: How many failed: they are tried again later, or parked.
    """

    owner_id: str
    work: Work
    done: int
    failed: int


class Working:
    """Takes work from the store and does it, for several owners at once."""

    def __init__(
        self,
        access: Access,
        extracting: Extracting,
        consolidating: Consolidating,
        *,
        at_once: int,
        postponing: Postponing | None = None,
        random: Random | None = None,
    ) -> None:
        """Use these; `at_once` bounds the calls of a model."""
        self._random = random or Random()  # noqa: S311 - how long to wait is no secret
        self._access = access
        self._extracting = extracting
        self._consolidating = consolidating
        self._at_once = at_once
        self._postponing = postponing or Postponing()
        self._seen: dict[str, tuple[int, datetime]] = {}

    def run_due(self, stopped: Stop = lambda: False) -> tuple[Worked, ...]:
        """Do all that waits, is due, and nobody else does; say what was done.

        Nothing, where memory is switched off.

        Args:
            stopped: Asked in between: whether to leave the rest. What a model was asked already is
                waited for, and kept.

        Raises:
            StoreUnavailable: The store can't be reached; what is left waits on.
            WrongEmbeddingModel: Its vectors are of another model by now; what is left waits on.
        """
        if not self._access.enabled:
            return ()
        self._access.store.check_embedder()  # before a model is asked for what can't be kept
        failed = threading.Event()
        with (
            Crew(self._at_once, "memolith-ask") as asking,
            Crew(self._at_once, "memolith-work") as crew,
        ):
            try:
                return tuple(self._rounds(asking, crew, lambda: failed.is_set() or stopped()))
            finally:
                failed.set()  # where one fails, the others end soon

    def _rounds(self, asking: Crew, crew: Crew, stopped: Stop) -> Iterator[Worked]:
        """Do what there is to do, then look again if that was anything: it may be shortened now."""
        units: deque[tuple[Work, str]] = deque()
        running: dict[Future[Worked | None], tuple[Work, str]] = {}
        looks = True
        while True:
            if looks and not units and not stopped():
                looks = False
                units.extend(each for each in self._units() if each not in running.values())
            while units and len(running) < self._at_once and not stopped():
                unit = units.popleft()
                running[crew.submit(partial(self._done, *unit, asking, stopped))] = unit
            if not running:
                return
            for each in wait(running, return_when=FIRST_COMPLETED).done:
                del running[each]
                worked = each.result()
                if worked is not None and worked.done + worked.failed:
                    count(f"{worked.work}_done", worked.done)
                    count(f"{worked.work}_failures", worked.failed)
                    looks = looks or worked.done > 0
                    yield worked

    def backlog(self, owner_id: str) -> Backlog:
        """Return how much an owner has waiting."""
        with self._access.store.read(owner_id) as snapshot:
            return snapshot.backlog()

    def retry(self, owner_id: str) -> None:
        """Let all that failed for an owner be tried again at once.

        Raises:
            Disabled: Memory is switched off.
        """
        self._access.check_enabled()
        self._access.store.claims.unpark(owner_id)

    # --- what there is to do --------------------------------------------------------------------

    def _units(self) -> list[tuple[Work, str]]:
        now = self._access.clock.now()
        claims = self._access.store.claims
        learning = [(Work.LEARN, owner_id) for owner_id in claims.owners(Work.LEARN, now=now)]
        consolidating = [
            (Work.CONSOLIDATE, owner_id)
            for owner_id in claims.owners(Work.CONSOLIDATE, now=now)
            if self._may_be_due(owner_id, now)
        ]
        return learning + consolidating

    def _may_be_due(self, owner_id: str, now: datetime) -> bool:
        """Tell whether there may be something to make shorter since this process last looked.

        Not while messages wait to be learned from: what they say is to be known by then.
        """
        profile = self._access.profile_or_none(owner_id)
        if profile is None or not self._consolidating.is_due_by_itself(profile):
            return False
        counter, looked = self._seen.get(owner_id, (-1, now))
        with self._access.store.read(owner_id) as snapshot:
            has_grown = snapshot.counter != counter or now - looked >= CHECK_EVERY
            return has_grown and not snapshot.backlog().waiting

    def _counter(self, owner_id: str) -> int:
        with self._access.store.read(owner_id) as snapshot:
            return snapshot.counter

    # --- doing it -------------------------------------------------------------------------------

    def _done(self, work: Work, owner_id: str, asking: Crew, stopped: Stop) -> Worked | None:
        if stopped():
            return None
        now = self._access.clock.now()
        claim = self._access.store.claims.take(owner_id, work, now=now, lease_s=LEASE_S)
        if claim is None:
            return None
        hold = Hold(self._access, claim)
        try:
            if work is Work.LEARN:
                return self._learned(hold, asking, stopped)
            return self._condensed(hold, asking, stopped)
        except Lost:
            _log.info("an owner's work was taken over by another process")
        except OwnerErased:
            _log.info("an owner was erased meanwhile")
        except WrongEmbeddingModel:
            self._access.store.claims.release(claim)  # who has the new model takes it at once
            raise
        except MemolithError as error:
            self._failed(claim, may_pass=True)
            _log.warning("work failed, and is tried again later: %s", error)
        return None

    def _learned(self, hold: Hold, asking: Crew, stopped: Stop) -> Worked:
        claim = hold.claim
        turn = LearningTurn(
            self._access, self._extracting, self._postponing, hold, asking, self._at_once
        )
        if turn.learn(stopped):
            self._access.store.claims.release(claim)
        else:
            self._failed(claim, may_pass=True, after_s=turn.after_s)
        return Worked(claim.owner_id, claim.work, turn.done, turn.failed)

    def _condensed(self, hold: Hold, asking: Crew, stopped: Stop) -> Worked:
        done, claim = 0, hold.claim
        now, counter = self._access.clock.now(), self._counter(claim.owner_id)
        steps = self._consolidating.consolidate(claim.owner_id, claim, stopped)
        try:
            while hold.wait(asking.submit(lambda: next(steps, None))):
                done += 1
        except ServiceFailed as error:
            self._failed(claim, may_pass=error.retryable)
            _log.warning("a consolidation failed, and is tried again later: %s", error)
            return Worked(claim.owner_id, claim.work, done, 1)
        if not stopped():
            self._seen[claim.owner_id] = counter if done == 0 else -1, now
        self._access.store.claims.release(claim)
        return Worked(claim.owner_id, claim.work, done, 0)

    def _failed(self, claim: Claim, *, may_pass: bool, after_s: float | None = None) -> None:
        """Give a claim back, to be taken again later, or after so many seconds."""
        now = self._access.clock.now()
        retry_at = (
            self._postponing.retry_at(
                now, claim.attempts + 1, may_pass=may_pass, draw=self._random.random()
            )
            if after_s is None
            else now + timedelta(seconds=after_s)
        )
        self._access.store.claims.fail(claim, retry_at=retry_at)
