"""A transaction on one owner in a SQLite file."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import apsw

from mnemon.adapters.sql.entries import (
    ItemFacts,
    begun,
    checked,
    facts_of_memory,
    facts_of_message,
    item_row,
    passage_rows,
    term_rows,
)
from mnemon.adapters.sql.rows import MEMORY_COLUMNS, event_row, memory_row, seal_name
from mnemon.adapters.sql.values import find_id, find_ids, micros, pack_id
from mnemon.adapters.sqlite.reads import OwnerRow, Records
from mnemon.domain.memories import State
from mnemon.errors import Conflict, NotFound

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import datetime

    from mnemon.adapters.sql.sealing import Sealing
    from mnemon.adapters.sqlite.connections import Connection
    from mnemon.domain.memories import Event, Link, Memory
    from mnemon.domain.messages import Message, Role
    from mnemon.ports.store import IndexEntry

_COLUMNS = MEMORY_COLUMNS.split(", ")
_INSERT_MEMORY = (
    f"INSERT INTO memories (owner_id, key_digest, changed, {MEMORY_COLUMNS})"
    f" VALUES ({', '.join('?' * (len(_COLUMNS) + 3))})"
)
_ASSIGNED = ", ".join(f"{column} = ?{place}" for place, column in enumerate(_COLUMNS, 4))
_UPDATE_MEMORY = (
    f"UPDATE memories SET key_digest = ?2, changed = ?3, {_ASSIGNED}"
    " WHERE owner_id = ?1 AND id = ?4"
)
_KEEP_VERSION = (
    f"INSERT INTO versions (owner_id, {MEMORY_COLUMNS})"
    f" SELECT owner_id, {MEMORY_COLUMNS.removesuffix('valid_to')}"
    " coalesce(valid_to, max(?, valid_from))"
    " FROM memories WHERE owner_id = ? AND id = ?"
)
_INSERT_ITEM = f"INSERT INTO items VALUES ({', '.join('?' * 18)})"
_INSERT_PASSAGE = f"INSERT INTO passages VALUES ({', '.join('?' * 9)})"
_INSERT_TERM = "INSERT INTO terms VALUES (?, ?, ?, ?, ?)"
_CLOSE_ITEM = (
    "UPDATE items SET valid_to = max(?, valid_from), changed = ?"
    " WHERE owner_id = ? AND item = ? AND valid_to IS NULL"
)
_INSERT_MESSAGE = (
    "INSERT INTO messages (owner_id, id, number, version, item, session, sequence, speaker,"
    " external_id, at, content, valid_from)"
    " VALUES (?1, ?2, ?3, ?4, ?3, ?5, ?6, ?7, ?8, ?9, ?10, ?11)"
)


class Writer(Records):
    """The records of one owner, and the ways to change them."""

    def __init__(self, connection: Connection, sealing: Sealing, owner: OwnerRow) -> None:
        """Take the writing connection, with its transaction begun."""
        number = owner.number or _new_owner(connection, sealing.owner_id)
        super().__init__(connection, sealing, number)
        self._changed = owner.revision + 1
        self._next_item = owner.next_item
        self._next_session = owner.next_session
        self._next_speaker = owner.next_speaker
        self._next_event = owner.next_event
        self._sessions: dict[str, int] = {}
        self._speakers: dict[tuple[str | None, Role], int] = {}
        self._is_changed = False
        self._is_broken = False

    def finish(self) -> None:
        """Commit what was written, if anything was.

        Raises:
            Conflict: An error within the transaction was caught by the caller: what was written
                before it does not stand alone.
            StoreUnavailable: The disk is full, or can't be written.
        """
        if self._is_broken:
            raise Conflict("an error within the transaction has undone all of it")
        if not self._is_changed:
            return
        self._connection.run(
            "UPDATE owners SET counter = counter + 1, revision = ?, next_item = ?,"
            " next_session = ?, next_speaker = ?, next_event = ? WHERE owner_id = ?",
            (
                self._changed,
                self._next_item,
                self._next_session,
                self._next_speaker,
                self._next_event,
                self._owner,
            ),
        )
        self._connection.run("COMMIT")

    def adopt_profile(self, name: str) -> None:
        """See the port."""
        with self._change():
            self._is_changed |= bool(
                self._connection.run(
                    "UPDATE owners SET profile = ? WHERE owner_id = ? AND profile IS NULL",
                    (name, self._owner),
                )
            )

    def log(
        self,
        session_id: str,
        messages: Sequence[tuple[Message, IndexEntry]],
        *,
        at: datetime | None = None,
    ) -> None:
        """See the port."""
        if not messages:
            return
        with self._change():
            session = self._session(session_id)
            stored = None if at is None else micros(at)
            items = [self._message_facts(m, session, stored) for m, _ in messages]
            first = self._add_items(list(zip(items, (e for _, e in messages), strict=True)))
            self._connection.run_many(
                _INSERT_MESSAGE,
                [
                    (*self._message_row(message, first + n, facts),)
                    for n, ((message, _), facts) in enumerate(zip(messages, items, strict=True))
                ],
            )
            self._count_messages(session, first, items)
            self._is_changed = True

    def next_sequence(self, session_id: str) -> int:
        """See the port."""
        row = self._connection.row(
            "SELECT last_sequence FROM sessions WHERE owner_id = ? AND name = ?",
            (self._owner, session_id),
        )
        return 1 + (row[0] if row else 0)

    def end_session(self, session_id: str, at: datetime) -> None:
        """See the port."""
        with self._change():
            self._is_changed |= bool(
                self._connection.run(
                    "UPDATE sessions SET ended_at = ?"
                    " WHERE owner_id = ? AND name = ? AND first_item IS NOT NULL",
                    (micros(at), self._owner, session_id),
                )
            )

    def insert(self, memories: Sequence[tuple[Memory, IndexEntry]]) -> None:
        """See the port."""
        if not memories:
            return
        with self._change():
            facts = [facts_of_memory(m, self._memory_session(m)) for m, _ in memories]
            first = self._add_items(list(zip(facts, (e for _, e in memories), strict=True)))
            rows = [
                self._memory_row(memory, first + n, facts[n])
                for n, (memory, _) in enumerate(memories)
            ]
            self._connection.run_many(_INSERT_MEMORY, rows)
            for n, (memory, _) in enumerate(memories):
                self._add_tags(memory.tags, first + n)
                self._add_sources(memory)
            self._is_changed = True

    def revise(self, memory: Memory, entry: IndexEntry) -> None:
        """See the port."""
        with self._change():
            old, item, ended = self._stored(memory.id)
            if memory.version <= old.version:
                raise Conflict(f"version {memory.version} is not above {old.version}")
            facts = begun(facts_of_memory(memory, self._memory_session(memory)), ended)
            self._close_item(item, facts.valid_from)
            self._connection.run(_KEEP_VERSION, (facts.valid_from, self._owner, facts.record_id))
            new = self._add_items([(facts, entry)])
            self._connection.run(_UPDATE_MEMORY, self._memory_row(memory, new, facts))
            self._add_tags(memory.tags, new)
            self._remove_sources(old)
            self._add_sources(memory)
            self._is_changed = True

    def amend(self, memory: Memory) -> None:
        """See the port."""
        with self._change():
            old, item, _ = self._stored(memory.id)
            if memory.state is State.ACTIVE and old.state is not State.ACTIVE:
                raise Conflict("a memory becomes active again only in a new version")
            memory = replace(memory, version=old.version, content=old.content)
            facts = self._amended(memory, item)
            self._connection.run(_UPDATE_MEMORY, self._memory_row(memory, item, facts))
            if memory.tags != old.tags:
                self._remove_tags(old.tags, item)
                self._add_tags(memory.tags, item)
            if memory.sources != old.sources:
                self._remove_sources(old)
                self._add_sources(memory)
            self._is_changed = True

    def _amended(self, memory: Memory, item: int) -> ItemFacts:
        """Store what the amended memory's item says, and return it."""
        valid_from, valid_to = self._connection.row(
            "SELECT valid_from, valid_to FROM memories WHERE owner_id = ? AND id = ?",
            (self._owner, pack_id(memory.id)),
        ) or (0, None)
        facts = facts_of_memory(memory, self._memory_session(memory))
        if valid_to is None and facts.valid_to is not None:
            valid_to = max(facts.valid_to, valid_from)
        facts = replace(facts, valid_from=valid_from, valid_to=valid_to)
        seen = (
            facts.kind,
            facts.session,
            facts.role,
            facts.at,
            facts.valid_to,
            facts.expires_at,
            int(facts.compressed),
        )
        self._connection.run(
            "UPDATE items SET (kind, session, role, at, valid_to, expires_at, compressed)"
            " = (?4, ?5, ?6, ?7, ?8, ?9, ?10), changed = ?3 WHERE owner_id = ?1 AND item = ?2"
            " AND (kind, session, role, at, valid_to, expires_at, compressed)"
            " IS NOT (?4, ?5, ?6, ?7, ?8, ?9, ?10)",
            (self._owner, item, self._changed, *seen),
        )
        return facts

    def revise_message(self, message: Message, entry: IndexEntry, at: datetime) -> None:
        """See the port."""
        with self._change():
            packed, row = self._stored_message(message.id)
            version, item, session, sequence, began, ended = row
            if message.version <= version:
                raise Conflict(f"version {message.version} is not above {version}")
            message = replace(message, sequence=sequence)
            facts = self._message_facts(message, session, max(micros(at), ended or began))
            self._close_item(item, facts.valid_from)
            self._connection.run(
                "INSERT INTO message_versions SELECT owner_id, id, version, item, speaker, at,"
                " content, valid_from, coalesce(valid_to, ?) FROM messages"
                " WHERE owner_id = ? AND id = ?",
                (facts.valid_from, self._owner, packed),
            )
            new = self._add_items([(facts, entry)])
            content = self._sealing.seal(message.content, message.id, "content", message.version)
            self._connection.run(
                "UPDATE messages SET version = ?, item = ?, speaker = ?, at = ?, content = ?,"
                " valid_from = ?, valid_to = NULL WHERE owner_id = ? AND id = ?",
                (
                    message.version,
                    new,
                    facts.speaker,
                    facts.at,
                    content,
                    facts.valid_from,
                    self._owner,
                    packed,
                ),
            )
            self._is_changed = True

    def reindex(self, message_id: str, entry: IndexEntry) -> None:
        """See the port.

        The message gets a new item, so that items and passages stay append-only; the old one
        is left without passages, valid at no instant.
        """
        with self._change():
            packed, row = self._stored_message(message_id)
            _, item, session, _, valid_from, valid_to = row
            if valid_to is not None:
                raise NotFound("message", message_id)
            (message,) = self.messages(ids=[message_id])
            facts = self._message_facts(message, session, valid_from)
            self._close_item(item, valid_from)
            self._connection.run(
                "DELETE FROM passages WHERE owner_id = ? AND item = ?", (self._owner, item)
            )
            new = self._add_items([(facts, entry)])
            self._connection.run(
                "UPDATE messages SET item = ? WHERE owner_id = ? AND id = ?",
                (new, self._owner, packed),
            )
            self._is_changed = True

    def close_messages(self, ids: Sequence[str], at: datetime) -> None:
        """See the port."""
        packed = find_ids(ids)
        if not packed:
            return
        with self._change():
            rows = self._connection.rows(
                "UPDATE messages SET valid_to = max(?1, valid_from)"
                " WHERE owner_id = ?2 AND valid_to IS NULL"
                " AND id IN (SELECT value FROM carray(?3)) RETURNING item",
                (micros(at), self._owner, apsw.carray(packed)),
            )
            self._connection.run_many(
                _CLOSE_ITEM, [(micros(at), self._changed, self._owner, item) for (item,) in rows]
            )
            self._is_changed |= bool(rows)

    def link(self, links: Sequence[Link]) -> None:
        """See the port."""
        with self._change():
            for link in links:
                ends = (pack_id(link.source_id, "source_id"), pack_id(link.target_id, "target_id"))
                self._is_changed |= bool(
                    self._connection.run(
                        "INSERT INTO links (owner_id, relation, source_id, target_id)"
                        " VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
                        (self._owner, link.relation, *ends),
                    )
                )

    def record(self, events: Sequence[Event]) -> None:
        """See the port."""
        if not events:
            return
        with self._change():
            rows = [
                (self._owner, *event_row(self._sealing, self._next_event + n, event))
                for n, event in enumerate(events)
            ]
            self._connection.run_many("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
            self._next_event += len(rows)
            self._is_changed = True

    @contextmanager
    def _change(self) -> Iterator[None]:
        """Let nothing be committed if what is done within fails half-way."""
        was_broken, self._is_broken = self._is_broken, True
        try:
            yield
        except apsw.ConstraintError as error:
            raise Conflict(
                "the id, key, external id or place in the session is taken already"
            ) from error
        self._is_broken = was_broken

    def _add_items(self, entries: Sequence[tuple[ItemFacts, IndexEntry]]) -> int:
        """Store items, each with the next number; return the first's."""
        first, owner = self._next_item, self._owner
        numbered = [(first + n, facts, entry) for n, (facts, entry) in enumerate(entries)]
        dimension = self._dimension(entry for _, entry in entries)
        self._connection.run_many(
            _INSERT_ITEM,
            [item_row(self._sealing, owner, n, f, e, self._changed) for n, f, e in numbered],
        )
        self._connection.run_many(
            _INSERT_PASSAGE,
            [row for n, _, e in numbered for row in passage_rows(owner, n, e, dimension)],
        )
        terms = [row for n, _, e in numbered for row in term_rows(self._sealing, owner, n, e)]
        self._connection.run_many(_INSERT_TERM, sorted(terms))  # in the order of the tree
        self._next_item += len(entries)
        return first

    def _dimension(self, entries: Iterable[IndexEntry]) -> int | None:
        """Return the length of the store's vectors, if any of these has one."""
        if not any(p.vector is not None for entry in entries for p in entry.passages):
            return None
        row = self._connection.row("SELECT value FROM meta WHERE name = 'dimension'")
        return row[0] if row else None

    def _close_item(self, item: int, at: int) -> None:
        self._connection.run(_CLOSE_ITEM, (at, self._changed, self._owner, item))

    def _stored(self, memory_id: str) -> tuple[Memory, int, int]:
        """Return a memory as it is, its item, and before when no next version can begin."""
        found = self.memories([memory_id])
        if not found:
            raise NotFound("memory", memory_id)
        row = self._connection.row(
            "SELECT item, coalesce(valid_to, valid_from) FROM memories"
            " WHERE owner_id = ? AND id = ?",
            (self._owner, pack_id(memory_id)),
        )
        return found[0], *(row or (0, 0))

    def _stored_message(self, message_id: str) -> tuple[bytes, tuple[Any, ...]]:
        """Return the packed id, and version, item, session, sequence and validity."""
        packed = find_id(message_id)
        row = packed and self._connection.row(
            "SELECT version, item, session, sequence, valid_from, valid_to FROM messages"
            " WHERE owner_id = ? AND id = ?",
            (self._owner, packed),
        )
        if not packed or not row:
            raise NotFound("message", message_id)
        return packed, row

    def _memory_row(self, memory: Memory, item: int, facts: ItemFacts) -> tuple[object, ...]:
        digest = None if memory.key is None else self._sealing.digest("key", memory.key)
        valid = (facts.valid_from, facts.valid_to)
        row = memory_row(self._sealing, memory, item, facts.session, valid)
        return (self._owner, digest, self._changed, *row)

    def _message_row(self, message: Message, item: int, facts: ItemFacts) -> tuple[object, ...]:
        external = None if message.external_id is None else message.external_id.encode()
        return (
            self._owner,
            facts.record_id,
            item,
            message.version,
            facts.session,
            facts.sequence,
            facts.speaker,
            external,
            facts.at,
            self._sealing.seal(message.content, message.id, "content", message.version),
            facts.valid_from,
        )

    def _message_facts(self, message: Message, session: int, valid_from: int | None) -> ItemFacts:
        role, at = checked(message)
        since = micros(at) if valid_from is None else valid_from
        speaker = self._speaker(message.speaker, role)
        return facts_of_message(message, session, speaker, since)

    def _count_messages(self, session: int, first: int, items: Sequence[ItemFacts]) -> None:
        self._connection.run(
            "UPDATE sessions SET first_item = coalesce(first_item, ?3),"
            " first_at = coalesce(first_at, ?4), last_at = ?5, messages = messages + ?6,"
            " last_sequence = max(last_sequence, ?7), active_at = ?8"
            " WHERE owner_id = ?1 AND number = ?2",
            (
                self._owner,
                session,
                first,
                items[0].at,
                items[-1].at,
                len(items),
                max(item.sequence for item in items),
                items[-1].valid_from,
            ),
        )

    def _memory_session(self, memory: Memory) -> int | None:
        return None if memory.session_id is None else self._session(memory.session_id)

    def _session(self, name: str) -> int:
        """Return a session's number, giving it one if it has none."""
        if name not in self._sessions:
            number = self.session_number(name)
            if number is None:
                number, self._next_session = self._next_session, self._next_session + 1
                self._connection.run(
                    "INSERT INTO sessions (owner_id, number, name) VALUES (?, ?, ?)",
                    (self._owner, number, name),
                )
            self._sessions[name] = number
        return self._sessions[name]

    def _speaker(self, name: str | None, role: Role) -> int:
        """Return a participant's number, giving it one if it has none."""
        if (name, role) not in self._speakers:
            named = role.value if name is None else f"{role.value}:{name}"
            digest = self._sealing.digest("speaker", named)
            row = self._connection.row(
                "SELECT number FROM participants WHERE owner_id = ? AND digest = ?",
                (self._owner, digest),
            )
            number = row[0] if row else self._new_speaker(name, role, digest)
            self._speakers[name, role] = number
        return self._speakers[name, role]

    def _new_speaker(self, name: str | None, role: Role, digest: bytes) -> int:
        number, self._next_speaker = self._next_speaker, self._next_speaker + 1
        self._connection.run(
            "INSERT INTO participants (owner_id, number, name, role, digest)"
            " VALUES (?, ?, ?, ?, ?)",
            (self._owner, number, seal_name(self._sealing, number, name), role.value, digest),
        )
        return number

    def _add_tags(self, tags: Sequence[str], item: int) -> None:
        rows = {(self._owner, self._sealing.digest("tag", tag), item) for tag in tags}
        if rows:
            self._connection.run_many("INSERT INTO tags VALUES (?, ?, ?)", sorted(rows))

    def _remove_tags(self, tags: Sequence[str], item: int) -> None:
        rows = [(self._owner, self._sealing.digest("tag", tag), item) for tag in tags]
        self._connection.run_many(
            "DELETE FROM tags WHERE owner_id = ? AND tag = ? AND item = ?", rows
        )

    def _add_sources(self, memory: Memory) -> None:
        rows = {(self._owner, pack_id(s.id), pack_id(memory.id)) for s in memory.sources}
        if rows:
            self._connection.run_many("INSERT INTO derived VALUES (?, ?, ?)", sorted(rows))

    def _remove_sources(self, memory: Memory) -> None:
        rows = [(self._owner, pack_id(s.id), pack_id(memory.id)) for s in memory.sources]
        self._connection.run_many(
            "DELETE FROM derived WHERE owner_id = ? AND source_id = ? AND memory_id = ?", rows
        )


def _new_owner(connection: Connection, owner_id: str) -> int:
    connection.run("INSERT INTO owners (name) VALUES (?)", (owner_id,))
    return connection.last_row()
