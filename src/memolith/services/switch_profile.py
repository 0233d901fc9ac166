"""Switches an owner to another profile, converting kinds so that switching back loses nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from memolith.domain.memories import Action, Event, Memory, State
from memolith.domain.messages import Message
from memolith.errors import InvalidInput
from memolith.policies import arguments
from memolith.policies.classification import add_previous_kind, convert_kind, parse_previous_kinds
from memolith.ports.store import IndexEntry, Snapshot
from memolith.profiles.model import Profile
from memolith.services.access import Access, iter_memories
from memolith.services.indexing import Indexer, IndexText, apply_window, memory_text, message_text
from memolith.services.write import TransactionRunner, WriteTransaction

_ALL_STATES = frozenset(State)
_BATCH_SIZE = 256


@dataclass(frozen=True, slots=True)
class ProfileSwitch:
    """The effect of a profile switch.

    Attributes:
        before: The old profile.
        after: The new profile.
        kinds: Old kind, new kind and number of memories, most frequent first.
        messages: The number of messages to embed because the new profile recalls messages.
        dry_run: Whether nothing was changed.
    """

    before: str
    after: str
    kinds: tuple[tuple[str, str, int], ...]
    messages: int
    dry_run: bool = False


class ProfileSwitcher:
    """Switches owners between profiles."""

    def __init__(self, access: Access, indexer: Indexer) -> None:
        self._access = access
        self._indexer = indexer
        self._runner = TransactionRunner(access.store, indexer)

    def switch(
        self,
        owner_id: str,
        name: str,
        *,
        dry_run: bool = False,
        advance: Callable[[int], None] | None = None,
    ) -> ProfileSwitch:
        """Switch an owner to another profile in one transaction.

        Args:
            owner_id: The owner.
            name: The new profile.
            dry_run: Only return the effect.
            advance: Called with the number of texts embedded since the last call.

        Raises:
            Disabled: Memory is switched off.
            InvalidInput: There is no such profile.
            ServiceFailed: The embedder failed; the old profile remains.
        """
        self._access.check_enabled()
        target = self._get_profile(name)
        source = self._access.find_profile(owner_id)
        if source is None:  # its definition is missing: kinds of the new profile stay
            source = replace(target, name=self._access.get_profile_name(owner_id))
        with self._access.store.read(owner_id) as snapshot:
            memories = list(iter_memories(snapshot, _ALL_STATES))
            missing = self._find_unembedded(snapshot, target) if target.should_embed(None) else []
        pairs = Counter(
            (each.kind, _convert_memory(each, source, target).kind) for each in memories
        )
        counted = tuple((old, new, count) for (old, new), count in pairs.most_common())
        result = ProfileSwitch(source.name, target.name, counted, len(missing), dry_run)
        if dry_run or source.name == target.name:
            return result
        converted = [
            _convert_memory(each, source, target) for each in memories if each.state is State.ACTIVE
        ]
        texts = [message_text(target, message) for message in missing]
        texts += [_index_text(target, memory) for memory in converted]
        now = self._access.clock.now()

        def change(write_tx: WriteTransaction) -> None:
            self._apply(write_tx, source, target, now)

        self._runner.write(owner_id, change, texts, advance)
        return result

    def _get_profile(self, name: str) -> Profile:
        profile = self._access.profiles.get(name)
        if profile is None:
            names = ", ".join(self._access.profiles)
            raise InvalidInput("profile", f"{arguments.format_value(name)} is not one of {names}")
        return profile

    def _apply(
        self, write_tx: WriteTransaction, source: Profile, target: Profile, now: datetime
    ) -> None:
        tx = write_tx.tx
        for memory in list(iter_memories(tx, _ALL_STATES)):
            self._move_memory(write_tx, memory, source, target, now)
        if target.should_embed(None):
            for message in self._find_unembedded(tx, target):
                tx.reindex(message.id, self._build_entry(write_tx, message, target))
        tx.set_profile(target.name)

    def _move_memory(
        self,
        write_tx: WriteTransaction,
        memory: Memory,
        source: Profile,
        target: Profile,
        now: datetime,
    ) -> None:
        tx = write_tx.tx
        converted = _convert_memory(memory, source, target)
        if memory.state is State.ACTIVE and _needs_reindex(
            _index_text(source, memory), _index_text(target, converted)
        ):
            converted = replace(converted, version=memory.version + 1)
            tx.revise(
                replace(converted, updated_at=now),
                write_tx.get_entry(_index_text(target, converted)),
            )
        elif converted != memory:
            tx.amend(converted)
        else:
            return
        details = {"fields": "kind", "was": memory.kind, "profile": target.name}
        tx.record([Event(memory.id, Action.UPDATED, now, "profile", converted.version, details)])

    def _find_unembedded(self, snapshot: Snapshot, target: Profile) -> list[Message]:
        """Return the messages without vectors."""
        messages = snapshot.messages()
        unembedded = []
        for first in range(0, len(messages), _BATCH_SIZE):
            batch = messages[first : first + _BATCH_SIZE]
            entries = [
                self._indexer.build_keyword_entry(message_text(target, each)) for each in batch
            ]
            digests = [{part.digest for part in entry.passages if part.digest} for entry in entries]
            embedded = snapshot.vectors([digest for each in digests for digest in each])
            unembedded += [
                message
                for message, needed in zip(batch, digests, strict=True)
                if not needed <= embedded.keys()
            ]
        return unembedded

    def _build_entry(
        self, write_tx: WriteTransaction, message: Message, target: Profile
    ) -> IndexEntry:
        tx = write_tx.tx
        entry = write_tx.get_entry(message_text(target, message))
        before = tx.messages(session_id=message.session_id, after=message.sequence - 2, limit=1)
        if not before or before[0].sequence >= message.sequence:
            return entry
        return apply_window(
            entry,
            self._indexer.build_keyword_entry(IndexText(before[0].content, before[0].speaker)),
        )


def _index_text(profile: Profile, memory: Memory) -> IndexText:
    return memory_text(profile, memory.content, memory.kind, memory.key)


def _needs_reindex(before: IndexText, after: IndexText) -> bool:
    """Return whether the index lacks a vector or key words that the new profile needs."""
    return (after.should_embed and not before.should_embed) or (
        after.key is not None and before.key is None
    )


def _convert_memory(memory: Memory, source: Profile, target: Profile) -> Memory:
    """Return a memory converted to another profile."""
    previous_kinds = parse_previous_kinds(memory.previous_kind)
    previous_kind = previous_kinds.get(target.name)
    is_own = previous_kind in (*target.kinds, target.consolidation.kind)
    kind = previous_kind if previous_kind and is_own else convert_kind(memory.kind, source, target)
    return replace(
        memory,
        kind=kind,
        previous_kind=add_previous_kind(memory.previous_kind, source.name, memory.kind),
    )
