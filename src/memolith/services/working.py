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

from memolith.domain.work import WorkKind
from memolith.errors import MemolithError, OwnerErased, ServiceFailed, WrongEmbeddingModel
from memolith.policies.postponing import BackoffPolicy
from memolith.services.crew import DaemonExecutor
from memolith.services.extracting import LeaseLost
from memolith.services.turns import LEASE_S, HeldLease, LearningTurn
from memolith.steps import count

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import Future
    from datetime import datetime

    from memolith.domain.work import PendingWork
    from memolith.ports.work import WorkLease
    from memolith.services.access import Access
    from memolith.services.consolidation.running import Consolidator
    from memolith.services.extracting import FactExtractor

CHECK_INTERVAL = timedelta(hours=1)
"""How often an owner to whom nothing was written is looked at for what time alone makes due: a
conversation that has fallen silent."""

ShouldStop = Callable[[], bool]

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class WorkResult:
    """What was done for an owner.

    Attributes:
        owner_id: For whom.
        work: What kind of work.
        done: How many exchanges were learned from, or things made shorter.
        failed: How many failed: they are tried again later, or parked.
    """

    owner_id: str
    work: WorkKind
    done: int
    failed: int


class WorkRunner:
    """Takes work from the store and does it, for several owners at once."""

    def __init__(
        self,
        access: Access,
        extractor: FactExtractor,
        consolidator: Consolidator,
        *,
        max_concurrency: int,
        backoff: BackoffPolicy | None = None,
        random: Random | None = None,
    ) -> None:
        """Use these; `at_once` bounds the calls of a model."""
        self._random = random or Random()  # noqa: S311 - how long to wait is no secret
        self._access = access
        self._extractor = extractor
        self._consolidator = consolidator
        self._max_concurrency = max_concurrency
        self._backoff = backoff or BackoffPolicy()
        self._seen: dict[str, tuple[int, datetime]] = {}

    def run_due(self, should_stop: ShouldStop = lambda: False) -> tuple[WorkResult, ...]:
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
            DaemonExecutor(self._max_concurrency, "memolith-ask") as asking,
            DaemonExecutor(self._max_concurrency, "memolith-work") as crew,
        ):
            try:
                return tuple(
                    self._run_rounds(asking, crew, lambda: failed.is_set() or should_stop())
                )
            finally:
                failed.set()  # where one fails, the others end soon

    def _run_rounds(
        self,
        model_executor: DaemonExecutor,
        owner_executor: DaemonExecutor,
        should_stop: ShouldStop,
    ) -> Iterator[WorkResult]:
        """Do what there is to do, then look again if that was anything: it may be shortened now."""
        units: deque[tuple[WorkKind, str]] = deque()
        running: dict[Future[WorkResult | None], tuple[WorkKind, str]] = {}
        looks = True
        while True:
            if looks and not units and not should_stop():
                looks = False
                units.extend(each for each in self._find_units() if each not in running.values())
            while units and len(running) < self._max_concurrency and not should_stop():
                unit = units.popleft()
                running[
                    owner_executor.submit(
                        partial(self._run_unit, *unit, model_executor, should_stop)
                    )
                ] = unit
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

    def get_pending_work(self, owner_id: str) -> PendingWork:
        """Return how much an owner has waiting."""
        with self._access.store.read(owner_id) as snapshot:
            return snapshot.pending_work()

    def retry(self, owner_id: str) -> None:
        """Let all that failed for an owner be tried again at once.

        Raises:
            Disabled: Memory is switched off.
        """
        self._access.check_enabled()
        self._access.store.leases.retry(owner_id)

    # --- what there is to do --------------------------------------------------------------------

    def _find_units(self) -> list[tuple[WorkKind, str]]:
        now = self._access.clock.now()
        claims = self._access.store.leases
        learning = [
            (WorkKind.LEARN, owner_id) for owner_id in claims.owners(WorkKind.LEARN, now=now)
        ]
        consolidating = [
            (WorkKind.CONSOLIDATE, owner_id)
            for owner_id in claims.owners(WorkKind.CONSOLIDATE, now=now)
            if self._may_be_due(owner_id, now)
        ]
        return learning + consolidating

    def _may_be_due(self, owner_id: str, now: datetime) -> bool:
        """Tell whether there may be something to make shorter since this process last looked.

        Not while messages wait to be learned from: what they say is to be known by then.
        """
        profile = self._access.find_profile(owner_id)
        if profile is None or not self._consolidator.runs_automatically(profile):
            return False
        counter, looked = self._seen.get(owner_id, (-1, now))
        with self._access.store.read(owner_id) as snapshot:
            has_grown = snapshot.counter != counter or now - looked >= CHECK_INTERVAL
            return has_grown and not snapshot.pending_work().pending_messages

    def _get_counter(self, owner_id: str) -> int:
        with self._access.store.read(owner_id) as snapshot:
            return snapshot.counter

    # --- doing it -------------------------------------------------------------------------------

    def _run_unit(
        self, work: WorkKind, owner_id: str, model_executor: DaemonExecutor, should_stop: ShouldStop
    ) -> WorkResult | None:
        if should_stop():
            return None
        now = self._access.clock.now()
        claim = self._access.store.leases.acquire(owner_id, work, now=now, lease_s=LEASE_S)
        if claim is None:
            return None
        hold = HeldLease(self._access, claim)
        try:
            if work is WorkKind.LEARN:
                return self._run_learning(hold, model_executor, should_stop)
            return self._run_consolidation(hold, model_executor, should_stop)
        except LeaseLost:
            _log.info("an owner's work was taken over by another process")
        except OwnerErased:
            _log.info("an owner was erased meanwhile")
        except WrongEmbeddingModel:
            self._access.store.leases.release(claim)  # who has the new model takes it at once
            raise
        except MemolithError as error:
            self._release_failed(claim, may_pass=True)
            _log.warning("work failed, and is tried again later: %s", error)
        return None

    def _run_learning(
        self, lease: HeldLease, model_executor: DaemonExecutor, should_stop: ShouldStop
    ) -> WorkResult:
        claim = lease.claim
        turn = LearningTurn(
            self._access,
            self._extractor,
            self._backoff,
            lease,
            model_executor,
            self._max_concurrency,
        )
        if turn.learn(should_stop):
            self._access.store.leases.release(claim)
        else:
            self._release_failed(claim, may_pass=True, after_s=turn.retry_after_s)
        return WorkResult(claim.owner_id, claim.work, turn.done, turn.failed)

    def _run_consolidation(
        self, lease: HeldLease, model_executor: DaemonExecutor, should_stop: ShouldStop
    ) -> WorkResult:
        done, claim = 0, lease.claim
        now, counter = self._access.clock.now(), self._get_counter(claim.owner_id)
        steps = self._consolidator.consolidate(claim.owner_id, claim, should_stop)
        try:
            while lease.wait_for(model_executor.submit(lambda: next(steps, None))):
                done += 1
        except ServiceFailed as error:
            self._release_failed(claim, may_pass=error.retryable)
            _log.warning("a consolidation failed, and is tried again later: %s", error)
            return WorkResult(claim.owner_id, claim.work, done, 1)
        if not should_stop():
            self._seen[claim.owner_id] = counter if done == 0 else -1, now
        self._access.store.leases.release(claim)
        return WorkResult(claim.owner_id, claim.work, done, 0)

    def _release_failed(
        self, claim: WorkLease, *, may_pass: bool, after_s: float | None = None
    ) -> None:
        """Give a claim back, to be taken again later, or after so many seconds."""
        now = self._access.clock.now()
        retry_at = (
            self._backoff.get_retry_time(
                now, claim.attempts + 1, is_transient=may_pass, jitter=self._random.random()
            )
            if after_s is None
            else now + timedelta(seconds=after_s)
        )
        self._access.store.leases.fail(claim, retry_at=retry_at)
