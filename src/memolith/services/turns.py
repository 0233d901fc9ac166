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

from memolith.domain.work import Work
from memolith.errors import LimitReached, ServiceFailed
from memolith.services.extracting import Lost

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future
    from datetime import datetime

    from memolith.policies.postponing import Postponing
    from memolith.ports.work import Claim
    from memolith.services.access import Access
    from memolith.services.crew import Crew
    from memolith.services.extracting import Exchange, Extracted, Extracting

T = TypeVar("T")


class _Stopped(Exception):
    """No error: nothing more is to be asked."""


LEASE_S = 300.0
"""For how long a process that is not heard of again keeps an owner's work: a guess, between how
long others wait for one that was killed, and how often a claim is written."""

HOLD_EVERY_S = LEASE_S / 5
"""How often a claim is held anew while a model is asked: some may fail before it is lost."""

TURN = 32
"""After how many exchanges an owner for whom more waits lets others have their turn: a guess."""

_AHEAD = 2
"""How many exchanges are asked for, by how many are asked for at once: while the results of some
are stored, none of the calls is idle."""

_log = logging.getLogger(__name__)


class Hold:
    """A claim that is held, as long as it is heard of."""

    def __init__(self, access: Access, claim: Claim) -> None:
        """Hold a claim that was just taken."""
        self.claim = claim
        self._access = access
        self._held_at = access.clock.now()

    def wait(self, answer: Future[T]) -> T:
        """Return a result, or raise what it raises, holding the claim until then.

        Raises:
            Lost: Somebody else has the work now.
        """
        while wait([answer], HOLD_EVERY_S).not_done:
            self._keep(self._access.clock.now())
        now = self._access.clock.now()
        if now - self._held_at >= timedelta(seconds=HOLD_EVERY_S):
            self._keep(now)
        return answer.result()

    def _keep(self, now: datetime) -> None:
        if not self._access.store.claims.keep(self.claim, now=now, lease_s=LEASE_S):
            raise Lost
        self._held_at = now


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
        extracting: Extracting,
        postponing: Postponing,
        hold: Hold,
        asking: Crew,
        at_once: int,
    ) -> None:
        """Learn under a claim, asking for so many exchanges at once."""
        self._access = access
        self._extracting = extracting
        self._postponing = postponing
        self._hold = hold
        self._owner_id = hold.claim.owner_id
        self._asking = asking
        self._most = _AHEAD * at_once
        self._next: deque[Exchange] = deque()
        self._asked: deque[tuple[Exchange, Future[Extracted]]] = deque()
        self.done = 0
        self.failed = 0
        self.after_s: float | None = None
        self._looks_at = TURN
        self._gives_way = False

    def learn(self, stopped: Callable[[], bool]) -> bool:
        """Learn from what waits, a while at least where others wait; return whether nothing failed.

        Raises:
            Lost: Somebody else has the work now.
        """
        try:
            while self._has_asked(stopped):
                exchange, answer = self._asked.popleft()
                if not self._is_kept(exchange, answer):
                    return False
        except _Stopped:
            return True  # what comes after it waits on, too, though some may have been asked for
        finally:
            self._take_back()
        return True

    def _has_asked(self, stopped: Callable[[], bool]) -> bool:
        """Ask ahead; return whether there is anything to wait for."""
        while (
            len(self._asked) < self._most
            and not stopped()
            and not self._is_over()
            and (exchange := self._following())
        ):
            ask = partial(self._extracted, exchange, stopped)
            self._asked.append((exchange, self._asking.submit(ask)))
        return bool(self._asked)

    def _extracted(self, exchange: Exchange, stopped: Callable[[], bool]) -> Extracted:
        if stopped():
            raise _Stopped
        return self._extracting.extract(self._owner_id, exchange)

    def _is_over(self) -> bool:
        """Tell whether it is the turn of others: looked for once in so many exchanges."""
        if not self._gives_way and self.done + self.failed >= self._looks_at:
            self._looks_at += TURN
            now = self._access.clock.now()
            self._gives_way = bool(self._access.store.claims.owners(Work.LEARN, now=now))
        return self._gives_way

    def _following(self) -> Exchange | None:
        """Return the next exchange that waits and was not asked for."""
        if not self._next:
            asked = {exchange[0].id for exchange, _ in self._asked}
            found = self._extracting.waiting(self._owner_id, len(asked) + self._most)
            self._next.extend(each for each in found if each[0].id not in asked)
        return self._next.popleft() if self._next else None

    def _take_back(self) -> None:
        """Let nothing be asked any more that was not begun."""
        self._next.clear()
        for _, answer in self._asked:
            answer.cancel()

    def _is_kept(self, exchange: Exchange, answer: Future[Extracted]) -> bool:
        """Store a result; return whether to go on with the next."""
        try:
            self._extracting.keep(self._owner_id, self._hold.claim, self._hold.wait(answer))
        except LimitReached as error:
            self.after_s = error.retry_after_s
            return False
        except ServiceFailed as error:
            self.failed += 1
            self.after_s = None
            _log.warning("an exchange could not be learned from: %s", error)
            return self._is_parked(exchange, may_pass=error.retryable)
        self.done += 1
        return True

    def _is_parked(self, exchange: Exchange, *, may_pass: bool) -> bool:
        """Count a failure of an exchange; park it if there were too many, and say whether."""
        ids = [message.id for message in exchange]
        now = self._access.clock.now()
        with self._access.store.write(self._owner_id) as tx:
            if not tx.holds(self._hold.claim):
                raise Lost
            retry_at = self._postponing.retry_at(
                now, tx.attempts(ids) + 1, may_pass=may_pass, draw=0.0
            )
            is_parked = retry_at is None
            tx.postpone(ids, retry_at=None if is_parked else now)
        return is_parked
