"""Permanently removes a memory, a message, or all data of an owner."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache

from memolith.domain.memories import Action, Event, Memory, State
from memolith.domain.messages import Message
from memolith.errors import InvalidInput, NotFound
from memolith.policies import arguments
from memolith.policies.base_memory import remove_from_document
from memolith.policies.paraphrase import ParaphraseDetector, remove_sentences, strip_speaker_label
from memolith.ports.snapshot import MessageRevision
from memolith.ports.store import IndexEntry, Snapshot, Transaction
from memolith.profiles.model import Profile
from memolith.services import provenance
from memolith.services.access import Access
from memolith.services.indexing import Indexer, IndexText, apply_window, message_text
from memolith.services.provenance import (
    find_source_messages,
    is_summary,
    is_supported_without,
    stated_sentence_keys,
    supporting_sentence_keys,
)
from memolith.services.validation import validate_name
from memolith.services.write import TransactionRunner, WriteTransaction
from memolith.text.canonical_form import content_key


@dataclass(frozen=True, slots=True)
class PurgeResult:
    """The result of a purge.

    Attributes:
        memories: Ids of the removed memories.
        messages: Ids of the messages that were removed, or lost a sentence in all versions.
        compacted: Whether the store's logs were cleared too. False if a long-running reader
            prevented it; the next purge, or closing the store, tries again.
    """

    memories: tuple[str, ...]
    messages: tuple[str, ...]
    compacted: bool = True


@dataclass(frozen=True, slots=True)
class EraseResult:
    """The result of erasing an owner.

    Attributes:
        owner_id: The erased owner.
        compacted: See `PurgeResult`.
    """

    owner_id: str
    compacted: bool = True


@dataclass(frozen=True, slots=True)
class _PurgePlan:
    """The records to remove or rewrite.

    Attributes:
        memories: Ids of the memories to remove.
        messages: The remaining versions of each changed message; none: the message is removed.
        windows: The messages after those, indexed with some of their keywords.
        base_memory_versions: The new content of changed base memory versions, by version.
        released_sources: The sources of the removed summaries.
    """

    memories: tuple[str, ...]
    messages: Mapping[str, Sequence[MessageRevision]]
    windows: Mapping[str, Sequence[MessageRevision]]
    base_memory_versions: Mapping[int, str]
    released_sources: provenance.SummarySources

    @property
    def removed_ids(self) -> list[str]:
        """The ids of all removed records."""
        return [*self.memories, *(id_ for id_, remaining in self.messages.items() if not remaining)]

    @property
    def remaining_wordings(self) -> dict[str, Sequence[MessageRevision]]:
        """The remaining versions of all messages to index again."""
        changed = {id_: remaining for id_, remaining in self.messages.items() if remaining}
        return {**self.windows, **changed}


class Purger:
    """Removes records permanently, under the owner's lock."""

    def __init__(self, access: Access, indexer: Indexer) -> None:
        self._access = access
        self._indexer = indexer
        self._runner = TransactionRunner(access.store, indexer)

    def purge(self, owner_id: str, id: str | None, key: str | None) -> PurgeResult:
        """Permanently remove a memory or message, with its sources or the memories derived from it.

        Removes the same records as `MemoryEditor.forget`, including earlier versions; forgotten
        records can be purged too. Other memories lose the record as a source. Summaries that cover
        it are removed entirely.

        Raises:
            Disabled: Memory is switched off.
            InvalidInput: Not exactly one of `id` and `key` is given.
            NotFound: The owner has no such memory or message.
        """
        self._access.check_enabled()
        if (id is None) == (key is None):
            raise InvalidInput("id", "give exactly one of id and key")
        now = self._access.clock.now()
        store = self._access.store
        with store.read(owner_id) as snapshot:
            plan = self._build_plan(snapshot, _find_target(snapshot, id, key), now)
        texts = list(_index_texts(self._access.get_profile(owner_id), plan.remaining_wordings))

        def change(write_tx: WriteTransaction) -> _PurgePlan:
            plan = self._build_plan(write_tx.tx, _find_target(write_tx.tx, id, key), now)
            self._apply_plan(write_tx, plan, now)
            return plan

        plan = self._runner.write(owner_id, change, texts)
        self._indexer.clear_recent(owner_id)
        store.idempotency.forget_responses(owner_id)
        return PurgeResult(plan.memories, tuple(plan.messages), store.compact())

    def erase(self, owner_id: str) -> EraseResult:
        """Permanently remove all data of an owner, and refuse new data of that owner.

        Works even if memory is switched off. Erasing an erased owner is not an error.

        Raises:
            NotFound: The owner has no data and was never erased.
        """
        arguments.check_name(owner_id, "owner")
        store = self._access.store
        if not store.is_erased(owner_id) and owner_id not in store.owners():
            raise NotFound("owner", validate_name(owner_id, "owner"))
        store.erase(owner_id, self._access.clock.now())
        self._indexer.clear_recent(owner_id)
        return EraseResult(owner_id, store.compact())

    def readmit(self, owner_id: str) -> None:
        """Allow an erased owner to store data again.

        Raises:
            NotFound: The owner was not erased.
        """
        if not self._access.store.readmit(arguments.check_name(owner_id, "owner")):
            raise NotFound("erased owner", validate_name(owner_id, "owner"))

    def _build_plan(
        self, snapshot: Snapshot, target: Memory | Message, now: datetime
    ) -> _PurgePlan:
        if isinstance(target, Memory) and is_summary(snapshot, target):
            documents = _rewrite_base_memory(snapshot, stated_sentence_keys(snapshot, target), None)
            return _PurgePlan((target.id,), {}, {}, documents, provenance.get_summary_sources(()))
        memories = (
            [target] if isinstance(target, Memory) else _find_memories_only_from(snapshot, target)
        )
        keys = frozenset[str]().union(
            *(supporting_sentence_keys(snapshot, memory) for memory in memories)
        )
        messages, reached = _find_changed_messages(snapshot, target, keys, now)
        matcher = provenance.build_paraphrase_matcher(snapshot, [target, *memories])
        ids = (target.id, *(memory.id for memory in memories), *reached)
        summaries = provenance.find_derived_summaries(
            snapshot, ids, matcher, self._access.get_profile(snapshot.owner_id)
        )
        return _PurgePlan(
            tuple(memory.id for memory in (*memories, *summaries)),
            messages,
            _find_following_messages(snapshot, messages),
            _rewrite_base_memory(snapshot, keys, matcher),
            provenance.get_summary_sources(
                each for each in summaries if each.state is State.ACTIVE
            ),
        )

    def _apply_plan(self, write_tx: WriteTransaction, plan: _PurgePlan, now: datetime) -> None:
        tx, remaining = write_tx.tx, plan.remaining_wordings
        profile = self._access.get_profile(tx.owner_id)
        unembedded = {
            id_: [
                (each, write_tx.get_entry(message_text(profile, each.message))) for each in wordings
            ]
            for id_, wordings in remaining.items()
        }
        before = {id_: self._get_previous_wordings(tx, id_, plan) for id_ in remaining}
        versions = {memory.id: memory.version for memory in tx.memories(plan.memories)}
        plan.released_sources.release(tx, now)
        tx.purge(plan.removed_ids)
        tx.rewrite_base_memory(plan.base_memory_versions)
        for id_, pairs in unembedded.items():
            tx.rewrite_message(
                id_,
                [
                    (
                        wording.message,
                        apply_window(entry, self._get_window_entry(wording, before[id_])),
                    )
                    for wording, entry in pairs
                ],
            )
        # Version 0 stands for a message: `verify` then knows that it was removed on purpose.
        tx.record(
            [
                Event(id_, Action.PURGED, now, "user", versions.get(id_, 0))
                for id_ in plan.removed_ids
            ]
        )

    def _get_previous_wordings(
        self, tx: Transaction, id_: str, plan: _PurgePlan
    ) -> Sequence[MessageRevision]:
        """Return the versions that the message before this one has after the purge."""
        previous = tx.find_adjacent_message(id_, -1)
        if previous is None:
            return ()
        if previous in plan.messages:
            return plan.messages[previous]
        return tx.message_revisions([previous]).get(previous, ())

    def _get_window_entry(
        self, wording: MessageRevision, before: Sequence[MessageRevision]
    ) -> IndexEntry | None:
        """Return the entry of the message before a version, as of the version's time."""
        for other in reversed(before):
            if _is_visible_from(wording, other):
                text = IndexText(other.message.content, other.message.speaker)
                return self._indexer.build_keyword_entry(text)
        return None


def _is_visible_from(wording: MessageRevision, before: MessageRevision) -> bool:
    if wording.valid_to is None:
        return before.valid_to is None
    at = wording.valid_from
    return before.valid_from <= at and (before.valid_to is None or at < before.valid_to)


def _find_target(snapshot: Snapshot, id_: str | None, key: str | None) -> Memory | Message:
    """Return the record to purge, in any state."""
    if key is not None:
        keyed = snapshot.find_by_key(validate_name(key, "key"))
        if keyed is None:
            raise NotFound("key", key)
        return keyed
    target_id = arguments.parse_id(str(id_))
    for memory in snapshot.memories([target_id]):
        return memory
    for message in snapshot.original_messages([target_id]):
        return message
    raise NotFound("memory", target_id)


def _find_changed_messages(
    snapshot: Snapshot, target: Memory | Message, removed_keys: frozenset[str], now: datetime
) -> tuple[dict[str, Sequence[MessageRevision]], Sequence[str]]:
    """Return the changed messages with their remaining versions, and all source messages."""
    if not isinstance(target, Memory):
        return {target.id: ()}, ()
    wordings = snapshot.message_revisions(find_source_messages(snapshot, target, now))
    remaining = {
        id_: list(_iter_remaining_wordings(versions, removed_keys))
        for id_, versions in wordings.items()
    }
    reached = () if target.state is State.UNSUPPORTED else tuple(wordings)
    return {id_: each for id_, each in remaining.items() if each != wordings[id_]}, reached


def _rewrite_base_memory(
    snapshot: Snapshot, removed_keys: frozenset[str], matcher: ParaphraseDetector | None
) -> dict[int, str]:
    """Return the new content of base memory versions that change, by version."""

    @cache
    def is_out(sentence: str) -> bool:
        return content_key(strip_speaker_label(sentence)) in removed_keys or (
            matcher is not None and matcher(sentence)
        )

    remaining = {
        each.version: remove_from_document(each.content, is_out)
        for each in snapshot.base_memories()
    }
    return {
        each.version: remaining[each.version]
        for each in snapshot.base_memories()
        if remaining[each.version] != each.content
    }


def _iter_remaining_wordings(
    versions: Iterable[MessageRevision], removed_keys: frozenset[str]
) -> Iterator[MessageRevision]:
    """Yield the versions of a message without the removed sentences, skipping empty ones."""
    for wording in versions:
        content = remove_sentences(wording.message.content, removed_keys)
        if content:
            yield replace(wording, message=replace(wording.message, content=content))


def _find_memories_only_from(snapshot: Snapshot, message: Message) -> list[Memory]:
    """Return the memories that only this message supports."""
    derived = snapshot.derived_memories([message.id]).get(message.id, [])
    return [
        each
        for each in derived
        if not is_summary(snapshot, each) and not is_supported_without(snapshot, each, message.id)
    ]


def _find_following_messages(
    snapshot: Snapshot, changed: Mapping[str, object]
) -> dict[str, Sequence[MessageRevision]]:
    """Return the messages after changed ones, unless they change themselves."""
    following = (snapshot.find_adjacent_message(id_, 1) for id_ in changed)
    return dict(
        snapshot.message_revisions([id_ for id_ in following if id_ and id_ not in changed])
    )


def _index_texts(
    profile: Profile, wordings: Mapping[str, Sequence[MessageRevision]]
) -> Iterator[IndexText]:
    for versions in wordings.values():
        for each in versions:
            yield message_text(profile, each.message)
