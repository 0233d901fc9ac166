"""What forgetting takes out of messages, and what it leaves of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mnemon.domain.memories import EPISODE, Action, Memory, State
from mnemon.domain.recall import Scope
from mnemon.policies.folding import sentence_keys, spoken, without
from mnemon.ports.store import PART_BITS
from mnemon.text.analysis import terms
from mnemon.text.normal import content_key
from mnemon.text.sentences import sentences

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from mnemon.domain.messages import Message
    from mnemon.ports.store import Snapshot


def versions_of(snapshot: Snapshot, memory: Memory) -> list[Memory]:
    """Return a memory as it is, and as it was in every version: what it once said counts too."""
    history = snapshot.history(memory.id)
    return [memory, *(version.memory for version in (history.versions if history else ()))]


def messages_of(snapshot: Snapshot, memory: Memory, now: datetime) -> list[str]:
    """Return the messages that a memory came from, and all others that say a sentence of it."""
    found: list[str] = []
    for version in versions_of(snapshot, memory):
        found += [source.id for source in version.sources if source.of == "message"]
        same = snapshot.by_content(content_key(version.content))
        found += [record.id for record in same if not isinstance(record, Memory)]
        for span in sentences(version.content):
            found += _saying(snapshot, spoken(span.of(version.content)), now)
    return list(dict.fromkeys(found))


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


def remaining(snapshot: Snapshot, original: Message) -> str:
    """Return what a message says without the sentences of memories that are forgotten."""
    forgotten: frozenset[str] = frozenset()
    for memory in snapshot.derived([original.id]).get(original.id, []):
        if memory.state is State.FORGOTTEN:
            forgotten |= said_by(snapshot, memory)
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
    history = snapshot.history(memory.id)
    events = history.events if history else ()
    last = next((each for each in reversed(events) if each.action is Action.FORGOTTEN), None)
    return last is not None and last.details.get("message") == message_id
