"""Doing what waits in the store with a model: each owner's work by one process at a time."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from random import Random
from typing import TYPE_CHECKING

from mnemon.domain.work import Work
from mnemon.errors import LimitReached, MnemonError, OwnerErased, ServiceFailed
from mnemon.policies.postponing import Postponing
from mnemon.services.extracting import Lost

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future
    from datetime import datetime

    from mnemon.domain.work import Backlog
    from mnemon.ports.work import Claim
    from mnemon.services.access import Access
    from mnemon.services.consolidation.running import Consolidating
    from mnemon.services.extracting import Exchange, Extracted, Extracting

LEASE_S = 300.0
"""For how long a process that is not heard of again keeps an owner's work: longer than a model
may take for what is asked of it at once. A guess."""

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

        Args:
            stopped: Asked in between: whether to leave the rest. What a model was asked already is
                waited for, and kept.

        Raises:
            StoreUnavailable: The store can't be reached; what is left waits on.
        """
        found: list[Worked] = []
        while not stopped():
            done = self._pass(stopped)
            found += done
            if not any(each.done for each in done):  # what was learned may now be made shorter
                break
        return tuple(found)

    def _pass(self, stopped: Stop) -> list[Worked]:
        units = self._units()
        if not units:
            return []
        with (
            ThreadPoolExecutor(self._at_once, "mnemon-ask") as asking,
            ThreadPoolExecutor(self._at_once, "mnemon-work") as working,
        ):
            started = [
                working.submit(self._done, work, owner_id, asking, stopped)
                for work, owner_id in units
            ]
            found = [each.result() for each in started]
        return [each for each in found if each is not None and each.done + each.failed]

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

    def _done(self, work: Work, owner_id: str, asking: Executor, stopped: Stop) -> Worked | None:
        if stopped():
            return None
        now = self._access.clock.now()
        claim = self._access.store.claims.take(owner_id, work, now=now, lease_s=LEASE_S)
        if claim is None:
            return None
        try:
            if work is Work.LEARN:
                return self._learned(claim, asking, stopped)
            return self._condensed(claim, stopped)
        except Lost:
            _log.info("an owner's work was taken over by another process")
        except OwnerErased:
            _log.info("an owner was erased meanwhile")
        except MnemonError as error:
            self._failed(claim, may_pass=True)
            _log.warning("work failed, and is tried again later: %s", error)
        return None

    def _learned(self, claim: Claim, asking: Executor, stopped: Stop) -> Worked:
        done = failed = 0
        while not stopped():
            waiting = self._extracting.waiting(claim.owner_id, 2 * self._at_once)
            if not waiting:
                break
            batch = _Batch(self, claim, stopped)
            is_working = batch.run(waiting, asking)
            done, failed = done + batch.done, failed + batch.failed
            if not is_working:
                self._failed(claim, may_pass=True, after_s=batch.after_s)
                return Worked(claim.owner_id, claim.work, done, failed)
            self._hold(claim)
        self._access.store.claims.release(claim)
        return Worked(claim.owner_id, claim.work, done, failed)

    def _condensed(self, claim: Claim, stopped: Stop) -> Worked:
        done = 0
        now, counter = self._access.clock.now(), self._counter(claim.owner_id)
        try:
            for _ in self._consolidating.consolidate(claim.owner_id, claim, stopped):
                done += 1
                self._hold(claim)
        except ServiceFailed as error:
            self._failed(claim, may_pass=error.retryable)
            _log.warning("a consolidation failed, and is tried again later: %s", error)
            return Worked(claim.owner_id, claim.work, done, 1)
        if not stopped():
            self._seen[claim.owner_id] = counter if done == 0 else -1, now
        self._access.store.claims.release(claim)
        return Worked(claim.owner_id, claim.work, done, 0)

    def extract(self, owner_id: str, exchange: Exchange) -> Extracted:
        """Ask for the facts of an exchange; see `Extracting`."""
        return self._extracting.extract(owner_id, exchange)

    def keep(self, claim: Claim, extracted: Extracted) -> None:
        """Store what an exchange gave; see `Extracting`."""
        self._extracting.keep(claim.owner_id, claim, extracted)

    def park(self, claim: Claim, exchange: Exchange, *, may_pass: bool) -> bool:
        """Count a failure of an exchange; park it if there were too many, and say whether."""
        ids = [message.id for message in exchange]
        now = self._access.clock.now()
        with self._access.store.write(claim.owner_id) as tx:
            if not tx.holds(claim):
                raise Lost
            retry_at = self._postponing.retry_at(
                now, tx.attempts(ids) + 1, may_pass=may_pass, draw=0.0
            )
            is_parked = retry_at is None
            tx.postpone(ids, retry_at=None if is_parked else now)
        return is_parked

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

    def _hold(self, claim: Claim) -> None:
        now = self._access.clock.now()
        if not self._access.store.claims.keep(claim, now=now, lease_s=LEASE_S):
            raise Lost


class _Batch:
    """Some exchanges of one owner: asked for together, stored in their order.

    What comes after one that failed waits until it is learned from, or parked: whether an old fact
    or a new one holds must not hang on a failure.

    Attributes:
        done: How many were learned from.
        failed: How many were not.
        after_s: After how many seconds the model may be asked again, where it said so.
    """

    def __init__(self, working: Working, claim: Claim, stopped: Stop) -> None:
        self._working = working
        self._claim = claim
        self._stopped = stopped
        self.done = 0
        self.failed = 0
        self.after_s: float | None = None

    def run(self, exchanges: list[Exchange], asking: Executor) -> bool:
        """Learn from exchanges; return whether to go on with the next."""
        asked = [
            asking.submit(self._working.extract, self._claim.owner_id, each) for each in exchanges
        ]
        try:
            for exchange, answer in zip(exchanges, asked, strict=True):
                if self._stopped() and answer.cancel():
                    continue
                if not self._kept(exchange, answer):
                    return False
        finally:
            for answer in asked:
                answer.cancel()
        return True

    def _kept(self, exchange: Exchange, answer: Future[Extracted]) -> bool:
        try:
            self._working.keep(self._claim, answer.result())
        except LimitReached as error:
            self.after_s = error.retry_after_s
            return False
        except ServiceFailed as error:
            self.failed += 1
            self.after_s = None
            _log.warning("an exchange could not be learned from: %s", error)
            return self._working.park(self._claim, exchange, may_pass=error.retryable)
        self.done += 1
        return True
