"""Threads for work that a process that ends need not wait for."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from queue import SimpleQueue
from random import Random
from types import TracebackType
from typing import Self, TypeVar

from memolith.domain.owners import PendingWork, WorkKind
from memolith.errors import (
    LimitReached,
    MemolithError,
    OwnerErased,
    ServiceFailed,
    WrongEmbeddingModel,
)
from memolith.policies.retries import BackoffPolicy
from memolith.ports.work import WorkLease
from memolith.services.access import Access
from memolith.services.consolidate import Consolidator
from memolith.services.extract import Exchange, ExtractionResult, FactExtractor, LeaseLost
from memolith.tracing import count

T = TypeVar("T")


class DaemonExecutor:
    """Does what it is given, in the order given, so many things at once.

    As an executor of the standard library, but for one thing: the interpreter's end waits for the
    threads of those, and so for a service that does not answer, however long that takes.
    Thread-safe.
    """

    def __init__(self, size: int, name: str) -> None:
        """Be so many threads at most; none is started before it is needed."""
        self._size = size
        self._name = name
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._tasks: SimpleQueue[Callable[[], None] | None] = SimpleQueue()

    def submit(self, call: Callable[[], T]) -> Future[T]:
        """Have a function called; return what holds its result then."""
        future: Future[T] = Future()
        self._tasks.put(lambda: _run_task(call, future))
        with self._lock:
            if len(self._threads) < self._size:
                name = f"{self._name}-{len(self._threads)}"
                self._threads.append(threading.Thread(target=self._run, name=name, daemon=True))
                self._threads[-1].start()
        return future

    def _run(self) -> None:
        while (task := self._tasks.get()) is not None:
            task()

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Wait until all is done that was given and not cancelled."""
        for _ in self._threads:
            self._tasks.put(None)
        for thread in self._threads:
            thread.join()


def _run_task(call: Callable[[], T], future: Future[T]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = call()
    except BaseException as error:  # noqa: BLE001 - it is raised where the result is asked for
        future.set_exception(error)
    else:
        future.set_result(result)


# --- One owner's turn: learning from what waits, under a claim that is held as long as it takes


class _StopRequested(Exception):
    """No error: nothing more is to be asked."""


LEASE_S = 300.0
"""For how long a process that is not heard of again keeps an owner's work: a guess, between how
long others wait for one that was killed, and how often a claim is written."""

LEASE_RENEW_INTERVAL_S = LEASE_S / 5
"""How often a claim is held anew while a model is asked: some may fail before it is lost."""

EXCHANGES_PER_TURN = 32
"""After how many exchanges an owner for whom more waits lets others have their turn: a guess."""

_PREFETCH_FACTOR = 2
"""How many exchanges are asked for, by how many are asked for at once: while the results of some
are stored, none of the calls is idle."""

_log = logging.getLogger(__name__)


class HeldLease:
    """A claim that is held, as long as it is heard of."""

    def __init__(self, access: Access, claim: WorkLease) -> None:
        """Hold a claim that was just taken."""
        self.claim = claim
        self._access = access
        self._renewed_at = access.clock.now()

    def wait_for(self, answer: Future[T]) -> T:
        """Return a result, or raise what it raises, holding the claim until then.

        Raises:
            Lost: Somebody else has the work now.
        """
        while wait([answer], LEASE_RENEW_INTERVAL_S).not_done:
            self._renew(self._access.clock.now())
        now = self._access.clock.now()
        if now - self._renewed_at >= timedelta(seconds=LEASE_RENEW_INTERVAL_S):
            self._renew(now)
        return answer.result()

    def _renew(self, now: datetime) -> None:
        if not self._access.store.leases.renew(self.claim, now=now, lease_s=LEASE_S):
            raise LeaseLost
        self._renewed_at = now


class LearningTurn:
    """Learns from what waits for one owner.

    Attributes:
        done: How many exchanges were learned from.
        failed: How many were not.
        after_s: After how many seconds the model may be asked again, where it said so.
    """

    def __init__(
        self,
        access: Access,
        extractor: FactExtractor,
        backoff: BackoffPolicy,
        lease: HeldLease,
        executor: DaemonExecutor,
        max_concurrency: int,
    ) -> None:
        """Learn under a claim, asking for so many exchanges at once."""
        self._access = access
        self._extractor = extractor
        self._backoff = backoff
        self._lease = lease
        self._owner_id = lease.claim.owner_id
        self._executor = executor
        self._max_requested = _PREFETCH_FACTOR * max_concurrency
        self._upcoming: deque[Exchange] = deque()
        self._requested: deque[tuple[Exchange, Future[ExtractionResult]]] = deque()
        self.done = 0
        self.failed = 0
        self.retry_after_s: float | None = None
        self._next_check = EXCHANGES_PER_TURN
        self._yields_turn = False

    def learn(self, should_stop: Callable[[], bool]) -> bool:
        """Learn from what waits, a while at least where others wait; return whether nothing failed.

        Raises:
            Lost: Somebody else has the work now.
        """
        try:
            while self._prefetch(should_stop):
                exchange, answer = self._requested.popleft()
                if not self._store_result(exchange, answer):
                    return False
        except _StopRequested:
            return True  # what comes after it waits on, too, though some may have been asked for
        finally:
            self._cancel_requested()
        return True

    def _prefetch(self, should_stop: Callable[[], bool]) -> bool:
        """Ask ahead; return whether there is anything to wait for."""
        while (
            len(self._requested) < self._max_requested
            and not should_stop()
            and not self._should_yield()
            and (exchange := self._next_exchange())
        ):
            ask = partial(self._extract, exchange, should_stop)
            self._requested.append((exchange, self._executor.submit(ask)))
        return bool(self._requested)

    def _extract(self, exchange: Exchange, should_stop: Callable[[], bool]) -> ExtractionResult:
        if should_stop():
            raise _StopRequested
        return self._extractor.extract(self._owner_id, exchange)

    def _should_yield(self) -> bool:
        """Tell whether it is the turn of others: looked for once in so many exchanges."""
        if not self._yields_turn and self.done + self.failed >= self._next_check:
            self._next_check += EXCHANGES_PER_TURN
            now = self._access.clock.now()
            self._yields_turn = bool(self._access.store.leases.owners(WorkKind.LEARN, now=now))
        return self._yields_turn

    def _next_exchange(self) -> Exchange | None:
        """Return the next exchange that waits and was not asked for."""
        if not self._upcoming:
            asked = {exchange[0].id for exchange, _ in self._requested}
            found = self._extractor.find_pending(self._owner_id, len(asked) + self._max_requested)
            self._upcoming.extend(each for each in found if each[0].id not in asked)
        return self._upcoming.popleft() if self._upcoming else None

    def _cancel_requested(self) -> None:
        """Let nothing be asked any more that was not begun."""
        self._upcoming.clear()
        for _, answer in self._requested:
            answer.cancel()

    def _store_result(self, exchange: Exchange, answer: Future[ExtractionResult]) -> bool:
        """Store a result; return whether to go on with the next."""
        try:
            self._extractor.store(self._owner_id, self._lease.claim, self._lease.wait_for(answer))
        except LimitReached as error:
            self.retry_after_s = error.retry_after_s
            return False
        except ServiceFailed as error:
            self.failed += 1
            self.retry_after_s = None
            _log.warning("an exchange could not be learned from: %s", error)
            return self._record_failure(exchange, may_pass=error.retryable)
        self.done += 1
        return True

    def _record_failure(self, exchange: Exchange, *, may_pass: bool) -> bool:
        """Count a failure of an exchange; park it if there were too many, and say whether."""
        ids = [message.id for message in exchange]
        now = self._access.clock.now()
        with self._access.store.write(self._owner_id) as tx:
            if not tx.holds_lease(self._lease.claim):
                raise LeaseLost
            retry_at = self._backoff.get_retry_time(
                now, tx.attempts(ids) + 1, is_transient=may_pass, jitter=0.0
            )
            is_parked = retry_at is None
            tx.schedule_retry(ids, retry_at=None if is_parked else now)
        return is_parked


# --- Doing what waits in the store with a model: each owner's work by one process at a time


CHECK_INTERVAL = timedelta(hours=1)
"""How often an owner to whom nothing was written is looked at for what time alone makes due: a
conversation that has fallen silent."""

ShouldStop = Callable[[], bool]


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
