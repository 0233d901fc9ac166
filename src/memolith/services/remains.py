"""What forgetting takes out of messages, and what it leaves of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from memolith.domain.memories import EPISODE, Action, Memory, State
from memolith.domain.recall import SearchFilter
from memolith.policies.evidence import read_sources
from memolith.policies.folding import remove_sentences, sentence_keys, strip_speaker_label
from memolith.policies.support import find_support
from memolith.ports.columns import PART_BITS
from memolith.services.extracting import LEARN_ACTOR as LEARNED
from memolith.text.analysis import terms
from memolith.text.normal import content_key
from memolith.text.sentences import sentences

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import date, datetime

    from memolith.domain.memories import Event
    from memolith.domain.messages import Message
    from memolith.ports.store import Snapshot


def is_summary(snapshot: Snapshot, memory: Memory) -> bool:
    """Tell whether a memory was made to stand for others, for messages, or for a history."""
    history = snapshot.history(memory.id)
    events = history.events if history else ()
    return any(event.action is Action.CONDENSED for event in events)


def get_versions(snapshot: Snapshot, memory: Memory) -> list[Memory]:
    """Return a memory as it is, and as it was in every version: what it once said counts too."""
    history = snapshot.history(memory.id)
    return [memory, *(version.memory for version in (history.versions if history else ()))]


def find_source_messages(snapshot: Snapshot, memory: Memory, now: datetime) -> list[str]:
    """Return the messages that a memory came from, and all others that say a sentence of it.

    Of a summary none: what it stands for stands for itself.
    """
    if is_summary(snapshot, memory):
        return []
    found: list[str] = []
    for version in get_versions(snapshot, memory):
        found += [source.id for source in version.sources if source.record_type == "message"]
        same = snapshot.find_by_content(content_key(version.content))
        found += [record.id for record in same if not isinstance(record, Memory)]
    for sentence in _get_sentences(snapshot, memory):
        found += _find_messages_saying(snapshot, sentence, now)
    return list(dict.fromkeys(found))


def _get_sentences(snapshot: Snapshot, memory: Memory) -> list[str]:
    own = (
        strip_speaker_label(span.extract(version.content))
        for version in get_versions(snapshot, memory)
        for span in sentences(version.content)
    )
    return list(dict.fromkeys((*own, *find_source_sentences(snapshot, memory))))


def _find_messages_saying(snapshot: Snapshot, sentence: str, now: datetime) -> list[str]:
    """Return the messages in which a sentence stands as a whole sentence."""
    words = list(dict.fromkeys(terms(sentence)))
    if not words:
        return []
    postings = snapshot.postings(words, SearchFilter(now=now, kinds=frozenset({EPISODE})))
    held = np.bincount(postings.slot, minlength=len(postings.passages))
    numbers = np.unique(postings.passages[held == len(words)] >> PART_BITS)
    messages = snapshot.messages(ids=list(snapshot.items(numbers).record_id))
    key = content_key(sentence)
    return [message.id for message in messages if key in sentence_keys(message.content)]


def stated_sentence_keys(snapshot: Snapshot, memory: Memory) -> frozenset[str]:
    """Return the normal forms of all sentences that a memory says or has said."""
    return frozenset().union(*(sentence_keys(v.content) for v in get_versions(snapshot, memory)))


def supporting_sentence_keys(snapshot: Snapshot, memory: Memory) -> frozenset[str]:
    """Return those, and the normal forms of the sentences that a model took it from."""
    rested = find_source_sentences(snapshot, memory)
    return stated_sentence_keys(snapshot, memory) | {
        content_key(strip_speaker_label(sentence)) for sentence in rested
    }


def find_source_sentences(snapshot: Snapshot, memory: Memory) -> list[str]:
    """Return the sentences of its messages that a memory rests on in words of its own.

    Of one that was learned from them: not of what was told apart, and is only said there too.
    """
    history = snapshot.history(memory.id)
    if not any(event.actor == LEARNED for event in (history.events if history else ())):
        return []
    versions = get_versions(snapshot, memory)
    ids = dict.fromkeys(s.id for v in versions for s in v.sources if s.record_type == "message")
    if not ids:
        return []
    said = list(_iter_sentences(snapshot.original_messages(list(ids))))
    keys = {content_key(strip_speaker_label(sentence)) for sentence, _ in said}
    told = [v.content for v in versions if not sentence_keys(v.content) <= keys]
    if not told:
        return []
    texts = read_sources([one for one, _ in said], [day for _, day in said], [snapshot.owner_id])
    places = {place for content in dict.fromkeys(told) for place in find_support(content, texts)}
    return [said[place][0] for place in sorted(places)]


def _iter_sentences(messages: Iterable[Message]) -> Iterator[tuple[str, date | None]]:
    for message in messages:
        for span in sentences(message.content):
            yield span.extract(message.content), None if message.at is None else message.at.date()


def remaining_content(snapshot: Snapshot, original: Message) -> str:
    """Return what a message says without the sentences of memories that are forgotten."""
    forgotten: frozenset[str] = frozenset()
    for memory in snapshot.derived_memories([original.id]).get(original.id, []):
        if memory.state is State.FORGOTTEN and not is_summary(snapshot, memory):
            forgotten |= supporting_sentence_keys(snapshot, memory)
    return remove_sentences(original.content, forgotten) if forgotten else original.content


def find_forgotten_messages(snapshot: Snapshot, message_ids: Sequence[str]) -> frozenset[str]:
    """Return which messages were forgotten themselves: gone, though memories left some of them."""
    there = {message.id for message in snapshot.messages(ids=message_ids)}
    return frozenset(
        original.id
        for original in snapshot.original_messages(message_ids)
        if original.id not in there and remaining_content(snapshot, original)
    )


def was_forgotten_with(snapshot: Snapshot, memory: Memory, message_id: str) -> bool:
    """Return whether a memory was last forgotten because that message was."""
    last = get_last_forget_event(snapshot, memory)
    return last is not None and last.details.get("message") == message_id


def get_last_forget_event(snapshot: Snapshot, memory: Memory) -> Event | None:
    """Return what tells of the last time that a memory was forgotten; None: it never was."""
    history = snapshot.history(memory.id)
    events = history.events if history else ()
    return next((each for each in reversed(events) if each.action is Action.FORGOTTEN), None)


def is_supported_without(snapshot: Snapshot, memory: Memory, message_id: str) -> bool:
    """Return whether what a memory says is said in its other sources, without that message."""
    ids = [source.id for source in memory.sources if source.id != message_id]
    if any(source.record_type == "memory" for source in memory.sources if source.id != message_id):
        return True
    said = list(_iter_sentences(snapshot.messages(ids=ids)))
    if sentence_keys(memory.content) <= {
        content_key(strip_speaker_label(sentence)) for sentence, _ in said
    }:
        return True
    texts = read_sources([one for one, _ in said], [day for _, day in said], [snapshot.owner_id])
    return bool(find_support(memory.content, texts))
