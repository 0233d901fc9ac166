"""What was made of what is forgotten or purged: summaries go with it, and notes of the base memory.

A summary says what all its sources say together, so that it goes as a whole. What is left of its
sources counts as not summarised again: the next consolidation writes another. An entry that stands
for a history has no sources here; it goes where it tells what is forgotten.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from memolith.domain.memories import Action, Event, Memory, State
from memolith.policies.condensing import SUMMARY_KIND
from memolith.policies.documents import remove_from_document
from memolith.policies.folding import sentence_keys
from memolith.policies.histories import is_entry
from memolith.policies.kinds import get_profile_kind
from memolith.policies.retold import ParaphraseDetector, build_paraphrase_detector
from memolith.services.paging import iter_memories
from memolith.services.remains import (
    find_source_sentences,
    get_last_forget_event,
    get_versions,
    is_summary,
)
from memolith.text.sentences import sentences

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from memolith.domain.messages import Message
    from memolith.ports.store import Snapshot, Transaction
    from memolith.profiles.model import Profile

_FORGOTTEN_STATES = frozenset({State.FORGOTTEN})


@dataclass(frozen=True, slots=True)
class SummarySources:
    """Sources of summaries that go.

    Attributes:
        messages: Ids of those that are messages.
        memories: Ids of those that are memories.
    """

    messages: tuple[str, ...]
    memories: tuple[str, ...]

    def release(self, tx: Transaction, now: datetime) -> None:
        """Let them count as not summarised again, as far as they are still there."""
        tx.mark_summarised(self.messages, None)
        for memory in tx.memories(self.memories):
            if memory.compressed and memory.state is not State.FORGOTTEN:
                tx.amend(replace(memory, compressed=False, updated_at=now))


def get_summary_sources(summaries: Iterable[Memory]) -> SummarySources:
    """Return what summaries stand for."""
    found = {source: None for each in summaries for source in each.sources}
    return SummarySources(
        tuple(source.id for source in found if source.record_type == "message"),
        tuple(source.id for source in found if source.record_type == "memory"),
    )


def find_derived_summaries(
    snapshot: Snapshot, ids: Sequence[str], matcher: ParaphraseDetector, profile: Profile
) -> list[Memory]:
    """Return the summaries that stand for any of these records, and entries that tell of them.

    Args:
        snapshot: Where they are.
        ids: The records.
        told: What they tell.
        profile: The owner's.

    Returns:
        In any state, oldest first.
    """
    derived = snapshot.derived_memories(ids).values()
    found = {each.id: each for memories in derived for each in memories if each.id not in ids}
    summaries = [each for each in found.values() if is_summary(snapshot, each)]
    entries = [
        each
        for each in iter_memories(
            snapshot, frozenset(State), frozenset({get_profile_kind(SUMMARY_KIND, profile)})
        )
        if is_entry(each.key) and each.id not in ids and _mentions(each.content, matcher)
    ]
    return sorted((*summaries, *entries), key=lambda memory: (memory.created_at, memory.id))


def build_paraphrase_matcher(
    snapshot: Snapshot, records: Iterable[Memory | Message]
) -> ParaphraseDetector:
    """Return what tells whether a sentence tells what records say, or have said."""
    said: dict[str, Message | None] = {}
    for each in records:
        if isinstance(each, Memory):
            contents = [version.content for version in get_versions(snapshot, each)]
            said |= dict.fromkeys((*contents, *find_source_sentences(snapshot, each)))
        else:
            said[each.content] = each
    days = [None if each is None or each.at is None else each.at.date() for each in said.values()]
    return build_paraphrase_detector(list(said), days, [snapshot.owner_id])


def build_forgotten_matcher(snapshot: Snapshot) -> ParaphraseDetector:
    """Return what tells whether a sentence tells anything that is forgotten."""
    memories = iter_memories(snapshot, _FORGOTTEN_STATES)
    gone = [each for each in memories if not is_summary(snapshot, each)]
    return build_paraphrase_matcher(snapshot, (*gone, *snapshot.forgotten_messages()))


def forget_summaries(
    tx: Transaction, summaries: Iterable[Memory], source_id: str, now: datetime
) -> list[str]:
    """Let summaries go with a record that is forgotten; return which went now."""
    gone = [each for each in summaries if each.state is not State.FORGOTTEN]
    for each in gone:
        tx.amend(replace(each, state=State.FORGOTTEN, updated_at=now))
        details = {"state": str(each.state), "source": source_id}
        tx.record([Event(each.id, Action.FORGOTTEN, now, "user", each.version, details)])
    get_summary_sources(each for each in gone if each.state is State.ACTIVE).release(tx, now)
    return [each.id for each in gone]


def remove_base_memory_notes(tx: Transaction, matcher: ParaphraseDetector, now: datetime) -> None:
    """Write a version of the base memory without the notes that tell what is forgotten."""
    document = tx.base_memory()
    if document is not None:
        left = remove_from_document(document.content, matcher)
        if left != document.content:
            tx.set_base_memory(left, sources=document.sources, at=now)


def restore_base_memory_notes(tx: Transaction, matcher: ParaphraseDetector, now: datetime) -> None:
    """Write a version with the notes that a forgetting left out, if nothing else came since.

    Args:
        tx: With what is restored being there again.
        told: What is restored.
        now: The time.
    """
    versions = tx.base_memories()
    if not versions:
        return
    hidden = build_forgotten_matcher(tx)
    content = versions[-1].content
    since: frozenset[str] = frozenset()
    for older in reversed(versions):
        said = sentence_keys(older.content)
        lost = _find_lost_sentences(older.content, versions[-1].content)
        if since <= said and all(matcher(each) or hidden(each) for each in lost):
            content = older.content
        since |= said
    content = remove_from_document(content, hidden)
    if content != versions[-1].content:
        tx.set_base_memory(content, sources=versions[-1].sources, at=now)


def _find_lost_sentences(before: str, after: str) -> list[str]:
    """Return the sentences that a document has lost."""
    kept = sentence_keys(after)
    said = (span.extract(before) for span in sentences(before))
    return [each.removeprefix("- ") for each in said if not sentence_keys(each) <= kept]


def find_restorable_summaries(
    snapshot: Snapshot, ids: Sequence[str], matcher: ParaphraseDetector, profile: Profile
) -> list[Memory]:
    """Return the summaries that went with any of these records and may stand again; see there."""
    return [
        each
        for each in find_derived_summaries(snapshot, ids, matcher, profile)
        if each.state is State.FORGOTTEN
        and _was_forgotten_with_source(snapshot, each)
        and can_restore_summary(snapshot, each)
    ]


def can_restore_summary(snapshot: Snapshot, summary: Memory) -> bool:
    """Tell whether a summary may stand for its sources again.

    All of them must be there as a whole, and no other summary stand for any. An entry must tell
    nothing that is forgotten.
    """
    if is_entry(summary.key):
        return not _mentions(summary.content, build_forgotten_matcher(snapshot))
    parts = get_summary_sources([summary])
    there = {message.id: message.content for message in snapshot.messages(ids=parts.messages)}
    said = snapshot.original_messages(parts.messages)
    if any(there.get(each.id) != each.content for each in said):
        return False
    if any(each.state is State.FORGOTTEN for each in snapshot.memories(parts.memories)):
        return False
    others = snapshot.derived_memories((*parts.messages, *parts.memories)).values()
    return not any(
        each.id != summary.id and each.state is State.ACTIVE and is_summary(snapshot, each)
        for memories in others
        for each in memories
    )


def mark_sources_summarised(tx: Transaction, summary: Memory, now: datetime) -> None:
    """Let the sources of a summary that is active again count as summarised."""
    parts = get_summary_sources([summary])
    tx.mark_summarised(parts.messages, now)
    for memory in tx.memories(parts.memories):
        if not memory.compressed and memory.state is not State.FORGOTTEN:
            tx.amend(replace(memory, compressed=True, updated_at=now))


def get_state_before_forgetting(snapshot: Snapshot, memory: Memory) -> State:
    """Return what a forgotten memory was before."""
    last = get_last_forget_event(snapshot, memory)
    return State(last.details.get("state", State.ACTIVE)) if last else State.ACTIVE


def _was_forgotten_with_source(snapshot: Snapshot, memory: Memory) -> bool:
    """Tell whether a memory was last forgotten for the sake of another record."""
    last = get_last_forget_event(snapshot, memory)
    return last is not None and "source" in last.details


def _mentions(content: str, matcher: ParaphraseDetector) -> bool:
    return any(matcher(span.extract(content)) for span in sentences(content))
