"""Deciding what becomes of new memories, and writing it, whoever else writes at the same time.

What takes long (embedding, asking an arbitrator) is done before the owner is locked. Under the
lock the decision stands if nobody has written meanwhile; else it is made again from what is ready,
and if that is not enough, the lock is given back. After three rounds what is new is inserted
beside what it is near to: never an error, never a loss.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from mnemon.domain.memories import Action, Event, Link, Memory, State
from mnemon.errors import Conflict, ServiceFailed
from mnemon.policies.merging import (
    Ask,
    Candidate,
    Discard,
    Insert,
    Neighbour,
    Replace,
    Restate,
    Rewrite,
    Verdict,
)
from mnemon.policies.trust import is_outranked, least_trusted
from mnemon.services.drafts import Draft, restated, together, told
from mnemon.services.indexing import Text, memory_text
from mnemon.services.maintain import evict
from mnemon.services.neighbourhood import Neighbourhood
from mnemon.services.vitality import aged

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from mnemon.policies.merging import Decision
    from mnemon.ports.arbitrator import Arbitrator
    from mnemon.ports.store import IndexEntry, Snapshot, Transaction
    from mnemon.profiles.model import Profile
    from mnemon.services.access import Access
    from mnemon.services.indexing import Indexer

ROUNDS = 3

IMPORTED = "import"
"""Who stores what stands in a file: what it says again, adding nothing, is no event."""

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Ready:
    """What was made ready outside the lock.

    Attributes:
        entries: Index entries of texts.
        verdicts: Answers by the known text and the new one; None: the arbitrator failed.
    """

    entries: dict[Text, IndexEntry] = field(default_factory=dict)
    verdicts: dict[tuple[str, str], Verdict | None] = field(default_factory=dict)


class _NotReady(Exception):
    def __init__(self, texts: Sequence[Text] = (), pair: tuple[str, str] | None = None) -> None:
        super().__init__()
        self.texts = texts
        self.pair = pair


@dataclass(frozen=True, slots=True)
class _Step:
    """One write: a memory as it is to be, and what says so."""

    how: str
    memory: Memory
    event: Event
    entry: IndexEntry | None = None
    near: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Plan:
    """What is written, and what became of each draft, as of a state of the owner."""

    counter: int
    steps: tuple[_Step, ...]
    memories: tuple[Memory, ...]


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be stored for whom.

    Attributes:
        drafts: The memories, in order, judged.
        now: When.
        by: Who asked, for the events.
        entries: Index entries that are made already, by the text, of texts with vectors.
    """

    owner_id: str
    profile: Profile
    drafts: tuple[Draft, ...]
    now: datetime
    by: str
    entries: Mapping[str, IndexEntry] = field(default_factory=dict)


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
        self, access: Access, indexer: Indexer, arbitrator: Arbitrator | None = None
    ) -> None:
        """Use these; with no arbitrator, what would be asked is inserted."""
        self._access = access
        self._indexer = indexer
        self._arbitrator = arbitrator

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

    def carry_out(
        self,
        order: Order,
        along: Callable[[Transaction], Sequence[Draft]] | None = None,
    ) -> Settled:
        """Store an order's drafts as `settle` does; say which memories are new, too."""
        ready = _Ready({Text(text): entry for text, entry in order.entries.items()})
        if missing := [text for text in _texts(order) if text not in ready.entries]:
            self._make_ready(order, _NotReady(missing), ready)
        for _ in range(ROUNDS):
            plan = self._prepared(order, ready)
            try:
                with self._access.store.write(order.owner_id) as tx:
                    return self._written(tx, order, along, plan, ready)
            except _NotReady as missing:
                self._make_ready(order, missing, ready)
        with self._access.store.write(order.owner_id) as tx:
            return self._written(tx, order, along, None, ready, hurry=True)

    def _prepared(self, order: Order, ready: _Ready) -> _Plan:
        """Return a plan of the present state, with all that it needs made ready."""
        while True:
            try:
                with self._access.store.read(order.owner_id) as snapshot:
                    return _Planning(self._access, snapshot, order, ready, asks=self._asks).plan()
            except _NotReady as missing:
                self._make_ready(order, missing, ready)

    def _written(
        self,
        tx: Transaction,
        order: Order,
        along: Callable[[Transaction], Sequence[Draft]] | None,
        plan: _Plan | None,
        ready: _Ready,
        *,
        hurry: bool = False,
    ) -> Settled:
        drafts = order.drafts if along is None else tuple(along(tx))
        if plan is None or tx.counter != plan.counter or drafts != order.drafts:
            now = replace(order, drafts=drafts)
            plan = _Planning(self._access, tx, now, ready, asks=self._asks, hurry=hurry).plan()
        tx.adopt_profile(order.profile.name)
        for step in plan.steps:
            _write(tx, step)
        evict(tx, order.profile, order.now)
        new = frozenset(step.memory.id for step in plan.steps if step.how == "insert")
        return Settled(plan.memories, new)

    @property
    def _asks(self) -> bool:
        return self._arbitrator is not None

    def _make_ready(self, order: Order, missing: _NotReady, ready: _Ready) -> None:
        if missing.texts:
            with self._access.store.read(order.owner_id) as known:
                entries = self._indexer.entries(missing.texts, known)
            for text, entry in zip(missing.texts, entries, strict=True):
                ready.entries[text] = entry
        if missing.pair is not None:
            ready.verdicts[missing.pair] = self._verdict(*missing.pair)

    def _verdict(self, known: str, new: str) -> Verdict | None:
        if self._arbitrator is None:
            return None
        try:
            return self._arbitrator.arbitrate(known, new)
        except ServiceFailed as error:
            _log.warning("the arbitrator failed, both memories are kept: %s", error)
            return None


class _Planning:
    """Makes one plan: of one state, with what is ready."""

    def __init__(
        self,
        access: Access,
        snapshot: Snapshot,
        order: Order,
        ready: _Ready,
        *,
        asks: bool,
        hurry: bool = False,
    ) -> None:
        self._access = access
        self._order = order
        self._ready = ready
        self._asks = asks
        self._hurry = hurry
        self._around = Neighbourhood(snapshot, order.profile, order.now)
        self._counter = snapshot.counter
        self._steps: list[_Step] = []

    def plan(self) -> _Plan:
        """Return the plan.

        Raises:
            _NotReady: A decision needs what is not ready.
        """
        self._require(_texts(self._order))
        memories = [self._settled(draft) for draft in self._order.drafts]
        latest = {step.memory.id: step.memory for step in self._steps}
        final = tuple(latest.get(memory.id, memory) for memory in memories)
        return _Plan(self._counter, tuple(self._steps), final)

    def _settled(self, draft: Draft) -> Memory:
        keyed = self._around.by_key(draft.key)
        if keyed is not None and keyed.content != draft.content:
            self._check_may_say(keyed, draft)
            return self._rewrite_keyed(keyed, draft)
        if keyed is not None:
            return self._restate(keyed, draft)
        return self._carry_out(self._decision(draft), draft)

    def _check_may_say(self, keyed: Memory, draft: Draft) -> None:
        """Refuse to let a key say something that is believed less than what it says now."""
        ended = keyed.expires_at is not None and keyed.expires_at <= self._order.now
        if is_outranked(draft.origin, by=keyed.origin) and not ended:
            raise Conflict(
                f"memory {keyed.id} has that key and comes from {keyed.origin}, which"
                f" {draft.origin} can't replace: use another key"
            )

    def _decision(self, draft: Draft) -> Decision:
        merging = self._order.profile.merging
        entry = self._entry(draft.content, draft.kind, draft.key)
        same = self._around.same(entry, draft.key)
        if draft.key is not None:
            # It would get a key that is not its own, and be out of reach of whoever gave it.
            same = [one for one in same if one.key or not self._outranked(draft, one.id)]
        nearest = self._around.nearest(entry, draft.key) if merging.by_similarity else None
        candidate = Candidate(draft.content, draft.kind, draft.weight, draft.tags, draft.key)
        decision = merging.decide(candidate, same, nearest)
        if isinstance(decision, Ask):
            decision = self._answered(candidate, nearest)
        if isinstance(decision, Rewrite | Replace) and self._outranked(draft, decision.id):
            known = (one.id for one in same if one.state is State.ACTIVE)
            return Restate(decision.id) if decision.id in known else Insert()
        return decision

    def _outranked(self, draft: Draft, id_: str) -> bool:
        """Tell whether what is known is believed more than what would take its place."""
        return is_outranked(draft.origin, by=self._around.memory(id_).origin)

    def _answered(self, candidate: Candidate, nearest: Neighbour | None) -> Decision:
        if nearest is None or not self._asks:
            return Insert()
        pair = (nearest.memory.content, candidate.content)
        if pair not in self._ready.verdicts:
            if self._hurry:
                return Insert()
            raise _NotReady(pair=pair)
        verdict = self._ready.verdicts[pair]
        if verdict is None:
            return Insert()
        return self._order.profile.merging.settle(candidate, nearest.memory, verdict)

    def _carry_out(self, decision: Decision, draft: Draft) -> Memory:
        match decision:
            case Restate(id_):
                return self._restate(self._around.memory(id_), draft)
            case Rewrite(id_) if self._is_ready(self._rewritten(decision, draft)):
                return self._rewrite(self._around.memory(id_), draft, decision)
            case Discard(id_):
                return self._around.memory(id_)
            case Replace(id_):
                new = self._insert(draft)
                self._retire(self._around.memory(id_), new, draft)
                return new
            case _:
                return self._insert(draft)

    def _insert(self, draft: Draft) -> Memory:
        order = self._order
        entry = self._entry(draft.content, draft.kind, draft.key)
        memory = Memory(
            id=self._access.new_id(order.now),
            owner_id=order.owner_id,
            kind=draft.kind,
            content=draft.content,
            created_at=order.now,
            updated_at=order.now,
            key=draft.key,
            tags=draft.tags,
            importance=draft.weight,
            happened_at=draft.happened_at,
            expires_at=draft.expires_at or self._default_end(draft.kind),
            session_id=draft.session_id,
            sources=draft.sources,
            origin=draft.origin,
        )
        near = self._around.near(entry)
        self._step("insert", memory, Action.REMEMBERED, draft, entry, near)
        return memory

    def _rewrite_keyed(self, old: Memory, draft: Draft) -> Memory:
        """Let a key say something else."""
        memory = replace(
            old,
            kind=draft.kind,
            content=draft.content,
            summary=None,
            tags=draft.tags or old.tags,
            importance=draft.weight,
            happened_at=draft.happened_at,
            expires_at=draft.expires_at or self._default_end(draft.kind),
            session_id=draft.session_id,
            sources=draft.sources,
            origin=draft.origin,
            updated_at=self._order.now,
            version=old.version + 1,
        )
        entry = self._entry(draft.content, draft.kind, draft.key)
        self._step("revise", memory, Action.UPDATED, draft, entry)
        return memory

    def _rewrite(self, old: Memory, draft: Draft, decision: Rewrite) -> Memory:
        """Let a memory say what it and a new one say together, active in any case."""
        revived = {} if old.state is State.ACTIVE else {"was": old.state.value}
        is_whole = decision.content == draft.content
        is_reworded = decision.content != old.content or old.state is not State.ACTIVE
        memory = replace(
            old,
            kind=decision.kind,
            key=old.key or draft.key,
            content=decision.content,
            summary=None if is_reworded else old.summary,
            tags=decision.tags,
            importance=decision.importance,
            happened_at=draft.happened_at or old.happened_at,
            expires_at=self._new_end(old, draft, decision.kind),
            state=State.ACTIVE,
            superseded_by=None,
            session_id=draft.session_id or old.session_id,
            sources=together(old, draft),
            origin=draft.origin if is_whole else least_trusted(old.origin, draft.origin),
            updated_at=self._order.now,
            version=old.version + is_reworded,
        )
        if not is_reworded:
            self._step("amend", memory, Action.UPDATED, draft)
            return memory
        entry = self._ready.entries[self._rewritten(decision, draft)]
        self._step("revise", memory, Action.UPDATED, draft, entry, details=revived)
        return memory

    def _restate(self, known: Memory, draft: Draft) -> Memory:
        memory = restated(known, draft)
        if self._order.by == IMPORTED and memory == known:
            return known
        memory = replace(memory, updated_at=self._order.now)
        text = self._text(memory.content, memory.kind, memory.key)
        if text != self._text(known.content, known.kind, known.key) and self._is_ready(text):
            memory = replace(memory, version=known.version + 1)
            self._step("revise", memory, Action.RESTATED, draft, self._ready.entries[text])
        else:
            self._step("amend", memory, Action.RESTATED, draft)
        return memory

    def _retire(self, old: Memory, new: Memory, draft: Draft) -> None:
        memory = replace(
            old, state=State.SUPERSEDED, superseded_by=new.id, updated_at=self._order.now
        )
        self._step("amend", memory, Action.SUPERSEDED, draft, details={"by": new.id})

    def _step(
        self,
        how: str,
        memory: Memory,
        action: Action,
        draft: Draft,
        entry: IndexEntry | None = None,
        near: tuple[str, ...] = (),
        details: dict[str, str] | None = None,
    ) -> None:
        order = self._order
        (memory,) = aged(order.profile, [memory], order.now)
        known = {**told(draft.redactions), **(details or {})}
        event = Event(memory.id, action, order.now, order.by, memory.version, known)
        self._steps.append(_Step(how, memory, event, entry, near))
        self._around.note(memory, entry)

    def _default_end(self, kind: str) -> datetime | None:
        lasting = self._order.profile.lasting.get(kind)
        return None if lasting is None else self._order.now + lasting

    def _new_end(self, old: Memory, draft: Draft, kind: str) -> datetime | None:
        """Return when a rewritten memory ends: as said now, or once said, else its kind's time."""
        if draft.expires_at is not None:
            return draft.expires_at
        lasting = self._order.profile.lasting.get(old.kind)
        given = lasting is None or old.expires_at != old.updated_at + lasting
        if given and old.expires_at is not None and old.expires_at > self._order.now:
            return old.expires_at
        return self._default_end(kind)

    def _text(self, content: str, kind: str, key: str | None) -> Text:
        return memory_text(self._order.profile, content, kind, key)

    def _rewritten(self, decision: Rewrite, draft: Draft) -> Text:
        key = self._around.memory(decision.id).key or draft.key
        return self._text(decision.content, decision.kind, key)

    def _is_ready(self, text: Text) -> bool:
        """Tell whether a text can be written now; where there is time, wait for it."""
        if text in self._ready.entries:
            return True
        if self._hurry:
            return False
        raise _NotReady([text])

    def _require(self, texts: Sequence[Text]) -> None:
        missing = [text for text in texts if text not in self._ready.entries]
        if missing:
            raise _NotReady(missing)

    def _entry(self, content: str, kind: str, key: str | None) -> IndexEntry:
        return self._ready.entries[self._text(content, kind, key)]


def _texts(order: Order) -> list[Text]:
    """Return the texts of an order's drafts, as its profile indexes them."""
    return [
        memory_text(order.profile, draft.content, draft.kind, draft.key) for draft in order.drafts
    ]


def _write(tx: Transaction, step: _Step) -> None:
    if step.how == "insert" and step.entry is not None:
        tx.insert([(step.memory, step.entry)])
        tx.link([Link(step.memory.id, near, "near") for near in step.near])
    elif step.how == "revise" and step.entry is not None:
        tx.revise(step.memory, step.entry)
    else:
        tx.amend(step.memory)
    tx.record([step.event])
