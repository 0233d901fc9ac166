"""Reviews quarantined records: suspected prompt injections and unsupported facts."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from memolith.domain.memories import Action, Event, Memory, State, Trait
from memolith.domain.messages import Message, Role
from memolith.domain.recall import SearchFilter
from memolith.errors import NotFound
from memolith.policies import arguments
from memolith.policies.trust import is_quarantined
from memolith.ports.store import Snapshot
from memolith.services.access import Access
from memolith.services.indexing import Indexer, apply_window, memory_text, message_text
from memolith.services.lifecycle import ForgetResult, MemoryEditor
from memolith.services.write import TransactionRunner, WriteTransaction

_UNSUPPORTED_STATES = frozenset({State.UNSUPPORTED})


class ReviewQueue:
    """Lists quarantined records, and approves or rejects them."""

    def __init__(self, access: Access, indexer: Indexer, editor: MemoryEditor) -> None:
        self._access = access
        self._indexer = indexer
        self._runner = TransactionRunner(access.store, indexer)
        self._editor = editor

    def list_quarantined(self, owner_id: str) -> tuple[Memory | Message, ...]:
        """Return the quarantined memories and messages: suspicious ones, then unsupported facts."""
        now = self._access.clock.now()
        with self._access.store.read(owner_id) as snapshot:
            ids = _find_quarantined(snapshot, now)
            records: dict[str, Memory | Message] = {
                memory.id: memory for memory in snapshot.memories(ids)
            }
            records |= {message.id: message for message in snapshot.messages(ids=ids)}
        return tuple(records[id_] for id_ in ids)

    def approve(self, owner_id: str, id: str) -> Memory | Message:
        """Release a quarantined memory or message, and return it; it is still shown as a quotation.

        Raises:
            Disabled: Memory is switched off.
            InvalidInput: `id` is not a valid id.
            NotFound: No quarantined record has this id.
        """
        self._access.check_enabled()
        id_ = arguments.parse_id(id)
        now = self._access.clock.now()

        def change(write_tx: WriteTransaction) -> Memory | Message:
            _check_quarantined(write_tx.tx, id_, now)
            for memory in write_tx.tx.memories([id_]):
                if memory.state is not State.UNSUPPORTED:
                    return self._approve_memory(write_tx, memory, now)
                return self._editor.restore_memory(write_tx, memory, now)
            return self._approve_message(write_tx, write_tx.tx.messages(ids=[id_])[0], now)

        return self._runner.write(owner_id, change)

    def reject(self, owner_id: str, id: str) -> ForgetResult:
        """Forget a quarantined memory or message; `restore` undoes it.

        Raises:
            Disabled: Memory is switched off.
            InvalidInput: `id` is not a valid id.
            NotFound: No quarantined record has this id.
        """
        id_ = arguments.parse_id(id)
        with self._access.store.read(owner_id) as snapshot:
            _check_quarantined(snapshot, id_, self._access.clock.now())
        return self._editor.forget(owner_id, id_, None)

    def _approve_memory(self, write_tx: WriteTransaction, memory: Memory, now: datetime) -> Memory:
        tx = write_tx.tx
        profile = self._access.get_profile(tx.owner_id)
        entry = write_tx.get_entry(memory_text(profile, memory.content, memory.kind, memory.key))
        approved = replace(memory, version=memory.version + 1, updated_at=now)
        tx.revise(approved, entry.mark_reviewed())
        tx.record([Event(memory.id, Action.APPROVED, now, "user", approved.version)])
        return approved

    def _approve_message(
        self, write_tx: WriteTransaction, message: Message, now: datetime
    ) -> Message:
        tx = write_tx.tx
        profile = self._access.get_profile(tx.owner_id)
        entry = write_tx.get_entry(message_text(profile, message))
        before = tx.messages(session_id=message.session_id, after=message.sequence - 2, limit=1)
        previous = before[0] if before and before[0].sequence < message.sequence else None
        window = (
            None
            if previous is None
            else self._indexer.build_keyword_entry(message_text(profile, previous))
        )
        tx.reindex(message.id, apply_window(entry.mark_reviewed(), window))
        tx.record([Event(message.id, Action.APPROVED, now, "user", message.version)])
        return message


def _find_quarantined(snapshot: Snapshot, now: datetime) -> list[str]:
    items = snapshot.items(snapshot.items_with_traits(Trait.SUSPICIOUS, SearchFilter(now=now)))
    suspicious = [
        id_
        for id_, traits, role in zip(items.record_id, items.traits, items.role, strict=True)
        if is_quarantined(int(traits), by_user=role is Role.USER)
    ]
    return [*suspicious, *snapshot.memory_stats(states=_UNSUPPORTED_STATES).id]


def _check_quarantined(snapshot: Snapshot, id_: str, now: datetime) -> None:
    if id_ not in _find_quarantined(snapshot, now):
        raise NotFound("text to review", id_)
