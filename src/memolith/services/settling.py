"""Deciding what becomes of new memories, and writing it, whoever else writes at the same time.

What takes long (embedding, asking an arbitrator) is done before the owner is locked. Under the
lock the decision stands if nobody has written meanwhile; else it is made again from what is ready,
and if that is not enough, the lock is given back. After three rounds what is new is inserted
beside what it is near to: never an error, never a loss.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from memolith.domain.memories import Link, Memory
from memolith.errors import ServiceFailed
from memolith.policies.merging import Verdict
from memolith.services.drafts import Draft
from memolith.services.indexing import Text
from memolith.services.maintain import evict
from memolith.services.planning import NotReady, Order, Plan, Planning, Ready, Step, texts_of
from memolith.steps import count, stepped

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memolith.ports.arbitrator import Arbitrator
    from memolith.ports.store import Transaction
    from memolith.services.access import Access
    from memolith.services.indexing import Indexer

ROUNDS = 3
"""How often a plan is made anew for others who write; then what is new is inserted. A guess: a
fourth would hardly fare better than a third."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Settled:
    """What became of an order.

    Attributes:
        memories: What each draft has become, in order.
        new: Ids of those that were not there before.
    """

    memories: tuple[Memory, ...]
    new: frozenset[str]


class Settling:
    """Stores memories by their owner's profile."""

    def __init__(
        self,
        access: Access,
        indexer: Indexer,
        arbitrators: Callable[[str], Arbitrator | None] = lambda _owner: None,
    ) -> None:
        """Use these; for an owner with no arbitrator, what would be asked is inserted."""
        self._access = access
        self._indexer = indexer
        self._arbitrators = arbitrators

    def settle(
        self,
        order: Order,
        along: Callable[[Transaction], Sequence[Draft]] | None = None,
    ) -> tuple[Memory, ...]:
        """Store an order's drafts, all or nothing; return what each has become.

        Args:
            order: What is to be stored.
            along: Called in the transaction, before anything else is written in it; returns
                which of the drafts are still to be stored.

        Raises:
            Conflict: A key is of a memory that is believed more than what is to be stored.
            StoreUnavailable: The store can't be written to; nothing was.
            ServiceFailed: The embedder failed; nothing was written.
        """
        return self.carry_out(order, along).memories

    @stepped("store")
    def carry_out(
        self,
        order: Order,
        along: Callable[[Transaction], Sequence[Draft]] | None = None,
    ) -> Settled:
        """Store an order's drafts as `settle` does; say which memories are new, too."""
        ready = Ready({Text(text): entry for text, entry in order.entries.items()})
        if missing := [text for text in texts_of(order) if text not in ready.entries]:
            self._make_ready(order, NotReady(missing), ready)
        for _ in range(ROUNDS):
            plan = self._prepared(order, ready) if order.drafts else None
            try:
                with self._access.store.write(order.owner_id) as tx:
                    settled = self._written(tx, order, along, plan, ready)
            except NotReady as missing:
                self._make_ready(order, missing, ready)
            else:
                return _counted(settled)
        with self._access.store.write(order.owner_id) as tx:
            settled = self._written(tx, order, along, None, ready, hurry=True)
        return _counted(settled)

    def _prepared(self, order: Order, ready: Ready) -> Plan:
        """Return a plan of the present state, with all that it needs made ready."""
        while True:
            try:
                with self._access.store.read(order.owner_id) as snapshot:
                    return Planning(
                        self._access, snapshot, order, ready, asks=self._asks(order)
                    ).plan()
            except NotReady as missing:
                self._make_ready(order, missing, ready)

    def _written(
        self,
        tx: Transaction,
        order: Order,
        along: Callable[[Transaction], Sequence[Draft]] | None,
        plan: Plan | None,
        ready: Ready,
        *,
        hurry: bool = False,
    ) -> Settled:
        drafts = order.drafts if along is None else tuple(along(tx))
        if plan is None or tx.counter != plan.counter or drafts != order.drafts:
            now = replace(order, drafts=drafts)
            plan = Planning(
                self._access, tx, now, ready, asks=self._asks(order), hurry=hurry
            ).plan()
        tx.adopt_profile(order.profile.name)
        for step in plan.steps:
            _write(tx, step)
        evict(tx, order.profile, order.now)
        new = frozenset(step.memory.id for step in plan.steps if step.how == "insert")
        return Settled(plan.memories, new)

    def _asks(self, order: Order) -> bool:
        return self._arbitrators(order.owner_id) is not None

    def _make_ready(self, order: Order, missing: NotReady, ready: Ready) -> None:
        if missing.texts:
            entries = self._indexer.entries(missing.texts, order.owner_id)
            for text, entry in zip(missing.texts, entries, strict=True):
                ready.entries[text] = entry
        if missing.pair is not None:
            ready.verdicts[missing.pair] = self._verdict(order.owner_id, *missing.pair)

    def _verdict(self, owner_id: str, known: str, new: str) -> Verdict | None:
        arbitrator = self._arbitrators(owner_id)
        if arbitrator is None:
            return None
        try:
            return arbitrator.arbitrate(known, new)
        except ServiceFailed as error:
            _log.warning("the arbitrator failed, both memories are kept: %s", error)
            return None


def _counted(settled: Settled) -> Settled:
    count("memories_stored", len(settled.new))
    return settled


def _write(tx: Transaction, step: Step) -> None:
    if step.how == "insert" and step.entry is not None:
        tx.insert([(step.memory, step.entry)])
        tx.link([Link(step.memory.id, near, "near") for near in step.near])
    elif step.how == "revise" and step.entry is not None:
        tx.revise(step.memory, step.entry)
    else:
        tx.amend(step.memory)
    tx.record([step.event])
