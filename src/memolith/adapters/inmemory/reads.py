"""Reads of one owner's records and pending work."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from memolith.adapters.inmemory.state import (
    Item,
    MemoryVersion,
    MessageVersion,
    MessageWork,
    OwnerState,
    is_pending,
)
from memolith.adapters.sql.codecs import (
    DEAD_LETTER,
    NEVER,
    PENDING,
    OwnerEncryption,
    decode_cursor,
    decode_memory_stats,
    encode_cursor,
    instant,
    micros,
    micros_or_none,
    pack_id,
)
from memolith.domain.memories import BaseMemory, History, Memory, Page, State, Version
from memolith.domain.messages import Message, Participant, Session
from memolith.domain.owners import (
    ConsolidationProgress,
    PendingWork,
    ProcessingFlag,
    Statistics,
    WorkKind,
)
from memolith.ports.snapshot import MemoryStats, MessageRevision


class RecordReader:
    """The reads of a snapshot."""

    def __init__(self, state: OwnerState, encryption: OwnerEncryption) -> None:
        """Use a state; transactions change it in place."""
        self._state = state
        self._encryption = encryption

    @property
    def owner_id(self) -> str:
        """See the port."""
        return self._encryption.owner_id

    def memories(self, ids: Sequence[str], *, as_of: datetime | None = None) -> list[Memory]:
        """See the port."""
        found = (self._memory(id_, as_of) for id_ in ids)
        return [memory for memory in found if memory is not None]

    def find_by_key(self, key: str) -> Memory | None:
        """See the port."""
        keyed = (m for m in self._all() if m.key == key and m.state is State.ACTIVE)
        return next(keyed, None)

    def find_by_content(self, content_key: str, *, dormant: bool = False) -> list[Memory | Message]:
        """See the port."""
        same = [
            (item.kind is None, item.record_id)
            for item in self._state.items.values()
            if item.content_key == content_key
            and (item.valid_to == NEVER or (dormant and self._state.is_dormant(item)))
        ]
        memories = [memory for memory in self._all() if (False, memory.id) in same]
        return [
            *sorted(memories, key=lambda memory: (memory.created_at, memory.id)),
            *(message for message in self.messages() if (True, message.id) in same),
        ]

    def page(
        self,
        *,
        states: frozenset[State],
        kinds: frozenset[str] | None,
        tags: tuple[str, ...],
        limit: int,
        cursor: str | None,
        offset: int = 0,
    ) -> Page:
        """See the port."""
        matching = [
            (micros(memory.created_at), pack_id(memory.id), memory)
            for memory in self._all()
            if memory.state in states
            and (kinds is None or memory.kind in kinds)
            and set(memory.tags).issuperset(tags)
        ]
        matching.sort(key=lambda one: one[:2], reverse=True)
        rest = matching
        if cursor is not None:
            place = decode_cursor(self._encryption, cursor)
            rest = [one for one in matching if one[:2] < place]
        shown, more = rest[offset : offset + limit], len(rest) > offset + limit
        following = encode_cursor(self._encryption, *shown[-1][:2]) if shown and more else None
        return Page(tuple(memory for *_, memory in shown), len(matching), following)

    def history(self, id: str) -> History | None:
        """See the port."""
        if id not in self._state.memories:
            return None
        versions = (self._version(version) for version in self._state.memories[id])
        events = (event for event in self._state.events if event.record_id == id)
        return History(tuple(versions), tuple(events))

    def messages(
        self,
        *,
        ids: Sequence[str] | None = None,
        session_id: str | None = None,
        after: int = 0,
        limit: int | None = None,
        as_of: datetime | None = None,
    ) -> list[Message]:
        """See the port."""
        every = self._state.messages if ids is None else ids
        found = [m for m in (self._message(id_, as_of) for id_ in every) if m is not None]
        if ids is None and session_id is not None:
            found = [m for m in found if m.session_id == session_id and m.sequence > after]
            found.sort(key=lambda message: message.sequence)
        return found[:limit]

    def recent_messages(self, limit: int, *, session_id: str | None = None) -> list[Message]:
        """See the port."""
        said = self.messages(session_id=session_id)
        return said[max(0, len(said) - limit) :]

    def original_messages(self, ids: Sequence[str]) -> list[Message]:
        """See the port."""
        versions = [self._state.messages[id_] for id_ in ids if id_ in self._state.messages]
        return [replace(own[0].message, version=own[-1].message.version) for own in versions]

    def message_revisions(self, ids: Sequence[str]) -> dict[str, list[MessageRevision]]:
        """See the port."""
        there = [id_ for id_ in dict.fromkeys(ids) if id_ in self._state.messages]
        return {id_: [self._wording(v) for v in self._state.messages[id_]] for id_ in there}

    def find_adjacent_message(self, id: str, step: Literal[-1, 1]) -> str | None:
        """See the port."""
        for version in self._state.messages.get(id, ())[-1:]:
            place = (version.message.session_id, version.message.sequence + step)
            for other, versions in self._state.messages.items():
                message = versions[-1].message
                if (message.session_id, message.sequence) == place:
                    return other
        return None

    def forgotten_messages(self) -> list[Message]:
        """See the port."""
        return self.original_messages(
            [
                id_
                for id_, versions in self._state.messages.items()
                if self._state.items[versions[-1].item].valid_to != NEVER
            ]
        )

    def external_ids(self, session_id: str, ids: Sequence[str]) -> set[str]:
        """See the port."""
        firsts = (versions[0].message for versions in self._state.messages.values())
        known = {message.external_id for message in firsts if message.session_id == session_id}
        return {id_ for id_ in ids if id_ in known}

    def sessions(self) -> list[Session]:
        """See the port."""
        forgotten = Counter(
            versions[-1].message.session_id
            for versions in self._state.messages.values()
            if self._state.items[versions[-1].item].valid_to != NEVER
        )
        logged = [
            (
                state.first_item,
                Session(
                    name,
                    state.number,
                    state.first_at,
                    state.last_at,
                    state.messages - forgotten[name],
                    state.ended_at,
                ),
            )
            for name, state in self._state.sessions.items()
            if state.first_item is not None and state.first_at and state.last_at
        ]
        return [session for _, session in sorted(logged, key=lambda one: one[0])]

    def participants(self) -> list[Participant]:
        """See the port."""
        numbered = self._state.participants.items()
        return [Participant(number, name, role) for (name, role), number in numbered]

    def derived_memories(self, source_ids: Sequence[str]) -> dict[str, list[Memory]]:
        """See the port."""
        found: dict[str, list[Memory]] = {}
        for memory in sorted(self._all(), key=lambda memory: (memory.created_at, memory.id)):
            for source in {source.id for source in memory.sources}.intersection(source_ids):
                found.setdefault(source, []).append(memory)
        return found

    def vectors(self, digests: Sequence[bytes]) -> dict[bytes, NDArray[np.int8]]:
        """See the port."""
        found: dict[bytes, NDArray[np.int8]] = {}
        for item in self._state.items.values():
            for passage in item.passages:
                if passage.digest and passage.digest in digests and passage.vector is not None:
                    found.setdefault(passage.digest, passage.vector)
        return found

    def statistics(self) -> Statistics:
        """See the port."""
        active = [memory for memory in self._all() if memory.state is State.ACTIVE]
        logged = [s for s in self._state.sessions.values() if s.first_item is not None]
        embedded = [item for item in self._open_items() if _count_vectors(item)]
        weight = math.fsum(memory.importance for memory in active)
        return Statistics(
            total_count=len(active),
            with_embeddings=sum(item.kind is not None for item in embedded),
            avg_importance=weight / len(active) if active else 0.0,
            by_kind=dict(Counter(memory.kind for memory in active)),
            by_state=dict(Counter(memory.state.value for memory in self._all())),
            messages=sum(session.messages for session in self.sessions()),
            sessions=len(logged),
            vectors=sum(_count_vectors(item) for item in embedded),
        )

    def memory_stats(self, *, states: frozenset[State]) -> MemoryStats:
        """See the port."""
        latest = [versions[-1] for versions in self._state.memories.values()]
        latest.sort(key=lambda version: (version.memory.created_at, version.memory.id))
        return decode_memory_stats(
            [self._vital(each) for each in latest if each.memory.state in states]
        )

    def base_memory(self, *, as_of: datetime | None = None) -> BaseMemory | None:
        """See the port."""
        versions = self._state.base_memories
        if as_of is not None:
            versions = tuple(one for one in versions if _was_valid(one, as_of))
        return versions[-1] if versions else None

    def base_memories(self) -> list[BaseMemory]:
        """See the port."""
        return list(self._state.base_memories)

    def _vital(self, version: MemoryVersion) -> tuple[object, ...]:
        memory = version.memory
        number = -1
        if memory.session_id is not None:
            number = self._state.sessions[memory.session_id].number
        return (
            version.item,
            memory.id,
            memory.kind,
            memory.state,
            memory.importance,
            memory.strength,
            memory.access_count,
            micros(memory.accessed_at or memory.created_at),
            micros(memory.created_at),
            micros(memory.updated_at),
            -1 if memory.expires_at is None else micros(memory.expires_at),
            number,
        )

    def _all(self) -> list[Memory]:
        return [versions[-1].memory for versions in self._state.memories.values()]

    def _open_items(self) -> list[Item]:
        return [item for item in self._state.items.values() if item.valid_to == NEVER]

    def _memory(self, id_: str, as_of: datetime | None) -> Memory | None:
        versions = self._state.memories.get(id_, ())
        if as_of is None:
            return versions[-1].memory if versions else None
        then = [v for v in versions if self._state.items[v.item].is_valid(micros(as_of))]
        return self._version(then[-1]).memory if then else None

    def _message(self, id_: str, as_of: datetime | None) -> Message | None:
        versions = self._state.messages.get(id_, ())
        at = micros_or_none(as_of)
        then = [v.message for v in versions if self._state.items[v.item].is_valid(at)]
        return then[-1] if then else None

    def _wording(self, version: MessageVersion) -> MessageRevision:
        item = self._state.items[version.item]
        end = None if item.valid_to == NEVER else instant(item.valid_to)
        return MessageRevision(version.message, instant(item.valid_from), end)

    def _version(self, version: MemoryVersion) -> Version:
        """Return a version as it was while it was valid."""
        item = self._state.items[version.item]
        since = instant(item.valid_from)
        memory = replace(version.memory, state=State.ACTIVE, superseded_by=None, updated_at=since)
        return Version(memory, since, None if item.valid_to == NEVER else instant(item.valid_to))


def _was_valid(version: BaseMemory, at: datetime) -> bool:
    return version.valid_from <= at and (version.valid_to is None or at < version.valid_to)


def _count_vectors(item: Item) -> int:
    return sum(passage.vector is not None for passage in item.passages)


# --- Pending work


class PendingWorkReader(RecordReader):
    """The reads of pending work."""

    def pending_messages(self, limit: int, *, now: datetime) -> list[Message]:
        """See the port."""
        return [said for said, work in self._current_messages() if is_pending(work, now)][:limit]

    def attempts(self, ids: Sequence[str]) -> int:
        """See the port."""
        counts = [work.attempts for said, work in self._current_messages() if said.id in set(ids)]
        return max(counts, default=0)

    def unsummarised_messages(
        self, limit: int | None = None, *, session_id: str | None = None
    ) -> list[Message]:
        """See the port."""
        found = (said for said, work in self._current_messages() if work.summarised_at is None)
        return [said for said in found if session_id in (None, said.session_id)][:limit]

    def count_unsummarised_messages(self) -> int:
        """See the port."""
        return len(self.unsummarised_messages())

    def count_unsummarised_by_session(self) -> dict[str, int]:
        """See the port."""
        return dict(Counter(said.session_id for said in self.unsummarised_messages()))

    def memories_without_mark(self, mark: ProcessingFlag, kinds: frozenset[str]) -> list[Memory]:
        """See the port."""
        found = [
            memory
            for memory in self._all()
            if memory.state is State.ACTIVE
            and memory.kind in kinds
            and mark not in self._state.marks.get(memory.id, type(mark)(0))
        ]
        return sorted(found, key=lambda memory: (memory.created_at, memory.id))

    def progress(self, session_id: str) -> ConsolidationProgress:
        """See the port."""
        session = self._state.sessions.get(session_id)
        return session.progress if session else ConsolidationProgress()

    def pending_work(self) -> PendingWork:
        """See the port."""
        waiting = [said for said, work in self._current_messages() if work.marks == PENDING]
        claims = self._state.claims.items()
        return PendingWork(
            pending_messages=len(waiting),
            dead_letters=sum(work.marks == DEAD_LETTER for _, work in self._current_messages()),
            oldest_at=self._stored_at(waiting[0].id) if waiting else None,
            failed_kinds=tuple(
                sorted(kind for kind, one in claims if one.is_parked and kind is not WorkKind.LEARN)
            ),
        )

    def _current_messages(self) -> Iterator[tuple[Message, MessageWork]]:
        """Yield the valid messages in storage order, each with its pending work."""
        for id_, versions in self._state.messages.items():
            if self._state.items[versions[-1].item].valid_to == NEVER:
                yield versions[-1].message, self._state.work_of(id_)

    def _stored_at(self, message_id: str) -> datetime:
        first = self._state.messages[message_id][0]
        return instant(self._state.items[first.item].valid_from)
