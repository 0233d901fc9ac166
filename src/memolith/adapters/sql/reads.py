"""Reading one owner's messages, memories and base memory from tables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import chain, repeat
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from memolith.adapters.sql.codecs import (
    DORMANT_STATES,
    MEMORY_COLUMNS,
    NEVER,
    OwnerEncryption,
    decode_base_memory,
    decode_cursor,
    decode_event,
    decode_memory,
    decode_memory_stats,
    decode_message,
    decrypt_name,
    encode_cursor,
    instant,
    instant_or_none,
    micros,
    pack_id,
    pack_id_or_none,
    pack_valid_ids,
    translate_decode_errors,
    unpack_id,
)
from memolith.adapters.sql.connection import NO_LIMIT, Connection, Row
from memolith.adapters.sql.embedding_generations import EmbeddingGeneration, stored_dimension
from memolith.domain.memories import BaseMemory, Memory, Page, State, Version
from memolith.domain.memories import History as MemoryHistory
from memolith.domain.messages import Message, Participant, Role, Session
from memolith.domain.owners import Statistics
from memolith.ports.snapshot import MemoryStats, MessageRevision

_SELECT_MESSAGES = (
    "SELECT m.id, {v}.version, m.sequence, m.external_id, {v}.at, {v}.content, s.name,"
    " {v}.speaker, p.name, p.role, {v}.valid_from, {v}.valid_to, m.number FROM {source}"
    " CROSS JOIN sessions AS s ON s.owner_id = m.owner_id AND s.number = m.session"
    " CROSS JOIN participants AS p ON p.owner_id = m.owner_id AND p.number = {v}.speaker"
)
_BY_IDS = "carray(?) AS w CROSS JOIN messages AS m ON m.owner_id = ? AND m.id = w.value"
_WITH_VERSIONS = " CROSS JOIN message_versions AS v ON v.owner_id = m.owner_id AND v.id = m.id"
_OF_SESSION = " WHERE m.owner_id = ? AND m.session = ? AND m.sequence > ?"
_OF_OWNER = " WHERE m.owner_id = ?"
SELECT_NEWEST_MESSAGES = _SELECT_MESSAGES.replace("{v}", "m")
"""Selects messages in their newest version from a source with the alias `m`."""

_CURRENT_MESSAGES = (
    SELECT_NEWEST_MESSAGES.format(source="messages AS m") + "{where} AND m.valid_to IS NULL"
)


class MessageReader:
    """Reads one owner's messages."""

    def __init__(
        self,
        connection: Connection,
        encryption: OwnerEncryption,
        owner: int,
        generation: EmbeddingGeneration,
    ) -> None:
        """Initialise with a connection within a transaction, owner number and generation."""
        self._connection = connection
        self._encryption = encryption
        self._owner = owner
        self._generation = generation
        self._names: dict[int, str | None] = {}

    @property
    def owner_id(self) -> str:
        """See `Snapshot.owner_id`."""
        return self._encryption.owner_id

    def messages(
        self,
        *,
        ids: Sequence[str] | None = None,
        session_id: str | None = None,
        after: int = 0,
        limit: int | None = None,
        as_of: datetime | None = None,
    ) -> list[Message]:
        """See `Snapshot.messages`."""
        if ids is not None:
            by_id = {m.id: m for m in self._messages_by_packed_ids(pack_valid_ids(ids), as_of)}
            return [by_id[id_] for id_ in ids if id_ in by_id][:limit]
        where, order, values = self._conversation_filter(session_id, after)
        if as_of is not None:
            return self._messages_as_of(as_of, "messages AS m", where, values)[:limit]
        max_rows = NO_LIMIT if limit is None else limit
        statement = f"{_CURRENT_MESSAGES.format(where=where)} ORDER BY {order} LIMIT ?"
        return self._decode_messages(self._connection.rows(statement, [*values, max_rows]))

    def recent_messages(self, limit: int, *, session_id: str | None = None) -> list[Message]:
        """See `Snapshot.recent_messages`."""
        where, order, values = self._conversation_filter(session_id)
        statement = f"{_CURRENT_MESSAGES.format(where=where)} ORDER BY {order} DESC LIMIT ?"
        return self._decode_messages(reversed(self._connection.rows(statement, [*values, limit])))

    def _conversation_filter(
        self, session_id: str | None, after: int = 0
    ) -> tuple[str, str, list[Any]]:
        """Return condition, order and values for the messages of one session, or of all."""
        if session_id is None:
            return _OF_OWNER, "m.number", [self._owner]
        return _OF_SESSION, "m.sequence", [self._owner, self.session_number(session_id), after]

    def original_messages(self, ids: Sequence[str]) -> list[Message]:
        """See `Snapshot.original_messages`."""
        packed = pack_valid_ids(ids)
        if not packed:
            return []
        rows = self._version_rows(_BY_IDS, "", [self._connection.bind_values(packed), self._owner])
        newest = {row[0]: row[1] for row in rows}
        first = {row[0]: row for row in reversed(rows)}.values()
        by_id = {
            m.id: replace(m, version=newest[pack_id(m.id)]) for m in self._decode_messages(first)
        }
        return [by_id[id_] for id_ in ids if id_ in by_id]

    def message_revisions(self, ids: Sequence[str]) -> dict[str, list[MessageRevision]]:
        """See `MessageRevisionReader.message_revisions`."""
        packed = pack_valid_ids(ids)
        if not packed:
            return {}
        rows = self._version_rows(_BY_IDS, "", [self._connection.bind_values(packed), self._owner])
        revisions: dict[str, list[MessageRevision]] = {}
        for message, row in zip(self._decode_messages(rows), rows, strict=True):
            revision = MessageRevision(message, instant(row[10]), instant_or_none(row[11]))
            revisions.setdefault(message.id, []).append(revision)
        return revisions

    def find_adjacent_message(self, id: str, step: Literal[-1, 1]) -> str | None:
        """See `MessageRevisionReader.find_adjacent_message`."""
        row = self._connection.row(
            "SELECT n.id FROM messages AS m CROSS JOIN messages AS n"
            " ON n.owner_id = m.owner_id AND n.session = m.session AND n.sequence = m.sequence + ?"
            " WHERE m.owner_id = ? AND m.id = ?",
            (step, self._owner, pack_id_or_none(id)),
        )
        return unpack_id(row[0]) if row else None

    def _messages_by_packed_ids(
        self, ids: Sequence[bytes], as_of: datetime | None = None
    ) -> list[Message]:
        """Return messages in the order stored."""
        if not ids:
            return []
        values = [self._connection.bind_values(tuple(ids)), self._owner]
        if as_of is not None:
            return self._messages_as_of(as_of, _BY_IDS, "", values)
        statement = _SELECT_MESSAGES.format(v="m", source=_BY_IDS) + " WHERE m.valid_to IS NULL"
        return self._decode_messages(
            self._connection.rows(f"{statement} ORDER BY m.number", values)
        )

    def _messages_as_of(
        self, as_of: datetime, source: str, where: str, values: Sequence[Any]
    ) -> list[Message]:
        """Return messages in the version valid then, by sequence in a session, else as stored."""
        at = micros(as_of)
        rows = self._version_rows(source, where, values)
        latest = {row[0]: row for row in rows if row[10] <= at < (row[11] or NEVER)}
        column = 2 if where is _OF_SESSION else 12
        return self._decode_messages(sorted(latest.values(), key=lambda row: row[column]))

    def _version_rows(self, source: str, where: str, values: Sequence[Any]) -> list[Row]:
        """Return rows of all versions of messages, oldest first."""
        older = _SELECT_MESSAGES.format(v="v", source=source + _WITH_VERSIONS) + where
        newest = _SELECT_MESSAGES.format(v="m", source=source) + where
        rows = [*self._connection.rows(older, values), *self._connection.rows(newest, values)]
        return sorted(rows, key=lambda row: row[1])

    def _decode_messages(self, rows: Iterable[Sequence[Any]]) -> list[Message]:
        return [decode_message(self._encryption, row[:10], self._names) for row in rows]

    def forgotten_messages(self) -> list[Message]:
        """See `Snapshot.forgotten_messages`."""
        rows = self._connection.rows(
            "SELECT id FROM messages WHERE owner_id = ? AND valid_to IS NOT NULL ORDER BY number",
            (self._owner,),
        )
        return self.original_messages([unpack_id(packed) for (packed,) in rows])

    def external_ids(self, session_id: str, ids: Sequence[str]) -> set[str]:
        """See `Snapshot.external_ids`."""
        if not ids:
            return set()
        digests = {self._encryption.digest("external", id_): id_ for id_ in ids}
        rows = self._connection.rows(
            "SELECT m.external_digest FROM carray(?) AS w CROSS JOIN messages AS m"
            " ON m.owner_id = ? AND m.session = ? AND m.external_digest = w.value",
            (
                self._connection.bind_values(tuple(digests)),
                self._owner,
                self.session_number(session_id),
            ),
        )
        return {digests[digest] for (digest,) in rows}

    @translate_decode_errors
    def sessions(self) -> list[Session]:
        """See `Snapshot.sessions`."""
        rows = self._connection.rows(
            "SELECT name, number, first_at, last_at, messages - (SELECT count(*) FROM messages AS m"
            "  WHERE m.owner_id = s.owner_id AND m.session = s.number AND m.valid_to IS NOT NULL),"
            " ended_at FROM sessions AS s WHERE owner_id = ? AND first_item IS NOT NULL"
            " ORDER BY first_item",
            (self._owner,),
        )
        return [
            Session(name, number, instant(first), instant(last), count, instant_or_none(ended))
            for name, number, first, last, count, ended in rows
        ]

    @translate_decode_errors
    def participants(self) -> list[Participant]:
        """See `Snapshot.participants`."""
        rows = self._connection.rows(
            "SELECT number, name, role FROM participants WHERE owner_id = ? ORDER BY number",
            (self._owner,),
        )
        return [
            Participant(n, decrypt_name(self._encryption, n, s), Role(role)) for n, s, role in rows
        ]

    def session_number(self, name: str) -> int | None:
        """Return a session's number; None if there is no such session."""
        row = self._connection.row(
            "SELECT number FROM sessions WHERE owner_id = ? AND name = ?", (self._owner, name)
        )
        return row[0] if row else None


# --- Base memory


_BASE_MEMORY_VERSIONS = (
    "SELECT version, content, sources, valid_from, valid_to FROM base_memories WHERE owner_id = ?1"
)


class BaseMemoryReader(MessageReader):
    """Reads the base memory."""

    def base_memory(self, *, as_of: datetime | None = None) -> BaseMemory | None:
        """See `BaseMemoryReader.base_memory`."""
        if as_of is None:
            row = self._connection.row(
                f"{_BASE_MEMORY_VERSIONS} AND valid_to IS NULL", (self._owner,)
            )
        else:
            row = self._connection.row(
                f"{_BASE_MEMORY_VERSIONS} AND valid_from <= ?2"
                " AND (valid_to IS NULL OR ?2 < valid_to)"
                " ORDER BY version DESC LIMIT 1",
                (self._owner, micros(as_of)),
            )
        return decode_base_memory(self._encryption, row) if row else None

    def base_memories(self) -> list[BaseMemory]:
        """See `BaseMemoryReader.base_memories`."""
        rows = self._connection.rows(f"{_BASE_MEMORY_VERSIONS} ORDER BY version", (self._owner,))
        return [decode_base_memory(self._encryption, row) for row in rows]


# --- Memory stats


_MEMORY_STATS = (
    "SELECT id, item, kind, state, importance, strength, access_count,"
    " coalesce(accessed_at, created_at), created_at, updated_at, coalesce(expires_at, -1),"
    " coalesce(session, -1) FROM memories"
    " WHERE owner_id = ? AND state IN ({states}) ORDER BY created_at, id"
)


class MemoryStatsReader(MessageReader):
    """Reads memory stats without decrypting content."""

    def memory_stats(self, *, states: frozenset[State]) -> MemoryStats:
        """See `MemoryStatsReader.memory_stats`."""
        statement = _MEMORY_STATS.format(states=", ".join("?" * len(states)) or "NULL")
        values = (self._owner, *sorted(state.value for state in states))
        rows = self._connection.rows(statement, values)
        return decode_memory_stats(
            [(item, unpack_id(id_), *columns) for id_, item, *columns in rows]
        )


# --- Memories


_SELECT_MEMORIES = (
    f"SELECT {', '.join('m.' + name for name in MEMORY_COLUMNS.split(', '))}, s.name"
    " FROM {source} LEFT JOIN sessions AS s ON s.owner_id = m.owner_id AND s.number = m.session"
)
SELECT_ALL_MEMORIES = _SELECT_MEMORIES.format(source="memories AS m")
_MEMORIES_BY_ID = _SELECT_MEMORIES.format(
    source="carray(?) AS w CROSS JOIN memories AS m ON m.owner_id = ? AND m.id = w.value"
)
_OLD_VERSIONS_BY_ID = _SELECT_MEMORIES.format(
    source="carray(?) AS w CROSS JOIN versions AS m ON m.owner_id = ? AND m.id = w.value"
)
_SAME_CONTENT = (
    "SELECT record_id, kind IS NOT NULL FROM items INDEXED BY items_content"
    " WHERE owner_id = ? AND content = ? AND valid_to IS NULL"
)
_SAME_CONTENT_DORMANT = (
    "SELECT m.id FROM items AS i INDEXED BY items_content CROSS JOIN memories AS m"
    " ON m.owner_id = i.owner_id AND m.id = i.record_id AND m.item = i.item"
    f" WHERE i.owner_id = ? AND i.content = ? AND m.state IN ({DORMANT_STATES})"
)
_DERIVED_MEMORIES = (
    "SELECT d.source_id, "
    + _SELECT_MEMORIES.removeprefix("SELECT ").format(
        source="carray(?) AS w CROSS JOIN derived AS d ON d.owner_id = ? AND d.source_id = w.value"
        " CROSS JOIN memories AS m ON m.owner_id = d.owner_id AND m.id = d.memory_id"
    )
    + " ORDER BY m.created_at, m.id"
)


class RecordReader(MemoryStatsReader, BaseMemoryReader):
    """Reads one owner's records; the reading half of a snapshot."""

    def memories(self, ids: Sequence[str], *, as_of: datetime | None = None) -> list[Memory]:
        """See `Snapshot.memories`."""
        packed = pack_valid_ids(ids)
        if not packed:
            return []
        values = (self._connection.bind_values(packed), self._owner)
        rows = self._connection.rows(_MEMORIES_BY_ID, values)
        if as_of is None:
            by_id = {memory.id: memory for memory in self._decode_memories(rows)}
        else:
            rows = [*self._connection.rows(_OLD_VERSIONS_BY_ID, values), *rows]
            rows.sort(key=lambda row: row[1])  # if two versions were valid then, the later counts
            by_id = {
                v.memory.id: v.memory for v in self._decode_versions(rows) if _is_valid_at(v, as_of)
            }
        return [by_id[id_] for id_ in ids if id_ in by_id]

    def find_by_key(self, key: str) -> Memory | None:
        """See `Snapshot.find_by_key`."""
        row = self._connection.row(
            f"{SELECT_ALL_MEMORIES} WHERE m.owner_id = ? AND m.key_digest = ?"
            " AND m.state = 'active'",
            (self._owner, self._encryption.digest("key", key)),
        )
        return decode_memory(self._encryption, row) if row else None

    def find_by_content(self, content_key: str, *, dormant: bool = False) -> list[Memory | Message]:
        """See `Snapshot.find_by_content`."""
        values = (self._owner, self._encryption.digest("content", content_key))
        rows = self._connection.rows(_SAME_CONTENT, values)
        ids = [packed for packed, is_memory in rows if is_memory]
        if dormant:
            ids += [packed for (packed,) in self._connection.rows(_SAME_CONTENT_DORMANT, values)]
        memories = self._memories_by_packed_ids(ids)
        messages = self._messages_by_packed_ids(
            [packed for packed, is_memory in rows if not is_memory]
        )
        return [*sorted(memories, key=lambda memory: (memory.created_at, memory.id)), *messages]

    def page(
        self,
        *,
        states: frozenset[State],
        kinds: frozenset[str] | None,
        tags: tuple[str, ...],
        limit: int,
        cursor: str | None,
        offset: int = 0,
    ) -> Page:
        """See `Snapshot.page`."""
        conditions, values = self._list_filter(states, kinds, tags)
        count = f"SELECT count(*) FROM memories AS m WHERE {conditions}"
        total = (self._connection.row(count, values) or (0,))[0]
        if cursor is not None:
            conditions += " AND (m.created_at, m.id) < (?, ?)"
            values = [*values, *decode_cursor(self._encryption, cursor)]
        rows = self._connection.rows(
            f"{SELECT_ALL_MEMORIES} WHERE {conditions}"
            " ORDER BY m.created_at DESC, m.id DESC LIMIT ? OFFSET ?",
            [*values, limit + 1, offset],
        )
        page_rows = rows[:limit]
        has_more = len(rows) > limit and page_rows
        next_cursor = (
            encode_cursor(self._encryption, page_rows[-1][14], page_rows[-1][0])
            if has_more
            else None
        )
        return Page(tuple(self._decode_memories(page_rows)), total, next_cursor)

    def _list_filter(
        self, states: frozenset[State], kinds: frozenset[str] | None, tags: tuple[str, ...]
    ) -> tuple[str, list[Any]]:
        conditions = f"m.owner_id = ? AND m.state IN ({_placeholders(states)})"
        values: list[Any] = [self._owner, *sorted(state.value for state in states)]
        if kinds is not None:
            conditions += f" AND m.kind IN ({_placeholders(kinds)})"
            values += sorted(kinds)
        for tag in tags:
            conditions += (
                " AND EXISTS (SELECT 1 FROM tags AS t"
                " WHERE t.owner_id = m.owner_id AND t.tag = ? AND t.item = m.item)"
            )
            values.append(self._encryption.digest("tag", tag))
        return conditions, values

    def history(self, id: str) -> MemoryHistory | None:
        """See `Snapshot.history`."""
        packed = pack_id_or_none(id)
        values = (self._connection.bind_values((packed,)), self._owner) if packed else None
        rows = self._connection.rows(_MEMORIES_BY_ID, values) if values else []
        if not values or not rows:
            return None
        versions = self._decode_versions(
            [*self._connection.rows(_OLD_VERSIONS_BY_ID, values), *rows]
        )
        events = self._connection.rows(
            'SELECT number, record_id, action, at, "by", version, details FROM events'
            " WHERE owner_id = ? AND record_id = ? ORDER BY number",
            (self._owner, packed),
        )
        return MemoryHistory(
            versions=tuple(sorted(versions, key=lambda version: version.memory.version)),
            events=tuple(decode_event(self._encryption, row) for row in events),
        )

    def derived_memories(self, source_ids: Sequence[str]) -> dict[str, list[Memory]]:
        """See `Snapshot.derived_memories`."""
        packed = pack_valid_ids(list(dict.fromkeys(source_ids)))
        if not packed:
            return {}
        rows = self._connection.rows(
            _DERIVED_MEMORIES, (self._connection.bind_values(packed), self._owner)
        )
        by_source: dict[bytes, list[Memory]] = {}
        for source, *row in rows:
            by_source.setdefault(source, []).append(decode_memory(self._encryption, row))
        pairs = ((id_, by_source.get(pack_id_or_none(id_) or b"")) for id_ in source_ids)
        return {id_: memories for id_, memories in pairs if memories}

    def vectors(self, digests: Sequence[bytes]) -> dict[bytes, NDArray[np.int8]]:
        """See `Snapshot.vectors`."""
        if not digests:
            return {}
        self._generation.refuse_if_switched(self._connection)
        signed = {self._encryption.sign("passage", digest): digest for digest in digests}
        vector = f"p.{self._generation.column}"
        rows = self._connection.rows(
            f"SELECT p.digest, {vector} FROM carray(?) AS w CROSS JOIN passages AS p"
            " ON p.owner_id = ? AND p.digest = w.value"
            f" WHERE {vector} IS NOT NULL ORDER BY p.item DESC, p.part DESC",
            (self._connection.bind_values(tuple(signed)), self._owner),
        )
        stored = {signed[digest]: vector for digest, vector in rows}
        if not stored:
            return {}
        dimension = stored_dimension(self._connection) or 0
        return dict(
            zip(
                stored,
                self._encryption.decrypt_vectors(list(stored.values()), dimension),
                strict=True,
            )
        )

    @translate_decode_errors
    def statistics(self) -> Statistics:
        """See `Snapshot.statistics`."""
        counts = self._connection.rows(
            "SELECT state, kind, importance, count(*) FROM memories WHERE owner_id = ?"
            " GROUP BY state, kind, importance ORDER BY state, kind, importance",
            (self._owner,),
        )
        active = [row[1:] for row in counts if row[0] == State.ACTIVE]
        total = sum(count for *_, count in active)
        weights = chain.from_iterable(repeat(weight, count) for _, weight, count in active)
        messages, sessions = self._connection.row(
            "SELECT CAST(coalesce(sum(messages), 0) AS BIGINT) - (SELECT count(*) FROM messages"
            " WHERE owner_id = ?1 AND valid_to IS NOT NULL), count(first_item)"
            " FROM sessions WHERE owner_id = ?1",
            (self._owner,),
        ) or (0, 0)
        embedded, vectors = self._connection.row(
            "SELECT count(DISTINCT CASE WHEN i.kind IS NOT NULL THEN i.item END), count(*)"
            " FROM passages AS p CROSS JOIN items AS i"
            " ON i.owner_id = p.owner_id AND i.item = p.item AND i.valid_to IS NULL"
            f" WHERE p.owner_id = ? AND p.{self._generation.column} IS NOT NULL",
            (self._owner,),
        ) or (0, 0)
        return Statistics(
            total_count=total,
            with_embeddings=embedded,
            avg_importance=math.fsum(weights) / total if total else 0.0,
            by_kind=_sum_by_name((kind, count) for kind, _, count in active),
            by_state=_sum_by_name((row[0], row[3]) for row in counts),
            messages=messages,
            sessions=sessions,
            vectors=vectors,
        )

    def _decode_memories(self, rows: Iterable[Sequence[Any]]) -> list[Memory]:
        return [decode_memory(self._encryption, row) for row in rows]

    def _memories_by_packed_ids(self, ids: Sequence[bytes]) -> list[Memory]:
        if not ids:
            return []
        values = (self._connection.bind_values(tuple(ids)), self._owner)
        return self._decode_memories(self._connection.rows(_MEMORIES_BY_ID, values))

    @translate_decode_errors
    def _decode_versions(self, rows: Iterable[Sequence[Any]]) -> list[Version]:
        """Decode versions as they were while valid."""
        return [
            Version(
                memory=replace(
                    decode_memory(self._encryption, row),
                    state=State.ACTIVE,
                    superseded_by=None,
                    updated_at=instant(row[23]),
                ),
                valid_from=instant(row[23]),
                valid_to=instant_or_none(row[24]),
            )
            for row in rows
        ]


def _is_valid_at(version: Version, at: datetime) -> bool:
    return version.valid_from <= at and (version.valid_to is None or at < version.valid_to)


def _placeholders(values: Iterable[object]) -> str:
    return ", ".join("?" for _ in values) or "NULL"


def _sum_by_name(pairs: Iterable[tuple[str, int]]) -> dict[str, int]:
    sums: dict[str, int] = {}
    for name, count in pairs:
        sums[name] = sums.get(name, 0) + count
    return sums
