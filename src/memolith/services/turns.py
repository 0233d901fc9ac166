"""One owner's turn: learning from what waits, under a claim that is held as long as it takes.

Several exchanges are asked for at once, and stored in their order: what comes after one that failed
waits until that is learned from, or parked. Whether an old fact or a new one holds must not hang on
a failure, nor on which reply came first.
"""

from __future__ import annotations

import logging
from collections import deque
from concurrent.futures import wait
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from memolith.domain.work import WorkKind
from memolith.errors import LimitReached, ServiceFailed
from memolith.services.extracting import LeaseLost

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future
    from datetime import datetime

    from memolith.policies.postponing import BackoffPolicy
    from memolith.ports.work import WorkLease
    from memolith.services.access import Access
    from memolith.services.crew import DaemonExecutor
    from memolith.services.extracting import Exchange, ExtractionResult, FactExtractor

T = TypeVar("T")


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
