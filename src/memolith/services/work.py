"""Runs pending work with a model: learning and consolidation, for several owners at once."""

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
    """Runs functions in order on a limited number of daemon threads. Thread-safe.

    Unlike executors of the standard library, it does not block the interpreter's exit while a
    service is not responding.
    """

    def __init__(self, size: int, name: str) -> None:
        """Use at most `size` threads, started when needed."""
        self._size = size
        self._name = name
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._tasks: SimpleQueue[Callable[[], None] | None] = SimpleQueue()

    def submit(self, call: Callable[[], T]) -> Future[T]:
        """Schedule a function; return a future with its result."""
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
        """Wait for all scheduled functions that are not cancelled."""
        for _ in self._threads:
            self._tasks.put(None)
        for thread in self._threads:
            thread.join()


def _run_task(call: Callable[[], T], future: Future[T]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = call()
    except BaseException as error:  # noqa: BLE001 - raised again by the future's `result`
        future.set_exception(error)
    else:
        future.set_result(result)


# --- Learning for one owner


class _StopRequested(Exception):
    """Control flow, not an error: no more model calls are wanted."""


LEASE_S = 300.0
"""Seconds after which an owner's work is reassigned if its process is unresponsive. A guess that
balances the wait after a crash against the number of renewals."""

LEASE_RENEW_INTERVAL_S = LEASE_S / 5
"""Seconds between renewals during a model call: several may fail before the lease expires."""

EXCHANGES_PER_TURN = 32
"""Exchanges after which an owner with more work yields to waiting owners. A guess."""

_PREFETCH_FACTOR = 2
"""Exchanges requested ahead for each concurrent call, so that no call is idle while results are
stored."""

_log = logging.getLogger(__name__)


class HeldLease:
    """A lease that is renewed while waiting for results."""

    def __init__(self, access: Access, work_lease: WorkLease) -> None:
        """Start with a lease that was just acquired."""
        self.work_lease = work_lease
        self._access = access
        self._renewed_at = access.clock.now()

    def wait_for(self, answer: Future[T]) -> T:
        """Return a future's result, renewing the lease while waiting.

        Raises:
            LeaseLost: Another process has the work now.
        """
        while wait([answer], LEASE_RENEW_INTERVAL_S).not_done:
            self._renew(self._access.clock.now())
        now = self._access.clock.now()
        if now - self._renewed_at >= timedelta(seconds=LEASE_RENEW_INTERVAL_S):
            self._renew(now)
        return answer.result()

    def _renew(self, now: datetime) -> None:
        if not self._access.store.leases.renew(self.work_lease, now=now, lease_s=LEASE_S):
            raise LeaseLost
        self._renewed_at = now


class LearningTurn:
    """Learns from one owner's pending exchanges.

    Attributes:
        done: The number of exchanges learned from.
        failed: The number of failed exchanges.
        retry_after_s: Seconds until the next attempt, if the service or a limit has set them.
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
        """Learn under a lease, with at most `max_concurrency` model calls at a time."""
        self._access = access
        self._extractor = extractor
        self._backoff = backoff
        self._lease = lease
        self._owner_id = lease.work_lease.owner_id
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
        """Learn from pending exchanges; return False after a failure that postpones the rest.

        Yields to other owners after `EXCHANGES_PER_TURN` exchanges.

        Raises:
            LeaseLost: Another process has the work now.
        """
        try:
            while self._prefetch(should_stop):
                exchange, answer = self._requested.popleft()
                if not self._store_result(exchange, answer):
                    return False
        except _StopRequested:
            return True  # later exchanges stay pending, even if requested
        finally:
            self._cancel_requested()
        return True

    def _prefetch(self, should_stop: Callable[[], bool]) -> bool:
        """Request exchanges ahead; return whether any result is outstanding."""
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
        """Return whether other owners wait; check once in `EXCHANGES_PER_TURN` exchanges."""
        if not self._yields_turn and self.done + self.failed >= self._next_check:
            self._next_check += EXCHANGES_PER_TURN
            now = self._access.clock.now()
            self._yields_turn = bool(self._access.store.leases.owners(WorkKind.LEARN, now=now))
        return self._yields_turn

    def _next_exchange(self) -> Exchange | None:
        """Return the next pending exchange that is not requested yet."""
        if not self._upcoming:
            requested_ids = {exchange[0].id for exchange, _ in self._requested}
            exchanges = self._extractor.find_pending(
                self._owner_id, len(requested_ids) + self._max_requested
            )
            self._upcoming.extend(each for each in exchanges if each[0].id not in requested_ids)
        return self._upcoming.popleft() if self._upcoming else None

    def _cancel_requested(self) -> None:
        """Cancel requests that have not started."""
        self._upcoming.clear()
        for _, answer in self._requested:
            answer.cancel()

    def _store_result(self, exchange: Exchange, answer: Future[ExtractionResult]) -> bool:
        """Store a result; return whether to continue with the next exchange."""
        try:
            self._extractor.store(
                self._owner_id, self._lease.work_lease, self._lease.wait_for(answer)
            )
        except LimitReached as error:
            self.retry_after_s = error.retry_after_s
            return False
        except ServiceFailed as error:
            self.failed += 1
            self.retry_after_s = None
            _log.warning("could not learn from an exchange: %s", error)
            return self._record_failure(exchange, may_pass=error.retryable)
        self.done += 1
        return True

    def _record_failure(self, exchange: Exchange, *, may_pass: bool) -> bool:
        """Record a failed attempt; after too many, dead-letter the exchange and return True."""
        ids = [message.id for message in exchange]
        now = self._access.clock.now()
        with self._access.store.write(self._owner_id) as tx:
            if not tx.holds_lease(self._lease.work_lease):
                raise LeaseLost
            retry_at = self._backoff.get_retry_time(
                now, tx.attempts(ids) + 1, is_transient=may_pass, jitter=0.0
            )
            is_parked = retry_at is None
            tx.schedule_retry(ids, retry_at=None if is_parked else now)
        return is_parked


# --- Running pending work


CHECK_INTERVAL = timedelta(hours=1)
"""How often unchanged owners are checked for work that becomes due by time alone, such as ended
conversations."""

ShouldStop = Callable[[], bool]


@dataclass(frozen=True, slots=True)
class WorkResult:
    """Work done for one owner.

    Attributes:
        owner_id: The owner.
        work: The kind of work.
        done: The number of exchanges learned from, or of summaries made.
        failed: The number of failures, which are retried later or dead-lettered.
    """

    owner_id: str
    work: WorkKind
    done: int
    failed: int


class WorkRunner:
    """Leases pending work from the store and runs it, for several owners at once."""

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
        """Configure the runner; `max_concurrency` limits concurrent model calls."""
        self._random = random or Random()  # noqa: S311 - jitter is not security-sensitive
        self._access = access
        self._extractor = extractor
        self._consolidator = consolidator
        self._max_concurrency = max_concurrency
        self._backoff = backoff or BackoffPolicy()
        self._seen: dict[str, tuple[int, datetime]] = {}

    def run_due(self, should_stop: ShouldStop = lambda: False) -> tuple[WorkResult, ...]:
        """Run all work that is due and not leased by another process; return the results.

        Does nothing if memory is switched off.

        Args:
            should_stop: Called in between; if true, the rest is left for later. Results of model
                calls in progress are still stored.

        Raises:
            StoreUnavailable: The store can't be reached; remaining work stays pending.
            WrongEmbeddingModel: The store now has vectors of another model; remaining work stays
                pending.
        """
        if not self._access.enabled:
            return ()
        self._access.store.check_embedder()  # fail before paying for model calls
        failed = threading.Event()
        with (
            DaemonExecutor(self._max_concurrency, "memolith-ask") as model_executor,
            DaemonExecutor(self._max_concurrency, "memolith-work") as executor,
        ):
            try:
                return tuple(
                    self._run_rounds(
                        model_executor, executor, lambda: failed.is_set() or should_stop()
                    )
                )
            finally:
                failed.set()  # after an exception, stop the others soon

    def _run_rounds(
        self,
        model_executor: DaemonExecutor,
        owner_executor: DaemonExecutor,
        should_stop: ShouldStop,
    ) -> Iterator[WorkResult]:
        """Run work until none is found; finished work may make more, such as consolidation, due."""
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
        """Return the amount of an owner's pending work."""
        with self._access.store.read(owner_id) as snapshot:
            return snapshot.pending_work()

    def retry(self, owner_id: str) -> None:
        """Retry all failed work of an owner at once.

        Raises:
            Disabled: Memory is switched off.
        """
        self._access.check_enabled()
        self._access.store.leases.retry(owner_id)

    # --- finding work ---------------------------------------------------------------------------

    def _find_units(self) -> list[tuple[WorkKind, str]]:
        now = self._access.clock.now()
        leases = self._access.store.leases
        learning = [
            (WorkKind.LEARN, owner_id) for owner_id in leases.owners(WorkKind.LEARN, now=now)
        ]
        consolidating = [
            (WorkKind.CONSOLIDATE, owner_id)
            for owner_id in leases.owners(WorkKind.CONSOLIDATE, now=now)
            if self._may_be_due(owner_id, now)
        ]
        return learning + consolidating

    def _may_be_due(self, owner_id: str, now: datetime) -> bool:
        """Return whether consolidation may be due since this process last checked.

        Not while messages are pending: facts learned from them should be included.
        """
        profile = self._access.find_profile(owner_id)
        if profile is None or not self._consolidator.runs_automatically(profile):
            return False
        counter, checked_at = self._seen.get(owner_id, (-1, now))
        with self._access.store.read(owner_id) as snapshot:
            has_grown = snapshot.counter != counter or now - checked_at >= CHECK_INTERVAL
            return has_grown and not snapshot.pending_work().pending_messages

    def _get_counter(self, owner_id: str) -> int:
        with self._access.store.read(owner_id) as snapshot:
            return snapshot.counter

    # --- running work ---------------------------------------------------------------------------

    def _run_unit(
        self, work: WorkKind, owner_id: str, model_executor: DaemonExecutor, should_stop: ShouldStop
    ) -> WorkResult | None:
        if should_stop():
            return None
        now = self._access.clock.now()
        lease = self._access.store.leases.acquire(owner_id, work, now=now, lease_s=LEASE_S)
        if lease is None:
            return None
        held_lease = HeldLease(self._access, lease)
        try:
            if work is WorkKind.LEARN:
                return self._run_learning(held_lease, model_executor, should_stop)
            return self._run_consolidation(held_lease, model_executor, should_stop)
        except LeaseLost:
            _log.info("an owner's work was taken over by another process")
        except OwnerErased:
            _log.info("an owner was erased in the meantime")
        except WrongEmbeddingModel:
            self._access.store.leases.release(lease)  # left to a process with the new model
            raise
        except MemolithError as error:
            self._release_failed(lease, may_pass=True)
            _log.warning("work failed and will be retried: %s", error)
        return None

    def _run_learning(
        self, held_lease: HeldLease, model_executor: DaemonExecutor, should_stop: ShouldStop
    ) -> WorkResult:
        lease = held_lease.work_lease
        turn = LearningTurn(
            self._access,
            self._extractor,
            self._backoff,
            held_lease,
            model_executor,
            self._max_concurrency,
        )
        if turn.learn(should_stop):
            self._access.store.leases.release(lease)
        else:
            self._release_failed(lease, may_pass=True, after_s=turn.retry_after_s)
        return WorkResult(lease.owner_id, lease.work, turn.done, turn.failed)

    def _run_consolidation(
        self, held_lease: HeldLease, model_executor: DaemonExecutor, should_stop: ShouldStop
    ) -> WorkResult:
        step_count, lease = 0, held_lease.work_lease
        now, counter = self._access.clock.now(), self._get_counter(lease.owner_id)
        steps = self._consolidator.consolidate(lease.owner_id, lease, should_stop)
        try:
            while held_lease.wait_for(model_executor.submit(lambda: next(steps, None))):
                step_count += 1
        except ServiceFailed as error:
            self._release_failed(lease, may_pass=error.retryable)
            _log.warning("a consolidation failed and will be retried: %s", error)
            return WorkResult(lease.owner_id, lease.work, step_count, 1)
        if not should_stop():
            self._seen[lease.owner_id] = counter if step_count == 0 else -1, now
        self._access.store.leases.release(lease)
        return WorkResult(lease.owner_id, lease.work, step_count, 0)

    def _release_failed(
        self, lease: WorkLease, *, may_pass: bool, after_s: float | None = None
    ) -> None:
        """Release a lease after a failure, with a delay by backoff or of `after_s` seconds."""
        now = self._access.clock.now()
        retry_at = (
            self._backoff.get_retry_time(
                now, lease.attempts + 1, is_transient=may_pass, jitter=self._random.random()
            )
            if after_s is None
            else now + timedelta(seconds=after_s)
        )
        self._access.store.leases.fail(lease, retry_at=retry_at)
