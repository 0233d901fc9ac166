"""Everything of an owner, out of one store and into another, unchanged."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, TypeGuard

from memolith.domain.memories import Action, Memory, State
from memolith.domain.messages import Message
from memolith.errors import InvalidInput
from memolith.exchange.jsonl import Remembered
from memolith.exchange.records import Chronicle, Document, Ending, Record
from memolith.policies import arguments
from memolith.policies.kinds import kind_in, with_kept
from memolith.policies.trust import is_outranked
from memolith.services.base_memory import all_shown
from memolith.services.drafts import drafted
from memolith.services.indexing import Text, in_window, memory_text, message_text, without_key
from memolith.services.paging import all_memories
from memolith.services.planning import IMPORTED, Order
from memolith.services.received import checked, taken_out
from memolith.services.references import missing, rejoin, stand_for_sources, summaries, without

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

    from memolith.ports.store import IndexEntry, Snapshot, Transaction
    from memolith.profiles.model import Profile
    from memolith.services.access import Access
    from memolith.services.drafts import Draft
    from memolith.services.indexing import Indexer
    from memolith.services.settling import Settling


@dataclass(frozen=True, slots=True)
class Taken:
    """What an import has brought.

    Attributes:
        messages: How many messages are new.
        memories: How many memories are new.
        already: How many of both were there before, by their ids.
        unkeyed: Ids of memories that lost their key, as another one has it here.
        redactions: How many secrets were taken out of what is new.
    """

    messages: int = 0
    memories: int = 0
    already: int = 0
    unkeyed: tuple[str, ...] = ()
    redactions: int = 0

    def __add__(self, other: Taken) -> Taken:
        """Return both together."""
        return Taken(
            self.messages + other.messages,
            self.memories + other.memories,
            self.already + other.already,
            self.unkeyed + other.unkeyed,
            self.redactions + other.redactions,
        )


class Transferring:
    """Gives and takes everything of an owner."""

    def __init__(self, access: Access, indexer: Indexer, settling: Settling) -> None:
        """Use these."""
        self._access = access
        self._indexer = indexer
        self._settling = settling

    def records(self, owner_id: str) -> Iterator[Record]:
        """Yield all messages, ends of sessions and memories, as of one instant.

        Messages by session in their order, then memories oldest first. What is forgotten is left
        out: memories, messages, and sentences of messages.
        """
        with self._access.store.read(owner_id) as snapshot:
            for session in snapshot.sessions():
                yield from snapshot.messages(session_id=session.id)
                if session.ended_at is not None:
                    yield Ending(session.id, session.ended_at)
            if documents := all_shown(snapshot):
                yield Document(
                    tuple((each.content, each.valid_from) for each in documents if each.content)
                )
            for memory in reversed(list(all_memories(snapshot, frozenset(State)))):
                history = snapshot.history(memory.id)
                if history is not None and memory.state is not State.FORGOTTEN:
                    yield Chronicle(memory, history)

    def take(self, owner_id: str, records: Sequence[Record | Remembered]) -> Taken:
        """Store records as they are, but for what is there already: all of them or none.

        Messages keep ids and times and are not learned from again. A memory whose key another
        one has here comes without it, and so does one whose successor is nowhere: given again when
        that is there, it has it. Memories without a history come in a call of their own;
        one that says what is there adds nothing, and neither does one that the memory of its key
        said before.

        Raises:
            Disabled: Memory is switched off.
            InvalidInput: A record can't be taken; the field says which.
        """
        self._access.check_enabled()
        given = arguments.several(records, "records")
        told = [each for each in given if _has_no_history(each)]
        if told:
            return self._take_told(owner_id, told, given)
        profile = self._access.profile(owner_id)
        taking = checked(given, max_memory_chars=profile.max_memory_chars)
        redactions = taken_out(given, taking)
        messages = [each for each in taking if isinstance(each, Message)]
        profiles = tuple(self._access.profiles.values())
        chronicles = [
            _of_profile(each, profile, profiles) for each in taking if isinstance(each, Chronicle)
        ]
        entries = iter(self._indexer.entries(_texts(profile, messages, chronicles), owner_id))
        indexed = [(message, next(entries)) for message in messages]
        versions = [(each, [next(entries) for _ in each.history.versions]) for each in chronicles]
        with self._access.store.write(owner_id) as tx:
            tx.adopt_profile(profile.name)
            taken = self._take_messages(tx, indexed, redactions)
            for record in taking:
                if isinstance(record, Document):
                    _take_document(tx, record)
                if isinstance(record, Ending):
                    tx.end_session(record.session_id, record.at)
            taken += _take_memories(tx, profile, versions, redactions)
        return taken

    def _take_told(
        self, owner_id: str, told: Sequence[Remembered], records: Sequence[object]
    ) -> Taken:
        """Store memories that have no history."""
        if len(told) < len(records):
            raise InvalidInput("records", "memories without a history come in a call of their own")
        now = self._access.clock.now()
        profile = self._access.profile(owner_id)
        taking = _Taking([_draft(each, profile, now) for each in told])
        with self._access.store.read(owner_id) as known:
            left = tuple(taking.left(known))
        order = Order(owner_id, profile, left, now, by=IMPORTED)
        settled = self._settling.carry_out(order, taking.left)
        return Taken(
            memories=len(settled.new),
            already=len(told) - len(settled.new),
            unkeyed=tuple(
                memory.id
                for memory, draft in zip(settled.memories, taking.drafts, strict=True)
                if draft in taking.unkeyed
            ),
            redactions=sum(
                draft.redactions
                for memory, draft in zip(settled.memories, taking.drafts, strict=True)
                if memory.id in settled.new
            ),
        )

    def _take_messages(
        self,
        tx: Transaction,
        indexed: Sequence[tuple[Message, IndexEntry]],
        redactions: Mapping[str, int],
    ) -> Taken:
        stored, taken_out_of_them = 0, 0
        for session_id, group in groupby(indexed, key=lambda each: each[0].session_id):
            pairs = list(group)
            there = {message.id for message in tx.originals([m.id for m, _ in pairs])}
            named = tx.external_ids(session_id, [m.external_id for m, _ in pairs if m.external_id])
            fresh = [
                (message, entry)
                for message, entry in pairs
                if message.id not in there and message.external_id not in named
            ]
            tx.log(session_id, self._in_place(tx, session_id, fresh))
            stored += len(fresh)
            taken_out_of_them += sum(redactions[message.id] for message, _ in fresh)
        already = len(indexed) - stored
        return Taken(messages=stored, already=already, redactions=taken_out_of_them)

    def _in_place(
        self, tx: Transaction, session_id: str, fresh: Sequence[tuple[Message, IndexEntry]]
    ) -> list[tuple[Message, IndexEntry]]:
        """Number messages on from the session's last, and give them its window."""
        first = tx.next_sequence(session_id)
        last = tx.messages(session_id=session_id, after=first - 2, limit=1) if first > 1 else []
        previous = (
            self._indexer.keywords_only(Text(last[0].content, last[0].speaker)) if last else None
        )
        placed = []
        for offset, (message, entry) in enumerate(fresh):
            numbered = replace(message, sequence=first + offset, version=1)
            placed.append((numbered, in_window(entry, previous)))
            previous = entry
        return placed


def _texts(
    profile: Profile, messages: Sequence[Message], chronicles: Sequence[Chronicle]
) -> list[Text]:
    return [
        *(message_text(profile, message) for message in messages),
        *(
            memory_text(profile, version.memory.content, version.memory.kind, version.memory.key)
            for chronicle in chronicles
            for version in chronicle.history.versions
        ),
    ]


def _of_profile(chronicle: Chronicle, target: Profile, profiles: Sequence[Profile]) -> Chronicle:
    """Return a memory, with its versions, as one of the owner's profile, whichever it comes from.

    Raises:
        InvalidInput: Its kind is of no profile.
    """
    versions = tuple(
        replace(each, memory=_fitted(each.memory, target, profiles))
        for each in chronicle.history.versions
    )
    history = replace(chronicle.history, versions=versions)
    return Chronicle(_fitted(chronicle.memory, target, profiles), history)


def _fitted(memory: Memory, target: Profile, profiles: Sequence[Profile]) -> Memory:
    if memory.kind in (*target.kinds, target.condensing.kind):
        return memory
    for source in profiles:
        if memory.kind in source.kinds:
            kept = with_kept(memory.kept_kind, source.name, memory.kind)
            return replace(memory, kind=kind_in(memory.kind, source, target), kept_kind=kept)
    raise InvalidInput("kind", f"{memory.kind!r} is of no profile")


def _take_document(tx: Transaction, document: Document) -> None:
    """Take over a base memory where there is none."""
    if tx.base_memory() is None:
        for content, since in document.versions:
            tx.set_base_memory(content, sources=(), at=since)


def _take_memories(
    tx: Transaction,
    profile: Profile,
    versions: Sequence[tuple[Chronicle, Sequence[IndexEntry]]],
    redactions: Mapping[str, int],
) -> Taken:
    """Store memories with their versions, in order."""
    taken = Taken()
    chronicles = [each for each, _ in versions]
    gone = missing(tx, chronicles)
    condensed = summaries(chronicles)
    known = {memory.id for memory in tx.memories(list(condensed))}
    kept = [(without(gone, each), entries) for each, entries in versions]
    for is_plain, group in groupby(kept, key=lambda each: _is_plain(each[0])):
        if is_plain:
            taken += _take_plain(tx, [(c, e[0]) for c, e in group], redactions)
            continue
        for chronicle, entries in group:
            taken += _take_memory(tx, profile, chronicle, entries, redactions)
    for id_, summary in condensed.items():
        if id_ not in known:
            stand_for_sources(tx, summary)
    return taken


def _is_plain(chronicle: Chronicle) -> bool:
    """Whether a memory is as it was first stored, so that it can be stored just so."""
    memory, history = chronicle.memory, chronicle.history
    (first, *later) = history.versions
    return (
        not later
        and first.valid_to is None
        and memory.state is State.ACTIVE
        and memory.key is None
        and memory.version == first.memory.version
        and memory.content == first.memory.content
        and memory.updated_at == first.valid_from
        and not any(event.action is Action.CONDENSED for event in history.events)
    )


def _take_plain(
    tx: Transaction,
    chronicles: Sequence[tuple[Chronicle, IndexEntry]],
    redactions: Mapping[str, int],
) -> Taken:
    """Store memories that are as they were first stored, all at once."""
    there = {memory.id for memory in tx.memories([each.memory.id for each, _ in chronicles])}
    fresh: dict[str, tuple[Chronicle, IndexEntry]] = {}
    for each, entry in chronicles:
        if each.memory.id not in there:
            fresh.setdefault(each.memory.id, (each, entry))
    tx.insert([(each.memory, entry) for each, entry in fresh.values()])
    tx.record([event for each, _ in fresh.values() for event in each.history.events])
    return Taken(
        memories=len(fresh),
        already=len(chronicles) - len(fresh),
        redactions=sum(redactions[id_] for id_ in fresh),
    )


def _take_memory(
    tx: Transaction,
    profile: Profile,
    chronicle: Chronicle,
    entries: Sequence[IndexEntry],
    redactions: Mapping[str, int],
) -> Taken:
    memory = chronicle.memory
    if stored := tx.memories([memory.id]):
        rejoin(tx, stored[0], memory)
        return Taken(already=1)
    key_is_lost = memory.state is State.ACTIVE and _is_taken(tx, memory)
    if key_is_lost:
        memory = replace(memory, key=None)
    _replay(tx, profile, chronicle, entries)
    tx.amend(memory)
    tx.record(chronicle.history.events)
    unkeyed = (memory.id,) if key_is_lost else ()
    return Taken(memories=1, unkeyed=unkeyed, redactions=redactions[memory.id])


def _replay(
    tx: Transaction, profile: Profile, chronicle: Chronicle, entries: Sequence[IndexEntry]
) -> None:
    """Open and close every version again, each active while it was valid."""
    versions = chronicle.history.versions
    begins: list[datetime | None] = [version.valid_from for version in versions[1:]]
    for version, entry, next_begin in zip(versions, entries, [*begins, None], strict=True):
        opened = replace(version.memory, state=State.ACTIVE, updated_at=version.valid_from)
        opened, indexed = _under_free_key(tx, profile, opened, entry)
        if version is versions[0]:
            tx.insert([(opened, indexed)])
        else:
            tx.revise(opened, indexed)
        if version.valid_to is not None and version.valid_to != next_begin:
            tx.amend(replace(opened, state=State.FORGOTTEN, updated_at=version.valid_to))


def _under_free_key(
    tx: Transaction, profile: Profile, memory: Memory, entry: IndexEntry
) -> tuple[Memory, IndexEntry]:
    """Return a memory and its entry, without its key where another active memory has that."""
    if memory.key is None or not _is_taken(tx, memory):
        return memory, entry
    indexed = without_key(entry, memory.key) if profile.finds_keys else entry
    return replace(memory, key=None), indexed


def _is_taken(tx: Transaction, memory: Memory) -> bool:
    """Whether another active memory has its key."""
    holder = None if memory.key is None else tx.by_key(memory.key)
    return holder is not None and holder.id != memory.id


class _Taking:
    """Tells which of the memories of a file are still to be stored, and under which key."""

    def __init__(self, drafts: Sequence[Draft]) -> None:
        self._given = drafts
        self.drafts: list[Draft] = []
        self.unkeyed: list[Draft] = []

    def left(self, known: Snapshot) -> list[Draft]:
        """Return what is still to be stored."""
        self.drafts, self.unkeyed = [], []
        for draft in self._given:
            holder = None if draft.key is None else known.by_key(draft.key)
            if holder is None:
                self.drafts.append(draft)
            elif is_outranked(draft.origin, by=holder.origin) and holder.content != draft.content:
                self.unkeyed.append(replace(draft, key=None))
                self.drafts.append(self.unkeyed[-1])
            elif not _has_said(known, holder, draft.content):
                self.drafts.append(draft)
        return self.drafts


def _has_said(known: Snapshot, memory: Memory, content: str) -> bool:
    """Whether an earlier version of a memory said that, and it says something else now."""
    history = known.history(memory.id) if memory.content != content else None
    return any(each.memory.content == content for each in (history.versions if history else ()))


def _has_no_history(record: object) -> TypeGuard[Remembered]:
    return isinstance(record, Remembered)


def _draft(line: Remembered, profile: Profile, now: datetime) -> Draft:
    return drafted(
        line.content,
        profile,
        now,
        kind=line.kind,
        importance=line.importance,
        key=line.key,
        tags=line.tags,
        expires_at=line.expires_at,
        happened_at=line.happened_at,
        session_id=line.session,
        origin=line.origin,
    )
