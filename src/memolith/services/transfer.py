"""Exports all records of an owner, and imports them into a store."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby
from typing import TypeGuard

from memolith.domain.memories import Action, Link, Memory, State
from memolith.domain.messages import Message
from memolith.errors import InvalidInput
from memolith.import_export.jsonl import ImportedMemory
from memolith.import_export.records import BaseMemoryRecord, MemoryRecord, Record, SessionEnd
from memolith.policies import arguments
from memolith.policies.classification import add_previous_kind, convert_kind
from memolith.policies.trust import is_outranked
from memolith.ports.store import IndexEntry, Snapshot, Transaction
from memolith.profiles.model import Profile
from memolith.services.access import Access, iter_memories
from memolith.services.base_memory import get_visible_versions
from memolith.services.import_validation import count_redactions, validate_records
from memolith.services.indexing import (
    Indexer,
    IndexText,
    apply_window,
    memory_text,
    message_text,
    remove_key_from_entry,
)
from memolith.services.planning import IMPORT_ACTOR, WriteRequest
from memolith.services.validation import NewMemory, build_new_memory
from memolith.services.write import WritePipeline


def find_missing_successors(tx: Transaction, chronicles: list[MemoryRecord]) -> set[str]:
    """Return the ids of successors that are neither stored nor imported.

    Forgotten memories are not exported, so that a memory they superseded has no successor.
    """
    imported_ids = {each.memory.id for each in chronicles}
    successor_ids = {
        memory.superseded_by
        for each in chronicles
        for memory in (each.memory, *(version.memory for version in each.history.versions))
        if memory.superseded_by is not None and memory.superseded_by not in imported_ids
    }
    return successor_ids - {memory.id for memory in tx.memories(sorted(successor_ids))}


def drop_successors(missing_ids: AbstractSet[str], chronicle: MemoryRecord) -> MemoryRecord:
    """Return a memory and its versions without missing successors."""
    if not missing_ids:
        return chronicle
    versions = tuple(
        replace(each, memory=_drop_successor(missing_ids, each.memory))
        for each in chronicle.history.versions
    )
    history = replace(chronicle.history, versions=versions)
    return MemoryRecord(_drop_successor(missing_ids, chronicle.memory), history)


def _drop_successor(missing_ids: AbstractSet[str], memory: Memory) -> Memory:
    return replace(memory, superseded_by=None) if memory.superseded_by in missing_ids else memory


def restore_successor(tx: Transaction, stored: Memory, imported: Memory) -> None:
    """Set the successor of a memory that was imported before it, in an earlier call."""
    is_unchanged = (stored.state, stored.updated_at) == (State.SUPERSEDED, imported.updated_at)
    if is_unchanged and stored.superseded_by is None and imported.superseded_by is not None:
        tx.amend(replace(stored, superseded_by=imported.superseded_by))


def find_summaries(chronicles: list[MemoryRecord]) -> dict[str, Memory]:
    """Return the summaries among these memories, by id."""
    return {
        each.memory.id: each.memory
        for each in chronicles
        if any(event.action is Action.CONDENSED for event in each.history.events)
    }


def link_summary_sources(tx: Transaction, summary: Memory) -> None:
    """Link a summary to its sources, and mark them as summarised.

    Forgotten records are not exported, so that some sources may be missing.
    """
    source_ids = [source.id for source in summary.sources]
    existing_ids = {memory.id for memory in tx.memories(source_ids)}
    existing_ids |= {message.id for message in tx.original_messages(source_ids)}
    tx.link([Link(summary.id, id_, "summary_of") for id_ in source_ids if id_ in existing_ids])
    messages = [source.id for source in summary.sources if source.record_type == "message"]
    tx.mark_summarised(messages, summary.created_at)


# --- Transfer


@dataclass(frozen=True, slots=True)
class ImportResult:
    """The result of an import.

    Attributes:
        messages: The number of new messages.
        memories: The number of new memories.
        duplicates_skipped: The number of records that were already stored.
        keys_dropped: Ids of memories imported without their key, because another memory has it.
        redactions: The number of secrets redacted from new records.
    """

    messages: int = 0
    memories: int = 0
    duplicates_skipped: int = 0
    keys_dropped: tuple[str, ...] = ()
    redactions: int = 0

    def __add__(self, other: ImportResult) -> ImportResult:
        """Return the sum of both results."""
        return ImportResult(
            self.messages + other.messages,
            self.memories + other.memories,
            self.duplicates_skipped + other.duplicates_skipped,
            self.keys_dropped + other.keys_dropped,
            self.redactions + other.redactions,
        )


class OwnerTransfer:
    """Exports and imports all records of an owner."""

    def __init__(self, access: Access, indexer: Indexer, write_pipeline: WritePipeline) -> None:
        self._access = access
        self._indexer = indexer
        self._write_pipeline = write_pipeline

    def export_records(self, owner_id: str) -> Iterator[Record]:
        """Yield all messages, session ends, base memories and memories, as of one instant.

        Messages come by session in order, then memories, oldest first. Forgotten memories, messages
        and sentences are left out.
        """
        with self._access.store.read(owner_id) as snapshot:
            for session in snapshot.sessions():
                yield from snapshot.messages(session_id=session.id)
                if session.ended_at is not None:
                    yield SessionEnd(session.id, session.ended_at)
            if documents := get_visible_versions(snapshot):
                yield BaseMemoryRecord(
                    tuple((each.content, each.valid_from) for each in documents if each.content)
                )
            for memory in reversed(list(iter_memories(snapshot, frozenset(State)))):
                history = snapshot.history(memory.id)
                if history is not None and memory.state is not State.FORGOTTEN:
                    yield MemoryRecord(memory, history)

    def import_records(
        self, owner_id: str, records: Sequence[Record | ImportedMemory]
    ) -> ImportResult:
        """Store records unchanged, except those already stored, in one transaction.

        Messages retain ids and times, and are not learned from again. A memory loses its key if
        another memory has it, and its successor if that is missing; importing it again later adds
        the successor. Memories without a history must be imported separately. They are skipped if
        their content is already stored, or was an earlier version of their key.

        Raises:
            Disabled: Memory is switched off.
            InvalidInput: A record is not valid; the field contains its position.
        """
        self._access.check_enabled()
        raw_records = arguments.check_list(records, "records")
        without_history = [each for each in raw_records if _has_no_history(each)]
        if without_history:
            return self._import_without_history(owner_id, without_history, raw_records)
        profile = self._access.get_profile(owner_id)
        imported = validate_records(raw_records, max_memory_chars=profile.max_memory_chars)
        redactions = count_redactions(raw_records, imported)
        messages = [each for each in imported if isinstance(each, Message)]
        profiles = tuple(self._access.profiles.values())
        chronicles = [
            _convert_to_profile(each, profile, profiles)
            for each in imported
            if isinstance(each, MemoryRecord)
        ]
        entries = iter(
            self._indexer.build_entries(_index_texts(profile, messages, chronicles), owner_id)
        )
        indexed = [(message, next(entries)) for message in messages]
        versions = [(each, [next(entries) for _ in each.history.versions]) for each in chronicles]
        with self._access.store.write(owner_id) as tx:
            tx.adopt_profile(profile.name)
            result = self._import_messages(tx, indexed, redactions)
            for record in imported:
                if isinstance(record, BaseMemoryRecord):
                    _import_base_memory(tx, record)
                if isinstance(record, SessionEnd):
                    tx.end_session(record.session_id, record.at)
            result += _import_memories(tx, profile, versions, redactions)
        return result

    def _import_without_history(
        self, owner_id: str, entries: Sequence[ImportedMemory], records: Sequence[object]
    ) -> ImportResult:
        """Store memories without a history."""
        if len(entries) < len(records):
            raise InvalidInput(
                "records", "memories without a history must be imported in a separate call"
            )
        now = self._access.clock.now()
        profile = self._access.get_profile(owner_id)
        pending = _PendingImport([_build_new_memory(each, profile, now) for each in entries])
        with self._access.store.read(owner_id) as snapshot:
            remaining = tuple(pending.find_remaining(snapshot))
        request = WriteRequest(owner_id, profile, remaining, now, actor=IMPORT_ACTOR)
        written = self._write_pipeline.write(request, pending.find_remaining)
        return ImportResult(
            memories=len(written.new_ids),
            duplicates_skipped=len(entries) - len(written.new_ids),
            keys_dropped=tuple(
                memory.id
                for memory, new_memory in zip(written.memories, pending.new_memories, strict=True)
                if new_memory in pending.keys_dropped
            ),
            redactions=sum(
                new_memory.redactions
                for memory, new_memory in zip(written.memories, pending.new_memories, strict=True)
                if memory.id in written.new_ids
            ),
        )

    def _import_messages(
        self,
        tx: Transaction,
        indexed: Sequence[tuple[Message, IndexEntry]],
        redactions: Mapping[str, int],
    ) -> ImportResult:
        stored, redacted = 0, 0
        for session_id, group in groupby(indexed, key=lambda each: each[0].session_id):
            pairs = list(group)
            existing_ids = {
                message.id for message in tx.original_messages([m.id for m, _ in pairs])
            }
            external_ids = tx.external_ids(
                session_id, [m.external_id for m, _ in pairs if m.external_id]
            )
            new_messages = [
                (message, entry)
                for message, entry in pairs
                if message.id not in existing_ids and message.external_id not in external_ids
            ]
            tx.log(session_id, self._number_messages(tx, session_id, new_messages))
            stored += len(new_messages)
            redacted += sum(redactions[message.id] for message, _ in new_messages)
        duplicates = len(indexed) - stored
        return ImportResult(messages=stored, duplicates_skipped=duplicates, redactions=redacted)

    def _number_messages(
        self, tx: Transaction, session_id: str, new_messages: Sequence[tuple[Message, IndexEntry]]
    ) -> list[tuple[Message, IndexEntry]]:
        """Continue the session's numbering, and add context windows to the index entries."""
        first = tx.next_sequence(session_id)
        last = tx.messages(session_id=session_id, after=first - 2, limit=1) if first > 1 else []
        previous = (
            self._indexer.build_keyword_entry(IndexText(last[0].content, last[0].speaker))
            if last
            else None
        )
        numbered_messages = []
        for offset, (message, entry) in enumerate(new_messages):
            numbered = replace(message, sequence=first + offset, version=1)
            numbered_messages.append((numbered, apply_window(entry, previous)))
            previous = entry
        return numbered_messages


def _index_texts(
    profile: Profile, messages: Sequence[Message], chronicles: Sequence[MemoryRecord]
) -> list[IndexText]:
    return [
        *(message_text(profile, message) for message in messages),
        *(
            memory_text(profile, version.memory.content, version.memory.kind, version.memory.key)
            for chronicle in chronicles
            for version in chronicle.history.versions
        ),
    ]


def _convert_to_profile(
    chronicle: MemoryRecord, target: Profile, profiles: Sequence[Profile]
) -> MemoryRecord:
    """Return a memory, with its versions, converted to the owner's profile.

    Raises:
        InvalidInput: No profile has its kind.
    """
    versions = tuple(
        replace(each, memory=_convert_kind(each.memory, target, profiles))
        for each in chronicle.history.versions
    )
    history = replace(chronicle.history, versions=versions)
    return MemoryRecord(_convert_kind(chronicle.memory, target, profiles), history)


def _convert_kind(memory: Memory, target: Profile, profiles: Sequence[Profile]) -> Memory:
    if memory.kind in (*target.kinds, target.consolidation.kind):
        return memory
    for source in profiles:
        if memory.kind in source.kinds:
            previous_kinds = add_previous_kind(memory.previous_kind, source.name, memory.kind)
            return replace(
                memory, kind=convert_kind(memory.kind, source, target), previous_kind=previous_kinds
            )
    raise InvalidInput("kind", f"{memory.kind!r} is not a kind of any profile")


def _import_base_memory(tx: Transaction, document: BaseMemoryRecord) -> None:
    """Import a base memory if the owner has none."""
    if tx.base_memory() is None:
        for content, valid_from in document.versions:
            tx.set_base_memory(content, sources=(), at=valid_from)


def _import_memories(
    tx: Transaction,
    profile: Profile,
    versions: Sequence[tuple[MemoryRecord, Sequence[IndexEntry]]],
    redactions: Mapping[str, int],
) -> ImportResult:
    """Store memories with their versions, in order."""
    result = ImportResult()
    chronicles = [each for each, _ in versions]
    missing = find_missing_successors(tx, chronicles)
    summaries = find_summaries(chronicles)
    existing_ids = {memory.id for memory in tx.memories(list(summaries))}
    importable = [(drop_successors(missing, each), entries) for each, entries in versions]
    for is_plain, group in groupby(importable, key=lambda each: _is_plain(each[0])):
        if is_plain:
            result += _import_plain(tx, [(c, e[0]) for c, e in group], redactions)
            continue
        for chronicle, entries in group:
            result += _import_memory(tx, profile, chronicle, entries, redactions)
    for id_, summary in summaries.items():
        if id_ not in existing_ids:
            link_summary_sources(tx, summary)
    return result


def _is_plain(chronicle: MemoryRecord) -> bool:
    """Return whether a memory has only its first version, so that it can be inserted directly."""
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


def _import_plain(
    tx: Transaction,
    chronicles: Sequence[tuple[MemoryRecord, IndexEntry]],
    redactions: Mapping[str, int],
) -> ImportResult:
    """Insert memories that have only their first version, all at once."""
    existing_ids = {memory.id for memory in tx.memories([each.memory.id for each, _ in chronicles])}
    new_records: dict[str, tuple[MemoryRecord, IndexEntry]] = {}
    for each, entry in chronicles:
        if each.memory.id not in existing_ids:
            new_records.setdefault(each.memory.id, (each, entry))
    tx.insert([(each.memory, entry) for each, entry in new_records.values()])
    tx.record([event for each, _ in new_records.values() for event in each.history.events])
    return ImportResult(
        memories=len(new_records),
        duplicates_skipped=len(chronicles) - len(new_records),
        redactions=sum(redactions[id_] for id_ in new_records),
    )


def _import_memory(
    tx: Transaction,
    profile: Profile,
    chronicle: MemoryRecord,
    entries: Sequence[IndexEntry],
    redactions: Mapping[str, int],
) -> ImportResult:
    memory = chronicle.memory
    if stored := tx.memories([memory.id]):
        restore_successor(tx, stored[0], memory)
        return ImportResult(duplicates_skipped=1)
    key_is_lost = memory.state is State.ACTIVE and _is_key_taken(tx, memory)
    if key_is_lost:
        memory = replace(memory, key=None)
    _replay(tx, profile, chronicle, entries)
    tx.amend(memory)
    tx.record(chronicle.history.events)
    keys_dropped = (memory.id,) if key_is_lost else ()
    return ImportResult(memories=1, keys_dropped=keys_dropped, redactions=redactions[memory.id])


def _replay(
    tx: Transaction, profile: Profile, chronicle: MemoryRecord, entries: Sequence[IndexEntry]
) -> None:
    """Write each version again, active while it was valid."""
    versions = chronicle.history.versions
    begins: list[datetime | None] = [version.valid_from for version in versions[1:]]
    for version, entry, next_begin in zip(versions, entries, [*begins, None], strict=True):
        restored = replace(version.memory, state=State.ACTIVE, updated_at=version.valid_from)
        restored, new_entry = _drop_taken_key(tx, profile, restored, entry)
        if version is versions[0]:
            tx.insert([(restored, new_entry)])
        else:
            tx.revise(restored, new_entry)
        if version.valid_to is not None and version.valid_to != next_begin:
            tx.amend(replace(restored, state=State.FORGOTTEN, updated_at=version.valid_to))


def _drop_taken_key(
    tx: Transaction, profile: Profile, memory: Memory, entry: IndexEntry
) -> tuple[Memory, IndexEntry]:
    """Return a memory and its entry, without the key if another active memory has it."""
    if memory.key is None or not _is_key_taken(tx, memory):
        return memory, entry
    without_key = remove_key_from_entry(entry, memory.key) if profile.searches_keys else entry
    return replace(memory, key=None), without_key


def _is_key_taken(tx: Transaction, memory: Memory) -> bool:
    """Return whether another active memory has the key."""
    holder = None if memory.key is None else tx.find_by_key(memory.key)
    return holder is not None and holder.id != memory.id


class _PendingImport:
    """Selects the imported memories that are not stored yet, and resolves key conflicts."""

    def __init__(self, new_memories: Sequence[NewMemory]) -> None:
        self._all_memories = new_memories
        self.new_memories: list[NewMemory] = []
        self.keys_dropped: list[NewMemory] = []

    def find_remaining(self, snapshot: Snapshot) -> list[NewMemory]:
        """Return the memories to store."""
        self.new_memories, self.keys_dropped = [], []
        for new_memory in self._all_memories:
            holder = None if new_memory.key is None else snapshot.find_by_key(new_memory.key)
            if holder is None:
                self.new_memories.append(new_memory)
            elif (
                is_outranked(new_memory.origin, by=holder.origin)
                and holder.content != new_memory.content
            ):
                self.keys_dropped.append(replace(new_memory, key=None))
                self.new_memories.append(self.keys_dropped[-1])
            elif not _has_had_content(snapshot, holder, new_memory.content):
                self.new_memories.append(new_memory)
        return self.new_memories


def _has_had_content(snapshot: Snapshot, memory: Memory, content: str) -> bool:
    """Return whether an earlier version of a memory, but not the current one, has the content."""
    history = snapshot.history(memory.id) if memory.content != content else None
    return any(each.memory.content == content for each in (history.versions if history else ()))


def _has_no_history(record: object) -> TypeGuard[ImportedMemory]:
    return isinstance(record, ImportedMemory)


def _build_new_memory(line: ImportedMemory, profile: Profile, now: datetime) -> NewMemory:
    return build_new_memory(
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
