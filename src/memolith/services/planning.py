"""Plans writes: decides whether new memories are inserted, merged, or replace others.

A plan holds for one state of the owner. It needs index entries and verdicts, which are prepared
outside the lock.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from memolith.domain.memories import Action, Event, Memory, State, Trait
from memolith.errors import Conflict
from memolith.policies.merging import (
    AskArbitrator,
    Candidate,
    Decision,
    Discard,
    Insert,
    Replace,
    Restate,
    Rewrite,
    SimilarMemory,
    Verdict,
)
from memolith.policies.trust import get_least_trusted, is_outranked
from memolith.ports.store import IndexEntry, Snapshot
from memolith.profiles.model import Profile
from memolith.services.access import Access
from memolith.services.indexing import IndexText, memory_text
from memolith.services.maintenance import refresh_strengths
from memolith.services.similar import SimilarMemories
from memolith.services.validation import (
    NewMemory,
    merge_restatement,
    merge_sources,
    redaction_details,
)

IMPORT_ACTOR = "import"
"""The actor of imports: a restatement that adds nothing is not recorded as an event."""


@dataclass(slots=True)
class PreparedInputs:
    """Inputs of a plan, prepared outside the lock.

    Attributes:
        entries: Index entries by text.
        verdicts: Verdicts by existing and new text; None: the arbitrator failed.
    """

    entries: dict[IndexText, IndexEntry] = field(default_factory=dict)
    verdicts: dict[tuple[str, str], Verdict | None] = field(default_factory=dict)


class NeedsInput(Exception):
    """Control flow, not an error: a decision needs index entries or an arbitrator's verdict."""

    def __init__(
        self, texts: Sequence[IndexText] = (), pair: tuple[str, str] | None = None
    ) -> None:
        super().__init__()
        self.texts = texts
        self.pair = pair


@dataclass(frozen=True, slots=True)
class Mutation:
    """One write: the new state of a memory, and its event."""

    operation: str
    memory: Memory
    event: Event
    entry: IndexEntry | None = None
    near_duplicates: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """The mutations to apply, and the memory that each new one results in."""

    counter: int
    mutations: tuple[Mutation, ...]
    memories: tuple[Memory, ...]


@dataclass(frozen=True, slots=True)
class WriteRequest:
    """A request to store new memories.

    Attributes:
        owner_id: The owner.
        profile: The owner's profile.
        new_memories: The memories in order, classified.
        now: The time of the write.
        actor: Recorded in events.
        entries: Prepared index entries with vectors, by text.
    """

    owner_id: str
    profile: Profile
    new_memories: tuple[NewMemory, ...]
    now: datetime
    actor: str
    entries: Mapping[str, IndexEntry] = field(default_factory=dict)


class Planner:
    """Builds a plan for one state of the owner from prepared inputs."""

    def __init__(
        self,
        access: Access,
        snapshot: Snapshot,
        request: WriteRequest,
        prepared: PreparedInputs,
        *,
        has_arbitrator: bool,
        skip_model: bool = False,
    ) -> None:
        self._access = access
        self._request = request
        self._prepared = prepared
        self._has_arbitrator = has_arbitrator
        self._skip_model = skip_model
        self._similar = SimilarMemories(snapshot, request.profile, request.now)
        self._counter = snapshot.counter
        self._mutations: list[Mutation] = []

    def plan(self) -> Plan:
        """Return the plan.

        Raises:
            NeedsInput: A decision needs an input that is not prepared.
        """
        self._require_entries(index_texts(self._request))
        memories = [self._plan_memory(new_memory) for new_memory in self._request.new_memories]
        latest = {mutation.memory.id: mutation.memory for mutation in self._mutations}
        final = tuple(latest.get(memory.id, memory) for memory in memories)
        return Plan(self._counter, tuple(self._mutations), final)

    def _plan_memory(self, new_memory: NewMemory) -> Memory:
        keyed = self._similar.find_by_key(new_memory.key)
        if keyed is not None and keyed.content != new_memory.content:
            self._check_may_replace_key(keyed, new_memory)
            return self._rewrite_keyed(keyed, new_memory)
        if keyed is not None:
            return self._restate(keyed, new_memory)
        return self._apply_decision(self._decide(new_memory), new_memory)

    def _check_may_replace_key(self, keyed: Memory, new_memory: NewMemory) -> None:
        """Refuse to replace the content of a key by less trusted content."""
        ended = keyed.expires_at is not None and keyed.expires_at <= self._request.now
        if is_outranked(new_memory.origin, by=keyed.origin) and not ended:
            raise Conflict(
                f"memory {keyed.id} has that key and comes from {keyed.origin}, which"
                f" {new_memory.origin} can't replace: use another key"
            )

    def _decide(self, new_memory: NewMemory) -> Decision:
        merging = self._request.profile.merging
        entry = self._get_entry(new_memory.content, new_memory.kind, new_memory.key)
        same = self._similar.find_exact_duplicates(entry, new_memory.key)
        if new_memory.key is not None:
            # A more trusted memory must not adopt the key: the key's author could not change it.
            same = [one for one in same if one.key or not self._is_outranked(new_memory, one.id)]
        nearest = (
            self._similar.find_nearest(entry, new_memory.key) if merging.uses_similarity else None
        )
        candidate = self._build_candidate(new_memory)
        decision = merging.decide(candidate, same, nearest)
        if isinstance(decision, Insert):
            decision = self._decide_supersession(candidate, entry)
        if isinstance(decision, AskArbitrator):
            decision = self._decide_by_arbitration(candidate, nearest)
        if isinstance(decision, Rewrite | Replace | Discard) and not self._is_allowed(
            decision, new_memory
        ):
            active_ids = (one.id for one in same if one.state is State.ACTIVE)
            return Restate(decision.id) if decision.id in active_ids else Insert()
        return decision

    def _build_candidate(self, new_memory: NewMemory) -> Candidate:
        # The order in which an import's memories were stated is unknown.
        stated_at = None if self._request.actor == IMPORT_ACTOR else self._request.now
        return Candidate(
            new_memory.content,
            new_memory.kind,
            new_memory.effective_importance,
            new_memory.tags,
            new_memory.key,
            origin=new_memory.origin,
            stated_at=new_memory.happened_at or stated_at,
            has_expiry=new_memory.expires_at is not None,
        )

    def _decide_supersession(self, candidate: Candidate, entry: IndexEntry) -> Decision:
        """Return whether the new memory supersedes or restates existing ones."""
        arbiter = self._request.profile.supersession
        if arbiter is None or entry.features.traits & Trait.SUSPICIOUS:
            return Insert()
        groups = arbiter.find_search_groups(candidate)
        candidates = self._similar.find_supersession_candidates(groups) if groups else []
        return arbiter.decide(candidate, candidates) if candidates else Insert()

    def _is_allowed(self, decision: Rewrite | Replace | Discard, new_memory: NewMemory) -> bool:
        """Return whether a new memory may change existing ones as decided.

        Less trusted content never replaces more trusted content. Content of different trust is not
        merged, because the result would have the lower trust. Suspected prompt injections, and
        memories derived from them, change nothing.
        """
        if isinstance(decision, Discard):
            return not is_outranked(
                self._similar.get_memory(decision.id).origin, by=new_memory.origin
            )
        others = decision.other_ids if isinstance(decision, Replace) else ()
        if any(self._is_outranked(new_memory, id_) for id_ in (decision.id, *others)):
            return False
        if isinstance(decision, Rewrite) and decision.content != new_memory.content:
            existing = self._similar.get_memory(decision.id)
            if is_outranked(existing.origin, by=new_memory.origin):
                return False
        entry = self._get_entry(new_memory.content, new_memory.kind, new_memory.key)
        return new_memory.may_change_existing and not entry.features.traits & Trait.SUSPICIOUS

    def _is_outranked(self, new_memory: NewMemory, id_: str) -> bool:
        """Return whether an existing memory is more trusted than its replacement."""
        return is_outranked(new_memory.origin, by=self._similar.get_memory(id_).origin)

    def _decide_by_arbitration(
        self, candidate: Candidate, nearest: SimilarMemory | None
    ) -> Decision:
        if nearest is None or not self._has_arbitrator:
            return Insert()
        pair = (nearest.memory.content, candidate.content)
        if pair not in self._prepared.verdicts:
            if self._skip_model:
                return Insert()
            raise NeedsInput(pair=pair)
        verdict = self._prepared.verdicts[pair]
        if verdict is None:
            return Insert()
        return self._request.profile.merging.apply_verdict(candidate, nearest.memory, verdict)

    def _apply_decision(self, decision: Decision, new_memory: NewMemory) -> Memory:
        match decision:
            case Restate(id_):
                return self._restate(self._similar.get_memory(id_), new_memory)
            case Rewrite(id_) if self._is_ready(self._rewritten_text(decision, new_memory)):
                return self._rewrite(self._similar.get_memory(id_), new_memory, decision)
            case Discard(id_):
                return self._similar.get_memory(id_)
            case Replace(id_):
                inserted = self._insert(new_memory)
                for old in (id_, *decision.other_ids):
                    self._supersede(
                        self._similar.get_memory(old), inserted, new_memory, decision.reason
                    )
                return inserted
            case _:
                return self._insert(new_memory)

    def _insert(self, new_memory: NewMemory) -> Memory:
        request = self._request
        entry = self._get_entry(new_memory.content, new_memory.kind, new_memory.key)
        memory = Memory(
            id=self._access.new_id(request.now),
            owner_id=request.owner_id,
            kind=new_memory.kind,
            content=new_memory.content,
            created_at=request.now,
            updated_at=request.now,
            key=new_memory.key,
            tags=new_memory.tags,
            importance=new_memory.effective_importance,
            happened_at=new_memory.happened_at,
            expires_at=new_memory.expires_at or self._default_expiry(new_memory.kind),
            session_id=new_memory.session_id,
            sources=new_memory.sources,
            origin=new_memory.origin,
        )
        near_duplicates = self._similar.find_near_duplicates(entry)
        self._add_mutation("insert", memory, Action.REMEMBERED, new_memory, entry, near_duplicates)
        return memory

    def _rewrite_keyed(self, old: Memory, new_memory: NewMemory) -> Memory:
        """Replace the content of a key."""
        memory = replace(
            old,
            kind=new_memory.kind,
            content=new_memory.content,
            summary=None,
            tags=new_memory.tags or old.tags,
            importance=new_memory.effective_importance,
            happened_at=new_memory.happened_at,
            expires_at=new_memory.expires_at or self._default_expiry(new_memory.kind),
            session_id=new_memory.session_id,
            sources=new_memory.sources,
            origin=new_memory.origin,
            updated_at=self._request.now,
            version=old.version + 1,
        )
        entry = self._get_entry(new_memory.content, new_memory.kind, new_memory.key)
        self._add_mutation("revise", memory, Action.UPDATED, new_memory, entry)
        return memory

    def _rewrite(self, old: Memory, new_memory: NewMemory, decision: Rewrite) -> Memory:
        """Replace a memory's content by the merged one; reactivate the memory if necessary."""
        state_details = {} if old.state is State.ACTIVE else {"was": old.state.value}
        is_replacement = decision.content == new_memory.content
        is_reworded = decision.content != old.content or old.state is not State.ACTIVE
        memory = replace(
            old,
            kind=decision.kind,
            key=old.key or new_memory.key,
            content=decision.content,
            summary=None if is_reworded else old.summary,
            tags=decision.tags,
            importance=decision.importance,
            happened_at=new_memory.happened_at or old.happened_at,
            expires_at=self._rewritten_expiry(old, new_memory, decision.kind),
            state=State.ACTIVE,
            superseded_by=None,
            session_id=new_memory.session_id or old.session_id,
            sources=merge_sources(old, new_memory),
            origin=new_memory.origin
            if is_replacement
            else get_least_trusted(old.origin, new_memory.origin),
            updated_at=self._request.now,
            version=old.version + is_reworded,
        )
        if not is_reworded:
            self._add_mutation("amend", memory, Action.UPDATED, new_memory)
            return memory
        entry = self._prepared.entries[self._rewritten_text(decision, new_memory)]
        self._add_mutation(
            "revise", memory, Action.UPDATED, new_memory, entry, details=state_details
        )
        return memory

    def _restate(self, existing: Memory, new_memory: NewMemory) -> Memory:
        memory = merge_restatement(existing, new_memory)
        if self._request.actor == IMPORT_ACTOR and memory == existing:
            return existing
        memory = replace(memory, updated_at=self._request.now)
        text = self._index_text(memory.content, memory.kind, memory.key)
        if text != self._index_text(
            existing.content, existing.kind, existing.key
        ) and self._is_ready(text):
            memory = replace(memory, version=existing.version + 1)
            self._add_mutation(
                "revise", memory, Action.RESTATED, new_memory, self._prepared.entries[text]
            )
        else:
            self._add_mutation("amend", memory, Action.RESTATED, new_memory)
        return memory

    def _supersede(self, old: Memory, new: Memory, new_memory: NewMemory, reason: str) -> None:
        memory = replace(
            old, state=State.SUPERSEDED, superseded_by=new.id, updated_at=self._request.now
        )
        details = {"by": new.id, **({"why": reason} if reason else {})}
        self._add_mutation("amend", memory, Action.SUPERSEDED, new_memory, details=details)

    def _add_mutation(
        self,
        operation: str,
        memory: Memory,
        action: Action,
        new_memory: NewMemory,
        entry: IndexEntry | None = None,
        near_duplicates: tuple[str, ...] = (),
        details: dict[str, str] | None = None,
    ) -> None:
        request = self._request
        (memory,) = refresh_strengths(request.profile, [memory], request.now)
        event_details = {**redaction_details(new_memory.redactions), **(details or {})}
        event = Event(memory.id, action, request.now, request.actor, memory.version, event_details)
        self._mutations.append(Mutation(operation, memory, event, entry, near_duplicates))
        self._similar.add_planned(memory, entry)

    def _default_expiry(self, kind: str) -> datetime | None:
        lifetime = self._request.profile.lifetimes.get(kind)
        return None if lifetime is None else self._request.now + lifetime

    def _rewritten_expiry(self, old: Memory, new_memory: NewMemory, kind: str) -> datetime | None:
        """Return the expiry of a rewritten memory: the new or old explicit one, else the kind's."""
        if new_memory.expires_at is not None:
            return new_memory.expires_at
        lifetime = self._request.profile.lifetimes.get(old.kind)
        is_explicit = lifetime is None or old.expires_at != old.updated_at + lifetime
        if is_explicit and old.expires_at is not None and old.expires_at > self._request.now:
            return old.expires_at
        return self._default_expiry(kind)

    def _index_text(self, content: str, kind: str, key: str | None) -> IndexText:
        return memory_text(self._request.profile, content, kind, key)

    def _rewritten_text(self, decision: Rewrite, new_memory: NewMemory) -> IndexText:
        key = self._similar.get_memory(decision.id).key or new_memory.key
        return self._index_text(decision.content, decision.kind, key)

    def _is_ready(self, text: IndexText) -> bool:
        """Return whether a text is indexed; raise `NeedsInput` unless the plan must not wait."""
        if text in self._prepared.entries:
            return True
        if self._skip_model:
            return False
        raise NeedsInput([text])

    def _require_entries(self, texts: Sequence[IndexText]) -> None:
        missing = [text for text in texts if text not in self._prepared.entries]
        if missing:
            raise NeedsInput(missing)

    def _get_entry(self, content: str, kind: str, key: str | None) -> IndexEntry:
        return self._prepared.entries[self._index_text(content, kind, key)]


def index_texts(request: WriteRequest) -> list[IndexText]:
    """Return the texts of a request's memories, as the profile indexes them."""
    return [
        memory_text(request.profile, new_memory.content, new_memory.kind, new_memory.key)
        for new_memory in request.new_memories
    ]
