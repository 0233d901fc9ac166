"""Tracks where memories come from, for forgetting, restoring and purging with all derived data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime

import numpy as np

from memolith.domain.memories import EPISODE, Action, Event, Memory, State
from memolith.domain.messages import Message
from memolith.domain.recall import SearchFilter
from memolith.policies.base_memory import remove_from_document
from memolith.policies.classification import get_profile_kind
from memolith.policies.consolidation import SUMMARY_KIND
from memolith.policies.evidence import read_sources
from memolith.policies.grounding import find_support
from memolith.policies.histories import is_entry
from memolith.policies.paraphrase import (
    ParaphraseDetector,
    build_paraphrase_detector,
    remove_sentences,
    sentence_keys,
    strip_speaker_label,
)
from memolith.ports.index import PART_BITS
from memolith.ports.store import Snapshot, Transaction
from memolith.profiles.model import Profile
from memolith.services.access import iter_memories
from memolith.services.extract import LEARN_ACTOR as LEARNED
from memolith.text.analysis import terms
from memolith.text.canonical_form import content_key
from memolith.text.segmentation import sentences


def is_summary(snapshot: Snapshot, memory: Memory) -> bool:
    """Return whether a memory is a summary of memories, messages or a history."""
    history = snapshot.history(memory.id)
    events = history.events if history else ()
    return any(event.action is Action.CONDENSED for event in events)


def get_versions(snapshot: Snapshot, memory: Memory) -> list[Memory]:
    """Return the current and all earlier versions of a memory."""
    history = snapshot.history(memory.id)
    return [memory, *(version.memory for version in (history.versions if history else ()))]


def find_source_messages(snapshot: Snapshot, memory: Memory, now: datetime) -> list[str]:
    """Return the sources of a memory, and all other messages that contain one of its sentences.

    Summaries have none, because forgetting a summary does not forget its sources.
    """
    if is_summary(snapshot, memory):
        return []
    message_ids: list[str] = []
    for version in get_versions(snapshot, memory):
        message_ids += [source.id for source in version.sources if source.record_type == "message"]
        same = snapshot.find_by_content(content_key(version.content))
        message_ids += [record.id for record in same if not isinstance(record, Memory)]
    for sentence in _get_sentences(snapshot, memory):
        message_ids += _find_messages_saying(snapshot, sentence, now)
    return list(dict.fromkeys(message_ids))


def _get_sentences(snapshot: Snapshot, memory: Memory) -> list[str]:
    current = (
        strip_speaker_label(span.extract(version.content))
        for version in get_versions(snapshot, memory)
        for span in sentences(version.content)
    )
    return list(dict.fromkeys((*current, *find_source_sentences(snapshot, memory))))


def _find_messages_saying(snapshot: Snapshot, sentence: str, now: datetime) -> list[str]:
    """Return the messages that contain a sentence as a whole."""
    words = list(dict.fromkeys(terms(sentence)))
    if not words:
        return []
    postings = snapshot.postings(words, SearchFilter(now=now, kinds=frozenset({EPISODE})))
    matches = np.bincount(postings.slot, minlength=len(postings.passages))
    numbers = np.unique(postings.passages[matches == len(words)] >> PART_BITS)
    messages = snapshot.messages(ids=list(snapshot.items(numbers).record_id))
    key = content_key(sentence)
    return [message.id for message in messages if key in sentence_keys(message.content)]


def stated_sentence_keys(snapshot: Snapshot, memory: Memory) -> frozenset[str]:
    """Return the keys of all sentences in all versions of a memory."""
    return frozenset().union(*(sentence_keys(v.content) for v in get_versions(snapshot, memory)))


def supporting_sentence_keys(snapshot: Snapshot, memory: Memory) -> frozenset[str]:
    """Return the keys of a memory's own sentences and of its source sentences."""
    source_sentences = find_source_sentences(snapshot, memory)
    return stated_sentence_keys(snapshot, memory) | {
        content_key(strip_speaker_label(sentence)) for sentence in source_sentences
    }


def find_source_sentences(snapshot: Snapshot, memory: Memory) -> list[str]:
    """Return the source sentences that a memory rephrases.

    Only for memories learned from messages, not for those stored separately.
    """
    history = snapshot.history(memory.id)
    if not any(event.actor == LEARNED for event in (history.events if history else ())):
        return []
    versions = get_versions(snapshot, memory)
    ids = dict.fromkeys(s.id for v in versions for s in v.sources if s.record_type == "message")
    if not ids:
        return []
    source_sentences = list(_iter_sentences(snapshot.original_messages(list(ids))))
    keys = {content_key(strip_speaker_label(sentence)) for sentence, _ in source_sentences}
    rephrased = [v.content for v in versions if not sentence_keys(v.content) <= keys]
    if not rephrased:
        return []
    texts = read_sources(
        [one for one, _ in source_sentences],
        [day for _, day in source_sentences],
        [snapshot.owner_id],
    )
    places = {
        place for content in dict.fromkeys(rephrased) for place in find_support(content, texts)
    }
    return [source_sentences[place][0] for place in sorted(places)]


def _iter_sentences(messages: Iterable[Message]) -> Iterator[tuple[str, date | None]]:
    for message in messages:
        for span in sentences(message.content):
            yield span.extract(message.content), None if message.at is None else message.at.date()


def remaining_content(snapshot: Snapshot, original: Message) -> str:
    """Return a message's content without the sentences of forgotten memories."""
    forgotten: frozenset[str] = frozenset()
    for memory in snapshot.derived_memories([original.id]).get(original.id, []):
        if memory.state is State.FORGOTTEN and not is_summary(snapshot, memory):
            forgotten |= supporting_sentence_keys(snapshot, memory)
    return remove_sentences(original.content, forgotten) if forgotten else original.content


def find_forgotten_messages(snapshot: Snapshot, message_ids: Sequence[str]) -> frozenset[str]:
    """Return the ids of messages that were forgotten explicitly, not just emptied by memories."""
    visible_ids = {message.id for message in snapshot.messages(ids=message_ids)}
    return frozenset(
        original.id
        for original in snapshot.original_messages(message_ids)
        if original.id not in visible_ids and remaining_content(snapshot, original)
    )


def was_forgotten_with(snapshot: Snapshot, memory: Memory, message_id: str) -> bool:
    """Return whether a memory was last forgotten because the message was."""
    last = get_last_forget_event(snapshot, memory)
    return last is not None and last.details.get("message") == message_id


def get_last_forget_event(snapshot: Snapshot, memory: Memory) -> Event | None:
    """Return the event of the last time that a memory was forgotten; None: it never was."""
    history = snapshot.history(memory.id)
    events = history.events if history else ()
    return next((each for each in reversed(events) if each.action is Action.FORGOTTEN), None)


def is_supported_without(snapshot: Snapshot, memory: Memory, message_id: str) -> bool:
    """Return whether the other sources of a memory support it without the message."""
    ids = [source.id for source in memory.sources if source.id != message_id]
    if any(source.record_type == "memory" for source in memory.sources if source.id != message_id):
        return True
    remaining = list(_iter_sentences(snapshot.messages(ids=ids)))
    if sentence_keys(memory.content) <= {
        content_key(strip_speaker_label(sentence)) for sentence, _ in remaining
    }:
        return True
    texts = read_sources(
        [one for one, _ in remaining], [day for _, day in remaining], [snapshot.owner_id]
    )
    return bool(find_support(memory.content, texts))


# --- Derived summaries and notes


_FORGOTTEN_STATES = frozenset({State.FORGOTTEN})


@dataclass(frozen=True, slots=True)
class SummarySources:
    """The sources of removed summaries.

    Attributes:
        messages: Ids of the messages.
        memories: Ids of the memories.
    """

    messages: tuple[str, ...]
    memories: tuple[str, ...]

    def release(self, tx: Transaction, now: datetime) -> None:
        """Mark the existing sources as not summarised."""
        tx.mark_summarised(self.messages, None)
        for memory in tx.memories(self.memories):
            if memory.compressed and memory.state is not State.FORGOTTEN:
                tx.amend(replace(memory, compressed=False, updated_at=now))


def get_summary_sources(summaries: Iterable[Memory]) -> SummarySources:
    """Return the sources of summaries."""
    sources = {source: None for each in summaries for source in each.sources}
    return SummarySources(
        tuple(source.id for source in sources if source.record_type == "message"),
        tuple(source.id for source in sources if source.record_type == "memory"),
    )


def find_derived_summaries(
    snapshot: Snapshot, ids: Sequence[str], matcher: ParaphraseDetector, profile: Profile
) -> list[Memory]:
    """Return the summaries that cover or mention any of the records.

    Args:
        snapshot: The owner's snapshot.
        ids: The records.
        matcher: Detects sentences that restate the records.
        profile: The owner's profile.

    Returns:
        Summaries in any state, oldest first.
    """
    derived = snapshot.derived_memories(ids).values()
    memories_by_id = {
        each.id: each for memories in derived for each in memories if each.id not in ids
    }
    summaries = [each for each in memories_by_id.values() if is_summary(snapshot, each)]
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
    """Return a detector of sentences that restate any version of the records."""
    texts: dict[str, Message | None] = {}
    for each in records:
        if isinstance(each, Memory):
            contents = [version.content for version in get_versions(snapshot, each)]
            texts |= dict.fromkeys((*contents, *find_source_sentences(snapshot, each)))
        else:
            texts[each.content] = each
    days = [None if each is None or each.at is None else each.at.date() for each in texts.values()]
    return build_paraphrase_detector(list(texts), days, [snapshot.owner_id])


def build_forgotten_matcher(snapshot: Snapshot) -> ParaphraseDetector:
    """Return a detector of sentences that restate forgotten records."""
    memories = iter_memories(snapshot, _FORGOTTEN_STATES)
    forgotten = [each for each in memories if not is_summary(snapshot, each)]
    return build_paraphrase_matcher(snapshot, (*forgotten, *snapshot.forgotten_messages()))


def forget_summaries(
    tx: Transaction, summaries: Iterable[Memory], source_id: str, now: datetime
) -> list[str]:
    """Forget summaries together with a source record; return the ids of those forgotten now."""
    forgotten = [each for each in summaries if each.state is not State.FORGOTTEN]
    for each in forgotten:
        tx.amend(replace(each, state=State.FORGOTTEN, updated_at=now))
        details = {"state": str(each.state), "source": source_id}
        tx.record([Event(each.id, Action.FORGOTTEN, now, "user", each.version, details)])
    get_summary_sources(each for each in forgotten if each.state is State.ACTIVE).release(tx, now)
    return [each.id for each in forgotten]


def remove_base_memory_notes(tx: Transaction, matcher: ParaphraseDetector, now: datetime) -> None:
    """Write a version of the base memory without notes about forgotten records."""
    document = tx.base_memory()
    if document is not None:
        remaining = remove_from_document(document.content, matcher)
        if remaining != document.content:
            tx.set_base_memory(remaining, sources=document.sources, at=now)


def restore_base_memory_notes(tx: Transaction, matcher: ParaphraseDetector, now: datetime) -> None:
    """Write a version of the base memory with the notes that forgetting removed, if still valid.

    Args:
        tx: A transaction in which the record is already restored.
        matcher: Detects sentences that restate the record.
        now: The current time.
    """
    versions = tx.base_memories()
    if not versions:
        return
    still_forgotten = build_forgotten_matcher(tx)
    content = versions[-1].content
    later_keys: frozenset[str] = frozenset()
    for older in reversed(versions):
        older_keys = sentence_keys(older.content)
        removed = _find_lost_sentences(older.content, versions[-1].content)
        if later_keys <= older_keys and all(
            matcher(each) or still_forgotten(each) for each in removed
        ):
            content = older.content
        later_keys |= older_keys
    content = remove_from_document(content, still_forgotten)
    if content != versions[-1].content:
        tx.set_base_memory(content, sources=versions[-1].sources, at=now)


def _find_lost_sentences(before: str, after: str) -> list[str]:
    """Return the sentences that a document has lost."""
    kept_keys = sentence_keys(after)
    previous = (span.extract(before) for span in sentences(before))
    return [each.removeprefix("- ") for each in previous if not sentence_keys(each) <= kept_keys]


def find_restorable_summaries(
    snapshot: Snapshot, ids: Sequence[str], matcher: ParaphraseDetector, profile: Profile
) -> list[Memory]:
    """Return the summaries forgotten with any of the records that can be restored now."""
    return [
        each
        for each in find_derived_summaries(snapshot, ids, matcher, profile)
        if each.state is State.FORGOTTEN
        and _was_forgotten_with_source(snapshot, each)
        and can_restore_summary(snapshot, each)
    ]


def can_restore_summary(snapshot: Snapshot, summary: Memory) -> bool:
    """Return whether a forgotten summary can be restored.

    All of its sources must exist unchanged, and have no other active summary. An entry of a history
    must not mention anything forgotten.
    """
    if is_entry(summary.key):
        return not _mentions(summary.content, build_forgotten_matcher(snapshot))
    parts = get_summary_sources([summary])
    current = {message.id: message.content for message in snapshot.messages(ids=parts.messages)}
    originals = snapshot.original_messages(parts.messages)
    if any(current.get(each.id) != each.content for each in originals):
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
    """Mark the sources of a restored summary as summarised."""
    parts = get_summary_sources([summary])
    tx.mark_summarised(parts.messages, now)
    for memory in tx.memories(parts.memories):
        if not memory.compressed and memory.state is not State.FORGOTTEN:
            tx.amend(replace(memory, compressed=True, updated_at=now))


def get_state_before_forgetting(snapshot: Snapshot, memory: Memory) -> State:
    """Return the state that a forgotten memory had before."""
    last = get_last_forget_event(snapshot, memory)
    return State(last.details.get("state", State.ACTIVE)) if last else State.ACTIVE


def _was_forgotten_with_source(snapshot: Snapshot, memory: Memory) -> bool:
    """Return whether a memory was last forgotten together with another record."""
    last = get_last_forget_event(snapshot, memory)
    return last is not None and "source" in last.details


def _mentions(content: str, matcher: ParaphraseDetector) -> bool:
    return any(matcher(span.extract(content)) for span in sentences(content))
