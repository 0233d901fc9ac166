"""Writes to one owner's records: on a copy, which replaces the state at commit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from memolith.adapters.inmemory.reads import PendingWorkReader
from memolith.adapters.inmemory.state import (
    Item,
    MemoryVersion,
    MessageVersion,
    MessageWork,
    OwnerState,
    SessionState,
)
from memolith.adapters.sql.codecs import (
    DEAD_LETTER,
    NEVER,
    PENDING,
    OwnerEncryption,
    micros,
    pack_id,
)
from memolith.adapters.sql.index_rows import check_entry, require_role_and_time, role_of_origin
from memolith.domain.memories import BaseMemory, Event, Link, Memory, Source, State, Trait
from memolith.domain.messages import Message, Role
from memolith.domain.owners import ConsolidationProgress, ProcessingFlag
from memolith.errors import Conflict, MemolithError, NotFound
from memolith.ports.store import IndexEntry, Passage
from memolith.ports.work import WorkLease


class RecordWriter(PendingWorkReader):
    """Writes of one owner's records."""

    def __init__(
        self, state: OwnerState, encryption: OwnerEncryption, dimension: int | None
    ) -> None:
        """Use the initial state and the length of the store's vectors."""
        super().__init__(state.copy(), encryption)
        self._dimension = dimension
        self._is_changed = False
        self._is_touched = False
        self._is_broken = False

    def _check(self) -> None:
        """Fail if the vectors were replaced meanwhile."""

    def _check_entry(self, entry: IndexEntry) -> None:
        if any(passage.vector is not None for passage in entry.passages):
            self._check()
        check_entry(entry, self._dimension)

    def finish(self) -> OwnerState | None:
        """Return the new state, or None if nothing changed.

        Raises:
            Conflict: The caller caught an error within the transaction.
        """
        if self._is_broken:
            raise Conflict("the transaction was rolled back because of an earlier error in it")
        if self._is_changed:
            self._state.counter += 1
            items = self._state.items
            self._state.next_vectors = {
                p: v for p, v in self._state.next_vectors.items() if p[0] in items
            }
        return self._state if self._is_changed or self._is_touched else None

    def adopt_profile(self, name: str) -> None:
        """See the port."""
        if self._state.profile is None:
            self.set_profile(name)

    def set_profile(self, name: str) -> None:
        """See the port."""
        self._is_changed |= self._state.profile != name
        self._state.profile = name

    def log(
        self,
        session_id: str,
        messages: Sequence[tuple[Message, IndexEntry]],
        *,
        at: datetime | None = None,
    ) -> None:
        """See the port."""
        with self._change(changes=bool(messages)):
            for message, entry in messages:
                require_role_and_time(message)
                pack_id(message.id)
                self._check_entry(entry)
        for message, entry in messages:
            with self._change():
                self._check_free(message, session_id)
                said = _message_in_utc(replace(message, session_id=session_id))
                item = self._add_message(said, entry, at or require_role_and_time(said)[1])
                self._state.messages[said.id] = (MessageVersion(said, item),)
                self._count(session_id, said, item)

    def next_sequence(self, session_id: str) -> int:
        """See the port."""
        session = self._state.sessions.get(session_id)
        return 1 + (session.last_sequence if session else 0)

    def end_session(self, session_id: str, at: datetime) -> None:
        """See the port."""
        session = self._state.sessions.get(session_id)
        if session is not None and session.first_item is not None:
            self._state.sessions[session_id] = replace(session, ended_at=at.astimezone(UTC))
            self._is_changed = True

    def insert(self, memories: Sequence[tuple[Memory, IndexEntry]]) -> None:
        """See the port."""
        with self._change(changes=bool(memories)):
            for memory, entry in memories:
                _check_ids(memory)
                self._check_entry(entry)
        for memory, entry in memories:
            with self._change():
                self._check_new(memory)
                stored = self._validate(memory)
                item = self._add_memory(stored, entry, micros(memory.updated_at))
                self._state.memories[memory.id] = (MemoryVersion(stored, item),)

    def revise(self, memory: Memory, entry: IndexEntry) -> None:
        """See the port."""
        with self._change():
            versions = self._versions(memory.id)
            if memory.version <= versions[-1].memory.version:
                raise Conflict("the version is not newer than the stored one")
            self._check_entry(entry)
            entry = self._carry_over_review(memory.id, memory.content, entry)
            stored = self._validate(memory)
            self._close(versions[-1].item, micros(memory.updated_at))
            since = max(micros(memory.updated_at), self._state.items[versions[-1].item].valid_to)
            item = self._add_memory(stored, entry, since)
            self._state.memories[memory.id] = (*versions, MemoryVersion(stored, item))

    def amend(self, memory: Memory) -> None:
        """See the port."""
        with self._change():
            *older, last = self._versions(memory.id)
            if memory.state is State.ACTIVE and last.memory.state is not State.ACTIVE:
                raise Conflict("an inactive memory can become active only in a new version")
            stored = self._validate(
                replace(memory, version=last.memory.version, content=last.memory.content)
            )
            if memory.state is not State.ACTIVE:
                self._close(last.item, micros(memory.updated_at))
            self._state.items[last.item] = replace(
                self._state.items[last.item], **self._changeable(stored)
            )
            self._state.memories[memory.id] = (*older, replace(last, memory=stored))

    def revise_message(self, message: Message, entry: IndexEntry, at: datetime) -> None:
        """See the port."""
        with self._change():
            versions = self._message_versions(message.id)
            last = versions[-1].message
            if message.version <= last.version:
                raise Conflict("the version is not newer than the stored one")
            said = _message_in_utc(
                replace(
                    message,
                    session_id=last.session_id,
                    sequence=last.sequence,
                    external_id=last.external_id,
                )
            )
            entry = self._carry_over_review(said.id, said.content, entry)
            self._close(versions[-1].item, micros(at))
            since = max(micros(at), self._state.items[versions[-1].item].valid_to)
            item = self._add_message(said, entry, since)
            self._state.messages[said.id] = (*versions, MessageVersion(said, item))

    def reindex(self, message_id: str, entry: IndexEntry) -> None:
        """See the port."""
        with self._change():
            *older, last = self._message_versions(message_id)
            old = self._state.items[last.item]
            if old.valid_to != NEVER:
                raise NotFound("message", message_id)
            entry = self._carry_over_review(message_id, last.message.content, entry)
            self._state.items[last.item] = replace(old, valid_to=old.valid_from)
            item = self._add_message(last.message, entry, old.valid_from)
            self._state.messages[message_id] = (*older, replace(last, item=item))

    def close_messages(self, ids: Sequence[str], at: datetime) -> None:
        """See the port."""
        for id_ in ids:
            for version in self._state.messages.get(id_, ())[-1:]:
                if self._state.items[version.item].valid_to == NEVER:
                    self._close(version.item, micros(at))
                    self._is_changed = True

    def link(self, links: Sequence[Link]) -> None:
        """See the port."""
        for link in links:
            with self._change(changes=link not in self._state.links):
                pack_id(link.source_id, "source_id")
                pack_id(link.target_id, "target_id")
                self._state.links[link] = None

    def record(self, events: Sequence[Event]) -> None:
        """See the port."""
        for event in events:
            with self._change():
                pack_id(event.record_id, "record_id")
                kept = replace(event, at=event.at.astimezone(UTC), details=dict(event.details))
                self._state.events = (*self._state.events, kept)

    @contextmanager
    def _change(self, *, changes: bool = True) -> Iterator[None]:
        """Mark the transaction as broken if the block fails."""
        try:
            yield
        except MemolithError:
            self._is_broken = True
            raise
        self._is_changed |= changes

    def _check_free(self, message: Message, session_id: str) -> None:
        firsts = (versions[0].message for versions in self._state.messages.values())
        there = [known for known in firsts if known.session_id == session_id]
        if (
            message.id in self._state.messages
            or any(known.sequence == message.sequence for known in there)
            or message.external_id in {known.external_id for known in there} - {None}
        ):
            raise Conflict("the id, external id or position in the session is taken already")

    def _check_new(self, memory: Memory) -> None:
        if memory.id in self._state.memories:
            raise Conflict("the id is taken already")

    def _validate(self, memory: Memory) -> Memory:
        """Return a memory with times in UTC; raise `Conflict` if it can't be stored."""
        _check_ids(memory)
        keyed = None if memory.key is None else self.find_by_key(memory.key)
        if memory.state is State.ACTIVE and keyed is not None and keyed.id != memory.id:
            raise Conflict("the key is taken already")
        return _memory_in_utc(memory)

    def _versions(self, memory_id: str) -> tuple[MemoryVersion, ...]:
        if memory_id not in self._state.memories:
            raise NotFound("memory", memory_id)
        return self._state.memories[memory_id]

    def _message_versions(self, message_id: str) -> tuple[MessageVersion, ...]:
        if message_id not in self._state.messages:
            raise NotFound("message", message_id)
        return self._state.messages[message_id]

    def _carry_over_review(self, id_: str, content: str, entry: IndexEntry) -> IndexEntry:
        """Return the entry as reviewed if the record was reviewed with the same content."""
        if not entry.features.traits & Trait.SUSPICIOUS:
            return entry
        state = self._state
        said = [
            *((one.memory.content, one.item) for one in state.memories.get(id_, ())),
            *((one.message.content, one.item) for one in state.messages.get(id_, ())),
        ]
        seen = {text for text, n in said if state.items[n].features.traits & Trait.REVIEWED}
        return entry.mark_reviewed() if content in seen else entry

    def _add_message(self, message: Message, entry: IndexEntry, since: datetime | int) -> int:
        role, said_at = require_role_and_time(message)
        pack_id(message.id)
        return self._add_item(
            Item(
                number=self._state.next_item,
                record_id=message.id,
                kind=None,
                session=self._session(message.session_id).number,
                sequence=message.sequence,
                speaker=self._speaker(message.speaker, role),
                role=role,
                at=micros(said_at),
                features=entry.features,
                content_key=entry.content_key,
                valid_from=since if isinstance(since, int) else micros(since),
                valid_to=NEVER,
                expires_at=NEVER,
                compressed=False,
                tags=frozenset(),
                passages=self._passages(entry),
            )
        )

    def _add_memory(self, memory: Memory, entry: IndexEntry, since: int) -> int:
        changeable = self._changeable(memory)
        return self._add_item(
            Item(
                number=self._state.next_item,
                record_id=memory.id,
                sequence=0,
                speaker=-1,
                features=entry.features,
                content_key=entry.content_key,
                valid_from=since,
                valid_to=NEVER if memory.state is State.ACTIVE else since,
                passages=self._passages(entry),
                **changeable,
            )
        )

    def _changeable(self, memory: Memory) -> dict[str, Any]:
        """Return the item fields that may change within a version."""
        session = -1 if memory.session_id is None else self._session(memory.session_id).number
        return {
            "kind": memory.kind,
            "session": session,
            "role": role_of_origin(memory.origin),
            "at": micros(memory.happened_at or memory.created_at),
            "expires_at": NEVER if memory.expires_at is None else micros(memory.expires_at),
            "compressed": memory.compressed,
            "tags": frozenset(memory.tags),
        }

    def _add_item(self, item: Item) -> int:
        self._state.items[item.number] = item
        self._state.next_item += 1
        return item.number

    def _passages(self, entry: IndexEntry) -> tuple[Passage, ...]:
        self._check_entry(entry)
        return tuple(
            replace(
                passage,
                terms=dict(passage.terms),
                vector=None if passage.vector is None else passage.vector.copy(),
            )
            for passage in entry.passages
        )

    def _close(self, number: int, at: int) -> None:
        item = self._state.items[number]
        if item.valid_to == NEVER:
            self._state.items[number] = replace(item, valid_to=max(at, item.valid_from))

    def _session(self, name: str) -> SessionState:
        if name not in self._state.sessions:
            self._state.sessions[name] = SessionState(self._state.next_session)
            self._state.next_session += 1
        return self._state.sessions[name]

    def _speaker(self, name: str | None, role: Role) -> int:
        speakers = self._state.participants
        if (name, role) not in speakers:
            speakers[name, role] = self._state.next_speaker
            self._state.next_speaker += 1
        return speakers[name, role]

    def _count(self, session_id: str, message: Message, item: int) -> None:
        session = self._session(session_id)
        self._state.sessions[session_id] = replace(
            session,
            first_item=session.first_item or item,
            first_at=session.first_at or message.at,
            last_at=message.at,
            last_sequence=max(session.last_sequence, message.sequence),
            messages=session.messages + 1,
        )


def _check_ids(memory: Memory) -> None:
    pack_id(memory.id)
    if memory.superseded_by:
        pack_id(memory.superseded_by, "superseded_by")
    for source in memory.sources:
        pack_id(source.id, "sources")


def _message_in_utc(message: Message) -> Message:
    _, at = require_role_and_time(message)
    return replace(message, at=at.astimezone(UTC))


def _memory_in_utc(memory: Memory) -> Memory:
    def utc(at: datetime | None) -> datetime | None:
        return None if at is None else at.astimezone(UTC)

    return replace(
        memory,
        created_at=memory.created_at.astimezone(UTC),
        updated_at=memory.updated_at.astimezone(UTC),
        accessed_at=utc(memory.accessed_at),
        happened_at=utc(memory.happened_at),
        expires_at=utc(memory.expires_at),
    )


# --- Base memory


class BaseMemoryWriter(RecordWriter):
    """Writes of the base memory."""

    def set_base_memory(self, content: str, *, sources: Sequence[Source], at: datetime) -> None:
        """See the port."""
        with self._change():
            for source in sources:
                pack_id(source.id, "sources")
            versions = self._state.base_memories
            since = max([at.astimezone(UTC), *(one.valid_from for one in versions[-1:])])
            closed = [replace(one, valid_to=since) for one in versions[-1:]]
            new = BaseMemory(content, len(versions) + 1, since, sources=tuple(sources))
            self._state.base_memories = (*versions[:-1], *closed, new)

    def rewrite_base_memory(self, contents: Mapping[int, str]) -> None:
        """See the port."""
        with self._change(changes=bool(contents)):
            versions = {one.version: one for one in self._state.base_memories}
            for number, content in contents.items():
                if number not in versions:
                    raise NotFound("version of the base memory", str(number))
                versions[number] = replace(versions[number], content=content)
            self._state.base_memories = tuple(versions.values())


# --- Strength


class StrengthWriter(RecordWriter):
    """Writes of memory strengths."""

    def set_strengths(self, ids: Sequence[str], strengths: Sequence[float]) -> None:
        """See the port."""
        memories = self._state.memories
        for id_, strength in zip(ids, strengths, strict=True):
            for last in memories.get(id_, ())[-1:]:
                kept = replace(last.memory, strength=float(strength))
                memories[id_] = (*memories[id_][:-1], replace(last, memory=kept))
                self._is_touched = True


# --- Pending work


class WorkWriter(RecordWriter):
    """Writes of pending work."""

    def holds_lease(self, lease: WorkLease) -> bool:
        """See the port. Leases change only under the owner's lock, which is held here."""
        held = self._state.claims.get(lease.work)
        return lease.owner_id == self.owner_id and held is not None and held.token == lease.token

    def mark_pending(self, ids: Sequence[str]) -> None:
        """See the port."""
        self._set(
            ids,
            lambda work: work if work.marks else replace(work, marks=PENDING, learned_at=None),
        )

    def mark_learned(self, ids: Sequence[str], at: datetime) -> None:
        """See the port."""
        done = at.astimezone(UTC)
        self._set(
            ids,
            lambda work: MessageWork(learned_at=done, summarised_at=work.summarised_at),
        )

    def schedule_retry(self, ids: Sequence[str], *, retry_at: datetime | None) -> None:
        """See the port."""
        until = None if retry_at is None else retry_at.astimezone(UTC)
        self._set(ids, lambda work: _postpone(work, until) if work.marks else work)

    def mark_summarised(self, ids: Sequence[str], at: datetime | None) -> None:
        """See the port."""
        done = None if at is None else at.astimezone(UTC)
        self._set(ids, lambda work: replace(work, summarised_at=done))

    def add_mark(self, ids: Sequence[str], mark: ProcessingFlag) -> None:
        """See the port."""
        self._set_marks(ids, lambda before: before | mark)

    def remove_mark(self, ids: Sequence[str], mark: ProcessingFlag) -> None:
        """See the port."""
        self._set_marks(ids, lambda before: before & ~mark)

    def set_progress(self, session_id: str, progress: ConsolidationProgress) -> None:
        """See the port."""
        at = None if progress.at is None else progress.at.astimezone(UTC)
        session = replace(self._session(session_id), progress=replace(progress, at=at))
        self._state.sessions[session_id] = session
        self._is_changed = True

    def _set_marks(
        self, ids: Sequence[str], change: Callable[[ProcessingFlag], ProcessingFlag]
    ) -> None:
        marks = self._state.marks
        for id_ in self._state.memories.keys() & set(ids):
            before = marks.get(id_, ProcessingFlag(0))
            marks[id_] = change(before)
            self._is_changed |= marks[id_] != before

    def _set(self, ids: Sequence[str], change: Callable[[MessageWork], MessageWork]) -> None:
        for id_ in set(ids):
            for version in self._state.messages.get(id_, ())[-1:]:
                before = self._state.work_of(id_)
                after = change(before)
                if self._state.items[version.item].valid_to == NEVER and after is not before:
                    self._state.work[id_] = after
                    self._is_changed = True


def _postpone(work: MessageWork, until: datetime | None) -> MessageWork:
    marks = DEAD_LETTER if until is None else PENDING
    return replace(work, marks=marks, attempts=work.attempts + 1, retry_at=until)
