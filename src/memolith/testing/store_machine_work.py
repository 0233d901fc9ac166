"""The part of the state machine that does what waits; see `store_machine`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule

from memolith.domain.work import ConsolidationProgress, ProcessingFlag, WorkKind
from memolith.ports.usage import ModelUsage
from memolith.testing import store_values as some
from memolith.testing.builders import at

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from memolith.ports.store import Store, Transaction
    from memolith.ports.work import WorkLease

_works = st.sampled_from(WorkKind)
_sessions = st.sampled_from((*some.SESSIONS, "s3"))
_purposes = st.sampled_from(("extract", "summarise"))
_LEASE_S = 10.0

_CHANGES: dict[str, Callable[[Transaction, Sequence[str], datetime], None]] = {
    "await": lambda tx, ids, _: tx.mark_pending(ids),
    "learned": lambda tx, ids, then: tx.mark_learned(ids, then),
    "postpone": lambda tx, ids, then: tx.schedule_retry(ids, retry_at=then),
    "park": lambda tx, ids, _: tx.schedule_retry(ids, retry_at=None),
    "summarised": lambda tx, ids, then: tx.mark_summarised(ids, then),
    "not summarised": lambda tx, ids, _: tx.mark_summarised(ids, None),
    "mark": lambda tx, ids, _: tx.add_mark(ids, ProcessingFlag.INCORPORATED),
    "unmark": lambda tx, ids, _: tx.remove_mark(ids, ProcessingFlag.INCORPORATED),
}


class WorkRules:
    """Lets things wait, claims them, and says that they were done, in both stores."""

    store: Store
    reference: Store

    def __init__(self) -> None:
        """Begin without a claim."""
        super().__init__()
        self._claims: list[tuple[WorkLease, WorkLease]] = []

    def _write(self, owner: str, step: Callable[[Transaction], None]) -> None:
        raise NotImplementedError

    @property
    def _both(self) -> tuple[Store, Store]:
        return self.store, self.reference

    @rule(
        owner=some.owners,
        what=st.sampled_from(("await", "await", "await", *_CHANGES)),
        ids=st.lists(some.ids, max_size=8),
        at_=some.times,
    )
    def say_what_was_done(self, owner: str, what: str, ids: Sequence[str], at_: Any) -> None:
        """Let messages wait, or say what became of them or of memories."""
        self._write(owner, lambda tx: _CHANGES[what](tx, ids, at_))

    @rule(
        owner=some.owners,
        session=_sessions,
        progress=st.builds(
            ConsolidationProgress, st.integers(0, 9), st.integers(0, 3), st.none() | some.times
        ),
    )
    def set_progress(self, owner: str, session: str, progress: ConsolidationProgress) -> None:
        """Say how far a conversation was made shorter."""
        self._write(owner, lambda tx: tx.set_progress(session, progress))

    @rule(owner=some.owners, work=_works, at_=some.times)
    def take(self, owner: str, work: WorkKind, at_: Any) -> None:
        """Take a claim."""
        one, other = (s.leases.acquire(owner, work, now=at_, lease_s=_LEASE_S) for s in self._both)
        assert (one and one.attempts) == (other and other.attempts)
        if one is not None and other is not None:
            self._claims.append((one, other))

    @rule(pick=st.integers(0, 9), at_=some.times, end=st.sampled_from(("keep", "release", "fail")))
    def end_or_keep(self, pick: int, at_: Any, end: str) -> None:
        """Keep a claim, or give it back, whether it was lost or not."""
        if not self._claims:
            return
        pair = self._claims[pick % len(self._claims)]
        held = [self._holds(*each) for each in zip(self._both, pair, strict=True)]
        assert held[0] == held[1]
        for store, claim in zip(self._both, pair, strict=True):
            if end == "keep":
                kept = store.leases.renew(claim, now=at_, lease_s=_LEASE_S)
                assert kept is held[0] or held[0] is None
            elif end == "release":
                store.leases.release(claim)
            else:
                store.leases.fail(claim, retry_at=at_ if pick % 2 else None)

    @rule(owner=some.owners)
    def retry(self, owner: str) -> None:
        """Let everything be tried again."""
        for store in self._both:
            store.leases.retry(owner)

    @rule(owner=some.owners, purpose=_purposes, tokens=st.integers(0, 9), hour=st.integers(0, 3))
    def add_usage(self, owner: str, purpose: str, tokens: int, hour: int) -> None:
        """Count a call."""
        for store in self._both:
            store.usage.add(owner, purpose, ModelUsage(1, tokens, 1), at=at(hour * 3_600))

    @invariant()
    def same_work(self) -> None:
        """Compare whose work may be taken, and what was spent."""
        for work in WorkKind:
            for seconds in (10, 40, 1e6):
                one, other = (s.leases.owners(work, now=at(seconds)) for s in self._both)
                assert one == other
        for owner in some.OWNERS:
            spent = [s.usage.get_usage(owner, at(3_600)) for s in self._both]
            assert spent[0] == spent[1]

    @staticmethod
    def _holds(store: Store, claim: WorkLease) -> bool | None:
        """Return whether a claim counts; None: its owner was erased."""
        if store.is_erased(claim.owner_id):
            return None
        with store.write(claim.owner_id) as tx:
            return tx.holds_lease(claim)
