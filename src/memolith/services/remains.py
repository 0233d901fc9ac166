"""What forgetting takes out of messages, and what it leaves of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from memolith.domain.memories import EPISODE, Action, Memory, State
from memolith.domain.recall import Scope
from memolith.policies.evidence import sources
from memolith.policies.folding import sentence_keys, spoken, without
from memolith.policies.support import supported_by
from memolith.ports.columns import PART_BITS
from memolith.services.extracting import BY as LEARNED
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


def versions_of(snapshot: Snapshot, memory: Memory) -> list[Memory]:
    """Return a memory as it is, and as it was in every version: what it once said counts too."""
    history = snapshot.history(memory.id)
    return [memory, *(version.memory for version in (history.versions if history else ()))]


def messages_of(snapshot: Snapshot, memory: Memory, now: datetime) -> list[str]:
    """Return the messages that a memory came from, and all others that say a sentence of it.

    Of a summary none: what it stands for stands for itself.
    """
    if is_summary(snapshot, memory):
        return []
    found: list[str] = []
    for version in versions_of(snapshot, memory):
        found += [source.id for source in version.sources if source.of == "message"]
        same = snapshot.by_content(content_key(version.content))
        found += [record.id for record in same if not isinstance(record, Memory)]
    for sentence in _sentences_of(snapshot, memory):
        found += _saying(snapshot, sentence, now)
    return list(dict.fromkeys(found))


def _sentences_of(snapshot: Snapshot, memory: Memory) -> list[str]:
    own = (
        spoken(span.of(version.content))
        for version in versions_of(snapshot, memory)
        for span in sentences(version.content)
    )
    return list(dict.fromkeys((*own, *rested_on(snapshot, memory))))


def _saying(snapshot: Snapshot, sentence: str, now: datetime) -> list[str]:
    """Return the messages in which a sentence stands as a whole sentence."""
    words = list(dict.fromkeys(terms(sentence)))
    if not words:
        return []
    postings = snapshot.postings(words, Scope(now=now, kinds=frozenset({EPISODE})))
    held = np.bincount(postings.slot, minlength=len(postings.passages))
    numbers = np.unique(postings.passages[held == len(words)] >> PART_BITS)
    messages = snapshot.messages(ids=list(snapshot.items(numbers).record_id))
    key = content_key(sentence)
    return [message.id for message in messages if key in sentence_keys(message.content)]


def said_by(snapshot: Snapshot, memory: Memory) -> frozenset[str]:
    """Return the normal forms of all sentences that a memory says or has said."""
    return frozenset().union(*(sentence_keys(v.content) for v in versions_of(snapshot, memory)))


def told_by(snapshot: Snapshot, memory: Memory) -> frozenset[str]:
    """Return those, and the normal forms of the sentences that a model took it from."""
    rested = rested_on(snapshot, memory)
    return said_by(snapshot, memory) | {content_key(spoken(sentence)) for sentence in rested}


def rested_on(snapshot: Snapshot, memory: Memory) -> list[str]:
    """Return the sentences of its messages that a memory rests on in words of its own.

    Of one that was learned from them: not of what was told apart, and is only said there too.
    """
    history = snapshot.history(memory.id)
    if not any(event.by == LEARNED for event in (history.events if history else ())):
        return []
    versions = versions_of(snapshot, memory)
    ids = dict.fromkeys(s.id for v in versions for s in v.sources if s.of == "message")
    if not ids:
        return []
    said = list(_said(snapshot.originals(list(ids))))
    keys = {content_key(spoken(sentence)) for sentence, _ in said}
    told = [v.content for v in versions if not sentence_keys(v.content) <= keys]
    if not told:
        return []
    texts = sources([one for one, _ in said], [day for _, day in said], [snapshot.owner_id])
    places = {place for content in dict.fromkeys(told) for place in supported_by(content, texts)}
    return [said[place][0] for place in sorted(places)]


def _said(messages: Iterable[Message]) -> Iterator[tuple[str, date | None]]:
    for message in messages:
        for span in sentences(message.content):
            yield span.of(message.content), None if message.at is None else message.at.date()


def remaining(snapshot: Snapshot, original: Message) -> str:
    """Return what a message says without the sentences of memories that are forgotten."""
    forgotten: frozenset[str] = frozenset()
    for memory in snapshot.derived([original.id]).get(original.id, []):
        if memory.state is State.FORGOTTEN and not is_summary(snapshot, memory):
            forgotten |= told_by(snapshot, memory)
    return without(original.content, forgotten) if forgotten else original.content


def withheld(snapshot: Snapshot, message_ids: Sequence[str]) -> frozenset[str]:
    """Return which messages were forgotten themselves: gone, though memories left some of them."""
    there = {message.id for message in snapshot.messages(ids=message_ids)}
    return frozenset(
        original.id
        for original in snapshot.originals(message_ids)
        if original.id not in there and remaining(snapshot, original)
    )


def went_with(snapshot: Snapshot, memory: Memory, message_id: str) -> bool:
    """Return whether a memory was last forgotten because that message was."""
    last = last_forgotten(snapshot, memory)
    return last is not None and last.details.get("message") == message_id


def last_forgotten(snapshot: Snapshot, memory: Memory) -> Event | None:
    """Return what tells of the last time that a memory was forgotten; None: it never was."""
    history = snapshot.history(memory.id)
    events = history.events if history else ()
    return next((each for each in reversed(events) if each.action is Action.FORGOTTEN), None)


def stands_without(snapshot: Snapshot, memory: Memory, message_id: str) -> bool:
    """Return whether what a memory says is said in its other sources, without that message."""
    ids = [source.id for source in memory.sources if source.id != message_id]
    if any(source.of == "memory" for source in memory.sources if source.id != message_id):
        return True
    said = list(_said(snapshot.messages(ids=ids)))
    if sentence_keys(memory.content) <= {content_key(spoken(sentence)) for sentence, _ in said}:
        return True
    texts = sources([one for one, _ in said], [day for _, day in said], [snapshot.owner_id])
    return bool(supported_by(memory.content, texts))
