"""Planning what becomes of new memories: what is written, as of one state of the owner."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from memolith.domain.items import Trait
from memolith.domain.memories import Action, Event, Memory, State
from memolith.errors import Conflict
from memolith.policies.merging import (
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
from memolith.policies.trust import is_outranked, least_trusted
from memolith.services.drafts import Draft, restated, together, told
from memolith.services.indexing import Text, memory_text
from memolith.services.neighbourhood import Neighbourhood
from memolith.services.vitality import aged

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from memolith.policies.merging import Decision
    from memolith.ports.store import IndexEntry, Snapshot
    from memolith.profiles.model import Profile
    from memolith.services.access import Access

IMPORTED = "import"
"""Who stores what stands in a file: what it says again, adding nothing, is no event."""


@dataclass(slots=True)
class Ready:
    """What was made ready outside the lock.

    Attributes:
        entries: Index entries of texts.
        verdicts: Answers by the known text and the new one; None: the arbitrator failed.
    """

    entries: dict[Text, IndexEntry] = field(default_factory=dict)
    verdicts: dict[tuple[str, str], Verdict | None] = field(default_factory=dict)


class NotReady(Exception):
    """No error: a decision waits for texts to be indexed, or for an arbitrator's answer."""

    def __init__(self, texts: Sequence[Text] = (), pair: tuple[str, str] | None = None) -> None:
        super().__init__()
        self.texts = texts
        self.pair = pair


@dataclass(frozen=True, slots=True)
class Step:
    """One write: a memory as it is to be, and what says so."""

    how: str
    memory: Memory
    event: Event
    entry: IndexEntry | None = None
    near: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """What is written, and what became of each draft, as of a state of the owner."""

    counter: int
    steps: tuple[Step, ...]
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


class Planning:
    """Makes one plan: of one state, with what is ready."""

    def __init__(
        self,
        access: Access,
        snapshot: Snapshot,
        order: Order,
        ready: Ready,
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
        self._steps: list[Step] = []

    def plan(self) -> Plan:
        """Return the plan.

        Raises:
            NotReady: A decision needs what is not ready.
        """
        self._require(texts_of(self._order))
        memories = [self._settled(draft) for draft in self._order.drafts]
        latest = {step.memory.id: step.memory for step in self._steps}
        final = tuple(latest.get(memory.id, memory) for memory in memories)
        return Plan(self._counter, tuple(self._steps), final)

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
        candidate = self._candidate(draft)
        decision = merging.decide(candidate, same, nearest)
        if isinstance(decision, Insert):
            decision = self._arbitrated(candidate, entry)
        if isinstance(decision, Ask):
            decision = self._answered(candidate, nearest)
        if isinstance(decision, Rewrite | Replace | Discard) and not self._may(decision, draft):
            known = (one.id for one in same if one.state is State.ACTIVE)
            return Restate(decision.id) if decision.id in known else Insert()
        return decision

    def _candidate(self, draft: Draft) -> Candidate:
        # In which order the lines of a file were said is not known.
        told_at = None if self._order.by == IMPORTED else self._order.now
        return Candidate(
            draft.content,
            draft.kind,
            draft.weight,
            draft.tags,
            draft.key,
            origin=draft.origin,
            said_at=draft.happened_at or told_at,
            ends=draft.expires_at is not None,
        )

    def _arbitrated(self, candidate: Candidate, entry: IndexEntry) -> Decision:
        """Return what becomes of what is new, by what it says of what is known."""
        arbiter = self._order.profile.arbiter
        if arbiter is None or entry.features.traits & Trait.SUSPICIOUS:
            return Insert()
        ways = arbiter.ways(candidate)
        rivals = self._around.rivals(ways) if ways else []
        return arbiter.decide(candidate, rivals) if rivals else Insert()

    def _may(self, decision: Rewrite | Replace | Discard, draft: Draft) -> bool:
        """Tell whether a draft may do to what is known what was decided.

        Nothing gives way to what is believed less; nor are words of the one kind mixed with those
        of the other, for they would all be believed as little. What tries to instruct a model, or
        rests on what does, changes nothing.
        """
        if isinstance(decision, Discard):
            return not is_outranked(self._around.memory(decision.id).origin, by=draft.origin)
        others = decision.others if isinstance(decision, Replace) else ()
        if any(self._outranked(draft, id_) for id_ in (decision.id, *others)):
            return False
        if isinstance(decision, Rewrite) and decision.content != draft.content:
            known = self._around.memory(decision.id)
            if is_outranked(known.origin, by=draft.origin):
                return False
        entry = self._entry(draft.content, draft.kind, draft.key)
        return draft.alters and not entry.features.traits & Trait.SUSPICIOUS

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
            raise NotReady(pair=pair)
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
                for old in (id_, *decision.others):
                    self._retire(self._around.memory(old), new, draft, decision.why)
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

    def _retire(self, old: Memory, new: Memory, draft: Draft, why: str) -> None:
        memory = replace(
            old, state=State.SUPERSEDED, superseded_by=new.id, updated_at=self._order.now
        )
        details = {"by": new.id, **({"why": why} if why else {})}
        self._step("amend", memory, Action.SUPERSEDED, draft, details=details)

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
        self._steps.append(Step(how, memory, event, entry, near))
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
        raise NotReady([text])

    def _require(self, texts: Sequence[Text]) -> None:
        missing = [text for text in texts if text not in self._ready.entries]
        if missing:
            raise NotReady(missing)

    def _entry(self, content: str, kind: str, key: str | None) -> IndexEntry:
        return self._ready.entries[self._text(content, kind, key)]


def texts_of(order: Order) -> list[Text]:
    """Return the texts of an order's drafts, as its profile indexes them."""
    return [
        memory_text(order.profile, draft.content, draft.kind, draft.key) for draft in order.drafts
    ]
