"""What the memories of an import name, successors and sources: kept where it is there."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from memolith.domain.memories import Action, Link, State
from memolith.exchange.records import MemoryRecord

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from memolith.domain.memories import Memory
    from memolith.ports.store import Transaction


def find_missing_successors(tx: Transaction, chronicles: list[MemoryRecord]) -> set[str]:
    """Return the ids of successors that are neither stored nor among these.

    A forgotten memory is not exported, so that what it superseded names one that is nowhere.
    """
    brought = {each.memory.id for each in chronicles}
    named = {
        memory.superseded_by
        for each in chronicles
        for memory in (each.memory, *(version.memory for version in each.history.versions))
        if memory.superseded_by is not None and memory.superseded_by not in brought
    }
    return named - {memory.id for memory in tx.memories(sorted(named))}


def drop_successors(missing_ids: AbstractSet[str], chronicle: MemoryRecord) -> MemoryRecord:
    """Return a memory and its versions as purging their successors would leave them."""
    if not missing_ids:
        return chronicle
    versions = tuple(
        replace(each, memory=_drop_successor(missing_ids, each.memory))
        for each in chronicle.history.versions
    )
    history = replace(chronicle.history, versions=versions)
    return MemoryRecord(_drop_successor(missing_ids, chronicle.memory), history)


def _drop_successor(missing_ids: AbstractSet[str], memory: Memory) -> Memory:
    return replace(memory, superseded_by=None) if memory.superseded_by in missing_ids else memory


def restore_successor(tx: Transaction, stored: Memory, given: Memory) -> None:
    """Name the successor of a memory that was stored before it, in an earlier call."""
    is_the_same = (stored.state, stored.updated_at) == (State.SUPERSEDED, given.updated_at)
    if is_the_same and stored.superseded_by is None and given.superseded_by is not None:
        tx.amend(replace(stored, superseded_by=given.superseded_by))


def find_summaries(chronicles: list[MemoryRecord]) -> dict[str, Memory]:
    """Return those of these memories that stand for others or for messages, by id."""
    return {
        each.memory.id: each.memory
        for each in chronicles
        if any(event.action is Action.CONDENSED for event in each.history.events)
    }


def link_summary_sources(tx: Transaction, summary: Memory) -> None:
    """Let what a summary was made of count as summarised here too, and be hidden by it.

    What was forgotten is not exported, so that some of it may be nowhere.
    """
    named = [source.id for source in summary.sources]
    there = {memory.id for memory in tx.memories(named)}
    there |= {message.id for message in tx.original_messages(named)}
    tx.link([Link(summary.id, id_, "summary_of") for id_ in named if id_ in there])
    messages = [source.id for source in summary.sources if source.record_type == "message"]
    tx.mark_summarised(messages, summary.created_at)
