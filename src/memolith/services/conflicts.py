"""What a change of a memory must not bring about, and what stands in its way."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from memolith.domain.memories import Action, Event, Memory, State
from memolith.errors import Conflict, NotFound

if TYPE_CHECKING:
    from datetime import datetime

    from memolith.ports.store import Snapshot, Transaction

_MAX_CHAIN_LENGTH = 10
"""How far a chain of supersessions is followed to find a cycle."""


def get_memory(snapshot: Snapshot, id_: str) -> Memory:
    """Return a memory in any state.

    Raises:
        NotFound: There is none with that id.
    """
    found = snapshot.memories([id_])
    if not found:
        raise NotFound("memory", id_)
    return found[0]


def get_active_memory(snapshot: Snapshot, id_: str) -> Memory:
    """Return an active memory.

    Raises:
        NotFound: There is none with that id.
    """
    memory = get_memory(snapshot, id_)
    if memory.state is not State.ACTIVE:
        raise NotFound("active memory", id_)
    return memory


def check_key_free(tx: Transaction, memory: Memory) -> None:
    """Raise `Conflict` where another memory has its key."""
    holder = tx.find_by_key(memory.key) if memory.key is not None else None
    if holder is not None and holder.id != memory.id:
        raise Conflict(f"memory {holder.id} has that key")


def check_not_duplicate(tx: Transaction, memory: Memory, content: str) -> None:
    """Raise `Conflict` where another memory says the same: has that `content_key`."""
    twin = find_duplicate(tx, memory, content)
    if twin is not None:
        raise Conflict(f"memory {twin.id} says that already")


def find_duplicate(tx: Transaction, memory: Memory, content: str) -> Memory | None:
    """Return another active memory of the same key, or none, that says the same."""
    others = (each for each in tx.find_by_content(content) if isinstance(each, Memory))
    return next((one for one in others if one.id != memory.id and one.key == memory.key), None)


def move_source(
    tx: Transaction, memory: Memory, duplicate: Memory, source_id: str, now: datetime
) -> None:
    """Make a source of a forgotten memory one of the memory that has said the same since."""
    own = tuple(source for source in memory.sources if source.id != source_id)
    given = tuple(source for source in memory.sources if source.id == source_id)
    retired = replace(
        memory, state=State.SUPERSEDED, superseded_by=duplicate.id, sources=own, updated_at=now
    )
    tx.amend(retired)
    tx.amend(replace(duplicate, sources=(*duplicate.sources, *given), updated_at=now))
    details = {"superseded_by": duplicate.id}
    tx.record(
        [
            Event(memory.id, Action.SUPERSEDED, now, "user", memory.version, details),
            Event(duplicate.id, Action.RESTATED, now, "user", duplicate.version),
        ]
    )


def check_no_cycle(tx: Transaction, old_id: str, successor: Memory) -> None:
    """Raise `Conflict` where a memory would supersede what supersedes it."""
    step: Memory | None = successor
    for _ in range(_MAX_CHAIN_LENGTH):
        if step is None or step.superseded_by is None:
            return
        if step.superseded_by == old_id:
            raise Conflict("that would make a cycle of supersessions")
        step = next(iter(tx.memories([step.superseded_by])), None)
    raise Conflict(f"the chain of supersessions is longer than {_MAX_CHAIN_LENGTH}")
