"""Reviewing what is withheld: attempts to instruct a model, and what nobody has said."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from memolith.domain.items import Trait
from memolith.domain.memories import Action, Event, Memory, State
from memolith.domain.messages import Role
from memolith.domain.recall import Scope
from memolith.errors import NotFound
from memolith.policies import ids
from memolith.policies.trust import is_withheld
from memolith.services.indexing import in_window, memory_text, message_text
from memolith.services.writing import Writing

if TYPE_CHECKING:
    from datetime import datetime

    from memolith.domain.messages import Message
    from memolith.ports.store import Snapshot
    from memolith.services.access import Access
    from memolith.services.change import Changing, Forgotten
    from memolith.services.indexing import Indexer
    from memolith.services.writing import Underway

_UNSUPPORTED = frozenset({State.UNSUPPORTED})


class Reviewing:
    """Shows what waits for a review, and takes the verdicts."""

    def __init__(self, access: Access, indexer: Indexer, changing: Changing) -> None:
        """Use these."""
        self._access = access
        self._indexer = indexer
        self._writing = Writing(access.store, indexer)
        self._changing = changing

    def waiting(self, owner_id: str) -> tuple[Memory | Message, ...]:
        """Return the memories and messages that are withheld, in the order they were stored."""
        now = self._access.clock.now()
        with self._access.store.read(owner_id) as snapshot:
            found = _withheld(snapshot, now)
            records: dict[str, Memory | Message] = {
                memory.id: memory for memory in snapshot.memories(found)
            }
            records |= {message.id: message for message in snapshot.messages(ids=found)}
        return tuple(records[id_] for id_ in found)

    def approve(self, owner_id: str, id: str) -> Memory | Message:
        """Let a withheld memory or message be recalled, still as a quotation; return it.

        Raises:
            Disabled: Memory is switched off.
            InvalidInput: That is no id.
            NotFound: Nothing with it waits for a review.
        """
        self._access.check_enabled()
        id_ = ids.parse(id)
        now = self._access.clock.now()

        def change(underway: Underway) -> Memory | Message:
            _check_waits(underway.tx, id_, now)
            for memory in underway.tx.memories([id_]):
                if memory.state is not State.UNSUPPORTED:
                    return self._approve_memory(underway, memory, now)
                return self._changing.restored(underway, memory, now)
            return self._approve_message(underway, underway.tx.messages(ids=[id_])[0], now)

        return self._writing.write(owner_id, change)

    def reject(self, owner_id: str, id: str) -> Forgotten:
        """Forget a withheld memory or message; say what was touched. `restore` undoes it.

        Raises:
            Disabled: Memory is switched off.
            InvalidInput: That is no id.
            NotFound: Nothing with it waits for a review.
        """
        id_ = ids.parse(id)
        with self._access.store.read(owner_id) as snapshot:
            _check_waits(snapshot, id_, self._access.clock.now())
        return self._changing.forget(owner_id, id_, None)

    def _approve_memory(self, underway: Underway, memory: Memory, now: datetime) -> Memory:
        tx = underway.tx
        profile = self._access.profile(tx.owner_id)
        entry = underway.entry(memory_text(profile, memory.content, memory.kind, memory.key))
        approved = replace(memory, version=memory.version + 1, updated_at=now)
        tx.revise(approved, entry.reviewed())
        tx.record([Event(memory.id, Action.APPROVED, now, "user", approved.version)])
        return approved

    def _approve_message(self, underway: Underway, message: Message, now: datetime) -> Message:
        tx = underway.tx
        profile = self._access.profile(tx.owner_id)
        entry = underway.entry(message_text(profile, message))
        before = tx.messages(session_id=message.session_id, after=message.sequence - 2, limit=1)
        previous = before[0] if before and before[0].sequence < message.sequence else None
        window = (
            None
            if previous is None
            else self._indexer.keywords_only(message_text(profile, previous))
        )
        tx.reindex(message.id, in_window(entry.reviewed(), window))
        tx.record([Event(message.id, Action.APPROVED, now, "user", message.version)])
        return message


def _withheld(snapshot: Snapshot, now: datetime) -> list[str]:
    items = snapshot.items(snapshot.marked(Trait.SUSPICIOUS, Scope(now=now)))
    suspicious = [
        id_
        for id_, traits, role in zip(items.record_id, items.traits, items.role, strict=True)
        if is_withheld(int(traits), by_user=role is Role.USER)
    ]
    return [*suspicious, *snapshot.vitals(states=_UNSUPPORTED).id]


def _check_waits(snapshot: Snapshot, id_: str, now: datetime) -> None:
    if id_ not in _withheld(snapshot, now):
        raise NotFound("text to review", id_)
