"""Updates, supersedes, forgets and restores memories."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from memolith.domain.memories import Action, Event, Memory, Source, State
from memolith.domain.messages import Message
from memolith.errors import Conflict, InvalidInput, NotFound
from memolith.policies import arguments
from memolith.ports.store import IndexEntry, Snapshot, Transaction
from memolith.services import provenance
from memolith.services.access import Access
from memolith.services.indexing import Indexer, IndexText, apply_window, memory_text, message_text
from memolith.services.maintenance import refresh_strengths
from memolith.services.provenance import (
    find_forgotten_messages,
    find_source_messages,
    is_summary,
    is_supported_without,
    remaining_content,
    was_forgotten_with,
)
from memolith.services.validation import (
    parse_expiry,
    redaction_details,
    validate_content,
    validate_kind,
    validate_kind_trust,
    validate_name,
    validate_tags,
)
from memolith.services.write import TransactionRunner, WriteTransaction
from memolith.text.canonical_form import content_key

_MAX_CHAIN_LENGTH = 10
"""Supersessions to follow when looking for a cycle."""


def get_memory(snapshot: Snapshot, id_: str) -> Memory:
    """Return a memory in any state.

    Raises:
        NotFound: There is no memory with this id.
    """
    memories = snapshot.memories([id_])
    if not memories:
        raise NotFound("memory", id_)
    return memories[0]


def get_active_memory(snapshot: Snapshot, id_: str) -> Memory:
    """Return an active memory.

    Raises:
        NotFound: There is no active memory with this id.
    """
    memory = get_memory(snapshot, id_)
    if memory.state is not State.ACTIVE:
        raise NotFound("active memory", id_)
    return memory


def check_key_free(tx: Transaction, memory: Memory) -> None:
    """Raise `Conflict` if another memory has the same key."""
    holder = tx.find_by_key(memory.key) if memory.key is not None else None
    if holder is not None and holder.id != memory.id:
        raise Conflict(f"memory {holder.id} already has that key")


def check_not_duplicate(tx: Transaction, memory: Memory, content: str) -> None:
    """Raise `Conflict` if another memory has the same content, given as a `content_key`."""
    duplicate = find_duplicate(tx, memory, content)
    if duplicate is not None:
        raise Conflict(f"memory {duplicate.id} already has that content")


def find_duplicate(tx: Transaction, memory: Memory, content: str) -> Memory | None:
    """Return another active memory with the same key and content."""
    others = (each for each in tx.find_by_content(content) if isinstance(each, Memory))
    return next((one for one in others if one.id != memory.id and one.key == memory.key), None)


def move_source(
    tx: Transaction, memory: Memory, duplicate: Memory, source_id: str, now: datetime
) -> None:
    """Move a source from a forgotten memory to the memory that has restated it since."""
    remaining = tuple(source for source in memory.sources if source.id != source_id)
    moved = tuple(source for source in memory.sources if source.id == source_id)
    superseded = replace(
        memory,
        state=State.SUPERSEDED,
        superseded_by=duplicate.id,
        sources=remaining,
        updated_at=now,
    )
    tx.amend(superseded)
    tx.amend(replace(duplicate, sources=(*duplicate.sources, *moved), updated_at=now))
    details = {"superseded_by": duplicate.id}
    tx.record(
        [
            Event(memory.id, Action.SUPERSEDED, now, "user", memory.version, details),
            Event(duplicate.id, Action.RESTATED, now, "user", duplicate.version),
        ]
    )


def check_no_cycle(tx: Transaction, old_id: str, successor: Memory) -> None:
    """Raise `Conflict` if a memory would supersede its own successor."""
    current: Memory | None = successor
    for _ in range(_MAX_CHAIN_LENGTH):
        if current is None or current.superseded_by is None:
            return
        if current.superseded_by == old_id:
            raise Conflict("that would create a cycle of supersessions")
        current = next(iter(tx.memories([current.superseded_by])), None)
    raise Conflict(f"the chain of supersessions is longer than {_MAX_CHAIN_LENGTH}")


# --- Editing


@dataclass(frozen=True, slots=True)
class ForgetResult:
    """The result of forgetting.

    Attributes:
        memories: Ids of the memories that are now forgotten.
        messages: Ids of the messages that are now forgotten, or lost a sentence.
    """

    memories: tuple[str, ...]
    messages: tuple[str, ...]


class MemoryEditor:
    """Changes memories under their owner's lock."""

    def __init__(self, access: Access, indexer: Indexer) -> None:
        self._access = access
        self._indexer = indexer
        self._runner = TransactionRunner(access.store, indexer)

    def update(
        self,
        owner_id: str,
        id: str,
        content: str | None = None,
        *,
        kind: str | None = None,
        importance: float | None = None,
        key: str | None = None,
        tags: Iterable[str] | None = None,
        expires_in: str = "",
        expires_at: datetime | None = None,
        happened_at: datetime | None = None,
    ) -> Memory:
        """Update an active memory and return it; changed content creates a new version.

        Raises:
            Disabled: Memory is switched off.
            InvalidInput: An argument is not valid, or none is given.
            NotFound: The owner has no active memory with this id.
            Conflict: Another memory already has the content or the key.
        """
        self._access.check_enabled()
        id_ = arguments.parse_id(id)
        now = self._access.clock.now()
        profile = self._access.get_profile(owner_id)
        end = parse_expiry(expires_in, expires_at, now)
        text, redactions = (None, 0) if content is None else validate_content(content, profile)
        changes: dict[str, object] = {
            "content": text,
            "kind": None if kind is None else validate_kind(kind, profile),
            "importance": None
            if importance is None
            else arguments.check_share(importance, "importance"),
            "key": None if key is None else validate_name(key, "key"),
            "tags": None if tags is None else validate_tags(tags),
            "expires_at": end,
            "happened_at": None
            if happened_at is None
            else arguments.check_instant(happened_at, "happened_at"),
        }
        updates = {name: value for name, value in changes.items() if value is not None}
        if not updates:
            raise InvalidInput("update", "give at least one field to change")
        return self._write_update(owner_id, id_, updates, now, redaction_details(redactions))

    def _write_update(
        self,
        owner_id: str,
        id_: str,
        changes: dict[str, object],
        now: datetime,
        details: dict[str, str],
    ) -> Memory:
        profile = self._access.get_profile(owner_id)

        def change(write_tx: WriteTransaction) -> Memory:
            tx = write_tx.tx
            old = get_active_memory(tx, id_)
            memory: Memory = replace(old, **changes, updated_at=now)  # type: ignore[arg-type] # each value was validated above
            if memory.kind != old.kind:
                validate_kind_trust(memory.kind, memory.origin)
                memory = replace(memory, previous_kind=None)  # belongs to the former kind
            (memory,) = refresh_strengths(profile, [memory], now)
            check_key_free(tx, memory)
            if memory.content != old.content:
                entry = write_tx.get_entry(self._memory_text(memory))
                check_not_duplicate(tx, memory, entry.content_key)
                memory = replace(memory, version=old.version + 1, summary=None)
                tx.revise(memory, entry)
            elif self._memory_text(memory) != self._memory_text(old):
                memory = replace(memory, version=old.version + 1)
                tx.revise(memory, write_tx.get_entry(self._memory_text(memory)))
            else:
                tx.amend(memory)
            event_details = {"fields": ",".join(sorted(changes)), **details}
            tx.record([Event(id_, Action.UPDATED, now, "user", memory.version, event_details)])
            return memory

        return self._runner.write(owner_id, change)

    def supersede(self, owner_id: str, old: str, new: str) -> Memory:
        """Supersede a memory by another one; return the superseded one.

        Raises:
            Disabled: Memory is switched off.
            NotFound: The owner has no such memory.
            Conflict: Both are the same memory, one of them is not active, or they would form a
                cycle.
        """
        self._access.check_enabled()
        old_id, new_id = arguments.parse_id(old, "old"), arguments.parse_id(new, "new")
        now = self._access.clock.now()
        with self._access.store.write(owner_id) as tx:
            stored = get_memory(tx, old_id)
            successor = get_memory(tx, new_id)
            if old_id == new_id:
                raise Conflict("a memory can't supersede itself")
            if stored.superseded_by is not None:
                raise Conflict(f"memory {old_id} is already superseded")
            if stored.state is not State.ACTIVE:
                raise Conflict(f"memory {old_id} is {stored.state}, not active")
            check_no_cycle(tx, old_id, successor)
            if successor.state is not State.ACTIVE:
                raise Conflict(f"memory {new_id} is {successor.state}, not active")
            memory = replace(stored, state=State.SUPERSEDED, superseded_by=new_id, updated_at=now)
            tx.amend(memory)
            details = {"superseded_by": new_id}
            tx.record([Event(old_id, Action.SUPERSEDED, now, "user", memory.version, details)])
            return memory

    def forget(self, owner_id: str, id: str | None, key: str | None) -> ForgetResult:
        """Forget a memory or a message, with its sources or the memories derived from it.

        Forgetting a memory also removes its sentences from the messages that it was learned from.
        Forgetting a message also forgets the memories that no other source supports. Both also
        forget the summaries that cover them, and remove their notes from the base memory. All of
        this can be restored.

        Raises:
            Disabled: Memory is switched off.
            InvalidInput: Not exactly one of `id` and `key` is given.
            NotFound: The owner has no such memory or message, or it is already forgotten.
        """
        self._access.check_enabled()
        if (id is None) == (key is None):
            raise InvalidInput("id", "give exactly one of id and key")
        now = self._access.clock.now()

        def change(write_tx: WriteTransaction) -> ForgetResult:
            target = _find_target(write_tx.tx, id, key)
            if isinstance(target, Memory):
                return self._forget_memory(write_tx, target, now)
            return self._forget_message(write_tx, target, now)

        forgotten = self._runner.write(owner_id, change)
        self._access.store.idempotency.forget_responses(owner_id)
        return forgotten

    def restore(self, owner_id: str, id: str) -> Memory | Message:
        """Reactivate an inactive memory or a forgotten message, and records forgotten with it.

        Raises:
            Disabled: Memory is switched off.
            NotFound: The owner has no such memory or message.
            Conflict: It is active, or another memory has its key or content.
        """
        self._access.check_enabled()
        id_ = arguments.parse_id(id)
        now = self._access.clock.now()

        def change(write_tx: WriteTransaction) -> Memory | Message:
            for memory in write_tx.tx.memories([id_]):
                return self.restore_memory(write_tx, memory, now)
            for message in write_tx.tx.original_messages([id_]):
                return self._restore_message(write_tx, message, now)
            raise NotFound("memory", id_)

        return self._runner.write(owner_id, change)

    def _forget_memory(
        self, write_tx: WriteTransaction, memory: Memory, now: datetime
    ) -> ForgetResult:
        tx = write_tx.tx
        message_ids = find_source_messages(tx, memory, now)
        hidden = find_forgotten_messages(tx, message_ids)
        source_ids = {source.id for source in memory.sources}
        extra = tuple(
            Source(message.id, "message", message.external_id)
            for message in tx.original_messages(message_ids)
            if message.id not in source_ids
        )
        forgotten = replace(
            memory, state=State.FORGOTTEN, sources=(*memory.sources, *extra), updated_at=now
        )
        reached = () if memory.state is State.UNSUPPORTED else message_ids
        summaries = self._forget_derived(tx, memory, reached, now)
        tx.amend(forgotten)
        details = {"state": str(memory.state)}
        tx.record([Event(memory.id, Action.FORGOTTEN, now, "user", memory.version, details)])
        touched = self._refresh_messages(write_tx, _exclude(hidden, message_ids), now)
        return ForgetResult((memory.id, *summaries), tuple(touched))

    def _forget_derived(
        self, tx: Transaction, record: Memory | Message, others: Sequence[str], now: datetime
    ) -> list[str]:
        """Forget the summaries and notes derived from a forgotten record; return the memories' ids.

        Forgetting a summary forgets nothing else, because its sources remain.
        """
        if isinstance(record, Memory) and is_summary(tx, record):
            return []
        matcher = provenance.build_paraphrase_matcher(tx, [record])
        profile = self._access.get_profile(tx.owner_id)
        summaries = provenance.find_derived_summaries(tx, (record.id, *others), matcher, profile)
        provenance.remove_base_memory_notes(tx, matcher, now)
        return provenance.forget_summaries(tx, summaries, record.id, now)

    def _forget_message(
        self, write_tx: WriteTransaction, message: Message, now: datetime
    ) -> ForgetResult:
        tx = write_tx.tx
        derived = [
            memory
            for memory in tx.derived_memories([message.id]).get(message.id, [])
            if memory.state is not State.FORGOTTEN
            and not is_summary(tx, memory)
            and not is_supported_without(tx, memory, message.id)
        ]
        forgotten = self._forget_derived(tx, message, [each.id for each in derived], now)
        tx.close_messages([message.id], now)
        tx.record([Event(message.id, Action.FORGOTTEN, now, "user", message.version)])
        for memory in derived:
            tx.amend(replace(memory, state=State.FORGOTTEN, updated_at=now))
            details = {"state": str(memory.state), "message": message.id}
            tx.record([Event(memory.id, Action.FORGOTTEN, now, "user", memory.version, details)])
            forgotten.append(memory.id)
        self._reindex_after(write_tx, message)
        return ForgetResult(tuple(forgotten), (message.id,))

    def restore_memory(self, write_tx: WriteTransaction, memory: Memory, now: datetime) -> Memory:
        """Reactivate an inactive memory within a write transaction; return it.

        Raises:
            Conflict: It is active, or another memory has its key or content.
        """
        if memory.state is State.ACTIVE:
            raise Conflict(f"memory {memory.id} is already active")
        has_sources = is_summary(write_tx.tx, memory)
        if has_sources and not provenance.can_restore_summary(write_tx.tx, memory):
            raise Conflict(f"the sources of {memory.id} are forgotten, or have another summary")
        ended = memory.expires_at is not None and memory.expires_at <= now
        restored = replace(
            memory,
            state=State.ACTIVE,
            superseded_by=None,
            expires_at=None if ended else memory.expires_at,
            version=memory.version + 1,
            updated_at=now,
        )
        tx = write_tx.tx
        entry = write_tx.get_entry(self._memory_text(memory))
        check_key_free(tx, restored)
        check_not_duplicate(tx, restored, entry.content_key)
        sources = [source.id for source in memory.sources if source.record_type == "message"]
        forgotten = find_forgotten_messages(tx, sources)
        tx.revise(restored, entry)
        details = {"state": str(memory.state)}
        tx.record([Event(memory.id, Action.RESTORED, now, "user", restored.version, details)])
        if has_sources:
            provenance.mark_sources_summarised(tx, restored, now)
        elif memory.state is State.FORGOTTEN:
            self._refresh_messages(write_tx, _exclude(forgotten, sources), now)
            self._restore_derived(write_tx, restored, sources, now)
        return restored

    def _restore_derived(
        self,
        write_tx: WriteTransaction,
        record: Memory | Message,
        others: Sequence[str],
        now: datetime,
    ) -> None:
        """Restore the summaries and notes forgotten with a record, if they are still valid."""
        tx = write_tx.tx
        matcher = provenance.build_paraphrase_matcher(tx, [record])
        profile = self._access.get_profile(tx.owner_id)
        for memory in provenance.find_restorable_summaries(
            tx, (record.id, *others), matcher, profile
        ):
            state = provenance.get_state_before_forgetting(tx, memory)
            if state is not State.ACTIVE:
                tx.amend(replace(memory, state=state, updated_at=now))
                tx.record([Event(memory.id, Action.RESTORED, now, "user", memory.version)])
            elif find_duplicate(tx, memory, content_key(memory.content)) is None:
                self.restore_memory(write_tx, memory, now)
        provenance.restore_base_memory_notes(tx, matcher, now)

    def _restore_message(
        self, write_tx: WriteTransaction, original: Message, now: datetime
    ) -> Message:
        tx = write_tx.tx
        derived = tx.derived_memories([original.id]).get(original.id, [])
        forgotten = [
            memory
            for memory in derived
            if memory.state is State.FORGOTTEN and not is_summary(tx, memory)
        ]
        restorable = [memory for memory in forgotten if was_forgotten_with(tx, memory, original.id)]
        if not restorable and tx.messages(ids=[original.id]):
            raise Conflict(f"message {original.id} is not forgotten")
        for memory in restorable:
            duplicate = find_duplicate(tx, memory, content_key(memory.content))
            if duplicate is None:
                self.restore_memory(write_tx, memory, now)
            else:
                move_source(tx, memory, duplicate, original.id, now)
        self._refresh_messages(write_tx, [original.id], now)
        messages = tx.messages(ids=[original.id])
        if not messages:
            raise Conflict(f"all its sentences are forgotten: restore memory {forgotten[0].id}")
        tx.record([Event(original.id, Action.RESTORED, now, "user", messages[0].version)])
        self._restore_derived(write_tx, messages[0], [each.id for each in restorable], now)
        return messages[0]

    def _refresh_messages(
        self, write_tx: WriteTransaction, message_ids: Sequence[str], now: datetime
    ) -> list[str]:
        """Remove forgotten sentences from messages and restore others; return the changed ids."""
        tx = write_tx.tx
        current = {message.id: message for message in tx.messages(ids=message_ids)}
        changed = []
        for original in tx.original_messages(message_ids):
            content = remaining_content(tx, original)
            visible = current.get(original.id)
            if (visible.content if visible else "") == content:
                continue
            if content:
                self._rewrite_message(write_tx, original, content, now)
            else:
                tx.close_messages([original.id], now)
            action = Action.RESTORED if content == original.content else Action.FORGOTTEN
            tx.record([Event(original.id, action, now, "user", original.version + 1)])
            self._reindex_after(write_tx, original)
            changed.append(original.id)
        return changed

    def _rewrite_message(
        self, write_tx: WriteTransaction, original: Message, content: str, now: datetime
    ) -> None:
        message = replace(original, content=content, version=original.version + 1)
        tx = write_tx.tx
        entry = write_tx.get_entry(self._message_text(tx.owner_id, message))
        tx.revise_message(message, apply_window(entry, self._get_previous_entry(tx, message)), now)

    def _reindex_after(self, write_tx: WriteTransaction, message: Message) -> None:
        """Rebuild the index entry of the next message, which contains keywords of this one."""
        tx = write_tx.tx
        for after in tx.messages(session_id=message.session_id, after=message.sequence, limit=1):
            entry = write_tx.get_entry(self._message_text(tx.owner_id, after))
            tx.reindex(after.id, apply_window(entry, self._get_previous_entry(tx, after)))

    def _get_previous_entry(self, tx: Transaction, message: Message) -> IndexEntry | None:
        before = tx.messages(session_id=message.session_id, after=message.sequence - 2, limit=1)
        if not before or before[0].sequence >= message.sequence:
            return None
        return self._indexer.build_keyword_entry(self._message_text(tx.owner_id, before[0]))

    def _memory_text(self, memory: Memory) -> IndexText:
        return memory_text(
            self._access.get_profile(memory.owner_id), memory.content, memory.kind, memory.key
        )

    def _message_text(self, owner_id: str, message: Message) -> IndexText:
        return message_text(self._access.get_profile(owner_id), message)


def _find_target(snapshot: Snapshot, id_: str | None, key: str | None) -> Memory | Message:
    """Return the record to forget."""
    if key is not None:
        keyed = snapshot.find_by_key(validate_name(key, "key"))
        if keyed is None:
            raise NotFound("key", key)
        return keyed
    target_id = arguments.parse_id(str(id_))
    for memory in snapshot.memories([target_id]):
        if memory.state is not State.FORGOTTEN:
            return memory
    for message in snapshot.messages(ids=[target_id]):
        return message
    raise NotFound("memory", target_id)


def _exclude(excluded: frozenset[str], ids: Iterable[str]) -> list[str]:
    return [id_ for id_ in ids if id_ not in excluded]
