"""Permanent removal of memories and messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from memolith.adapters.inmemory.state import MemoryVersion, MessageVersion
from memolith.adapters.inmemory.writes import RecordWriter
from memolith.adapters.sql.index_rows import require_role_and_time
from memolith.domain.memories import BaseMemory, Source
from memolith.domain.messages import Message
from memolith.errors import InvalidInput, NotFound
from memolith.ports.store import IndexEntry


class PurgeWriter(RecordWriter):
    """Permanent removal of one owner's records."""

    def purge(self, ids: Sequence[str]) -> None:
        """See the port."""
        state = self._state
        gone = {id_ for id_ in ids if id_ in state.memories or id_ in state.messages}
        sessions = {
            state.messages[id_][-1].message.session_id for id_ in gone if id_ in state.messages
        }
        with self._change(changes=bool(gone)):
            self._remove(gone)
            for name in sessions:
                self._recount(name)

    def remove_sessions(self, ids: Sequence[str]) -> None:
        """See the port."""
        state = self._state
        names = state.sessions.keys() & set(ids)
        said = {id_ for id_, own in state.messages.items() if own[-1].message.session_id in names}
        with self._change(changes=bool(names)):
            self._remove(said)
            numbers = {state.sessions.pop(name).number for name in names}
            for number, item in state.items.items():
                if item.session in numbers:
                    state.items[number] = replace(item, session=-1)
            for id_, versions in state.memories.items():
                state.memories[id_] = tuple(_clear_session(one, names) for one in versions)

    def _remove(self, gone: set[str]) -> None:
        """Remove records, but not their sessions."""
        state = self._state
        spoke = {
            (version.message.speaker, require_role_and_time(version.message)[0])
            for id_ in gone
            for version in state.messages.get(id_, ())
        }
        for id_ in gone:
            state.memories.pop(id_, None)
            state.messages.pop(id_, None)
            state.work.pop(id_, None)
            state.marks.pop(id_, None)
        state.items = {n: i for n, i in state.items.items() if i.record_id not in gone}
        state.events = tuple(each for each in state.events if each.record_id not in gone)
        state.links = {
            link: None for link in state.links if gone.isdisjoint((link.source_id, link.target_id))
        }
        for id_, versions in state.memories.items():
            state.memories[id_] = tuple(_drop_references(version, gone) for version in versions)
        state.base_memories = tuple(_drop_sources(one, gone) for one in state.base_memories)
        left = {
            (version.message.speaker, version.message.role)
            for versions in state.messages.values()
            for version in versions
        }
        for speaker in spoke - left:
            state.participants.pop(speaker, None)

    def rewrite_message(self, id: str, revisions: Sequence[tuple[Message, IndexEntry]]) -> None:
        """See the port."""
        with self._change():
            if not revisions:
                raise InvalidInput("wordings", "must contain at least one revision")
            old = {version.message.version: version for version in self._message_versions(id)}
            kept = [
                (message, self._carry_over_review(id, message.content, entry))
                for message, entry in sorted(revisions, key=lambda pair: pair[0].version)
            ]
            if not old.keys() >= {message.version for message, _ in kept}:
                raise NotFound("message", id)
            times = {v: self._state.items[version.item] for v, version in old.items()}
            self._state.items = {
                number: item
                for number, item in self._state.items.items()
                if item.record_id != id or item.kind is not None
            }
            self._state.messages[id] = tuple(
                self._wording_of(message, entry, old, (time.valid_from, time.valid_to))
                for message, entry in kept
                for time in (times[message.version],)
            )

    def _wording_of(
        self,
        message: Message,
        entry: IndexEntry,
        old: dict[int, MessageVersion],
        valid: tuple[int, int],
    ) -> MessageVersion:
        place = old[message.version].message
        said = replace(
            message,
            id=place.id,
            session_id=place.session_id,
            sequence=place.sequence,
            external_id=place.external_id,
        )
        number = self._add_message(said, entry, valid[0])
        self._state.items[number] = replace(self._state.items[number], valid_to=valid[1])
        return MessageVersion(said, number)

    def _recount(self, name: str) -> None:
        """Recount a session's messages; its position among the sessions does not change."""
        left = [
            versions[-1].message
            for versions in self._state.messages.values()
            if versions[-1].message.session_id == name
        ]
        session = replace(
            self._state.sessions[name],
            messages=len(left),
            first_at=left[0].at if left else None,
            last_at=left[-1].at if left else None,
        )
        if not left:
            session = replace(session, first_item=None, ended_at=None)
        self._state.sessions[name] = session


def _drop_references(version: MemoryVersion, gone: set[str]) -> MemoryVersion:
    memory = version.memory
    return replace(
        version,
        memory=replace(
            memory,
            sources=_remaining_sources(memory.sources, gone),
            superseded_by=None if memory.superseded_by in gone else memory.superseded_by,
        ),
    )


def _clear_session(version: MemoryVersion, names: set[str]) -> MemoryVersion:
    if version.memory.session_id not in names:
        return version
    return replace(version, memory=replace(version.memory, session_id=None))


def _drop_sources(version: BaseMemory, gone: set[str]) -> BaseMemory:
    return replace(version, sources=_remaining_sources(version.sources, gone))


def _remaining_sources(sources: Sequence[Source], gone: set[str]) -> tuple[Source, ...]:
    return tuple(source for source in sources if source.id not in gone)
