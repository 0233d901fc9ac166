"""Events and sources of an owner's memories, in a form that can be compared between stores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing

import apsw
import psycopg

from memolith import Memolith, Memory, OwnerMemory, Source
from support.durability.write_log import PAGE

_UNMARKED = """
SELECT count(*) FROM messages
WHERE valid_to IS NULL AND (learned_at IS NULL OR marks <> 0)
"""


def deeds(memory: Memolith, owner: str) -> list[str]:
    """Return every event and source of an owner's memories, sorted.

    Records are identified by content, since ids differ between stores. A message that was learned
    from twice appears as an additional event or source.
    """
    own = memory.owner(owner)
    told = [line for each in _memories(own) for line in _told(own, each)]
    document = own.base_memory()
    version = document.version if document else 0
    return [*sorted(told), f"the base memory was written {version} times"]


def unlearned(store: str) -> int:
    """Return the number of messages that are not marked as learned."""
    if "://" in store:
        with psycopg.connect(store, options="-c search_path=memolith") as database:
            ((count,),) = database.execute(_UNMARKED).fetchall()
    else:
        with closing(apsw.Connection(store)) as file:
            ((count,),) = file.execute(_UNMARKED).fetchall()
    assert isinstance(count, int)
    return count


def _memories(own: OwnerMemory) -> Sequence[Memory]:
    page = own.list(state="all", limit=PAGE)
    assert page.cursor is None
    return page.memories


def _told(own: OwnerMemory, memory: Memory) -> Iterator[str]:
    for event in own.history(memory.id).events:
        yield f"{memory.content} | {event.action} by {event.actor} | version {event.version}"
    for source in memory.sources:
        yield f"{memory.content} | of {_named(own, source)}"


def _named(own: OwnerMemory, source: Source) -> str:
    if source.record_type != "message":
        return own.get(source.id).content
    message = own.message(source.id)
    return f"{message.session_id}, {message.sequence}"
