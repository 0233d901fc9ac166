"""Everything of an owner, out of one store and into another, unchanged."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING

from mnemon.domain.memories import Memory, State
from mnemon.domain.messages import Message
from mnemon.exchange.records import Chronicle, Ending, Record
from mnemon.services.indexing import Text, in_window
from mnemon.services.received import checked

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from mnemon.ports.store import IndexEntry, Snapshot, Transaction
    from mnemon.services.access import Access
    from mnemon.services.indexing import Indexer

_PAGE = 1_000


@dataclass(frozen=True, slots=True)
class Taken:
    """What an import has brought.

    Attributes:
        messages: How many messages are new.
        memories: How many memories are new.
        already: How many of both were there before, by their ids.
        unkeyed: Ids of memories that lost their key, as another one has it here.
    """

    messages: int = 0
    memories: int = 0
    already: int = 0
    unkeyed: tuple[str, ...] = ()

    def __add__(self, other: Taken) -> Taken:
        """Return both together."""
        return Taken(
            self.messages + other.messages,
            self.memories + other.memories,
            self.already + other.already,
            self.unkeyed + other.unkeyed,
        )


class Transferring:
    """Gives and takes everything of an owner."""

    def __init__(self, access: Access, indexer: Indexer) -> None:
        """Use these."""
        self._access = access
        self._indexer = indexer

    def records(self, owner_id: str) -> Iterator[Record]:
        """Yield all messages, ends of sessions and memories, as of one instant.

        Messages by session in their order, then memories oldest first. What is forgotten is left
        out: memories, messages, and sentences of messages.
        """
        with self._access.store.read(owner_id) as snapshot:
            for session in snapshot.sessions():
                yield from snapshot.messages(session_id=session.id)
                if session.ended_at is not None:
                    yield Ending(session.id, session.ended_at)
            for memory in reversed(_memories(snapshot)):
                history = snapshot.history(memory.id)
                if history is not None and memory.state is not State.FORGOTTEN:
                    yield Chronicle(memory, history)

    def take(self, owner_id: str, records: Sequence[Record]) -> Taken:
        """Store records as they are, but for what is there already: all of them or none.

        Messages keep ids and times and are not learned from again. A memory whose key another
        one has here comes without it.

        Raises:
            Disabled: Memory is switched off.
            InvalidInput: A record can't be taken; the field says which.
        """
        self._access.check_enabled()
        profile = self._access.profile(owner_id)
        records = checked(records, max_memory_chars=profile.max_memory_chars)
        messages = [each for each in records if isinstance(each, Message)]
        chronicles = [each for each in records if isinstance(each, Chronicle)]
        with self._access.store.read(owner_id) as known:
            entries = iter(self._indexer.entries(_texts(messages, chronicles), known))
        indexed = [(message, next(entries)) for message in messages]
        versions = [(each, [next(entries) for _ in each.history.versions]) for each in chronicles]
        with self._access.store.write(owner_id) as tx:
            tx.adopt_profile(profile.name)
            taken = self._take_messages(tx, indexed)
            for record in records:
                if isinstance(record, Ending):
                    tx.end_session(record.session_id, record.at)
            for chronicle, each in versions:
                taken += _take_memory(tx, chronicle, each)
        return taken

    def _take_messages(
        self, tx: Transaction, indexed: Sequence[tuple[Message, IndexEntry]]
    ) -> Taken:
        stored = 0
        for session_id, group in groupby(indexed, key=lambda each: each[0].session_id):
            pairs = list(group)
            there = {message.id for message in tx.originals([m.id for m, _ in pairs])}
            named = tx.external_ids(session_id, [m.external_id for m, _ in pairs if m.external_id])
            fresh = [
                (message, entry)
                for message, entry in pairs
                if message.id not in there and message.external_id not in named
            ]
            tx.log(session_id, self._in_place(tx, session_id, fresh))
            stored += len(fresh)
        return Taken(messages=stored, already=len(indexed) - stored)

    def _in_place(
        self, tx: Transaction, session_id: str, fresh: Sequence[tuple[Message, IndexEntry]]
    ) -> list[tuple[Message, IndexEntry]]:
        """Number messages on from the session's last, and give them its window."""
        first = tx.next_sequence(session_id)
        last = tx.messages(session_id=session_id, after=first - 2, limit=1) if first > 1 else []
        previous = (
            self._indexer.keywords_only(Text(last[0].content, last[0].speaker)) if last else None
        )
        placed = []
        for offset, (message, entry) in enumerate(fresh):
            numbered = replace(message, sequence=first + offset, version=1)
            placed.append((numbered, in_window(entry, previous)))
            previous = entry
        return placed


def _memories(snapshot: Snapshot) -> list[Memory]:
    """Return all memories, newest first."""
    found: list[Memory] = []
    cursor: str | None = None
    while True:
        page = snapshot.page(
            states=frozenset(State), kinds=None, tags=(), limit=_PAGE, cursor=cursor
        )
        found += page.memories
        cursor = page.cursor
        if cursor is None:
            return found


def _texts(messages: Sequence[Message], chronicles: Sequence[Chronicle]) -> list[Text]:
    return [
        *(Text(message.content, message.speaker) for message in messages),
        *(
            Text(version.memory.content)
            for chronicle in chronicles
            for version in chronicle.history.versions
        ),
    ]


def _take_memory(tx: Transaction, chronicle: Chronicle, entries: Sequence[IndexEntry]) -> Taken:
    memory = chronicle.memory
    if tx.memories([memory.id]):
        return Taken(already=1)
    key_is_lost = memory.state is State.ACTIVE and _is_taken(tx, memory)
    if key_is_lost:
        memory = replace(memory, key=None)
    _replay(tx, chronicle, entries)
    tx.amend(memory)
    tx.record(chronicle.history.events)
    return Taken(memories=1, unkeyed=(memory.id,) if key_is_lost else ())


def _replay(tx: Transaction, chronicle: Chronicle, entries: Sequence[IndexEntry]) -> None:
    """Open and close every version again, each active while it was valid."""
    versions = chronicle.history.versions
    begins: list[datetime | None] = [version.valid_from for version in versions[1:]]
    for version, entry, next_begin in zip(versions, entries, [*begins, None], strict=True):
        opened = replace(version.memory, state=State.ACTIVE, updated_at=version.valid_from)
        if _is_taken(tx, opened):
            opened = replace(opened, key=None)
        if version is versions[0]:
            tx.insert([(opened, entry)])
        else:
            tx.revise(opened, entry)
        if version.valid_to is not None and version.valid_to != next_begin:
            tx.amend(replace(opened, state=State.FORGOTTEN, updated_at=version.valid_to))


def _is_taken(tx: Transaction, memory: Memory) -> bool:
    """Whether another active memory has its key."""
    holder = None if memory.key is None else tx.by_key(memory.key)
    return holder is not None and holder.id != memory.id
