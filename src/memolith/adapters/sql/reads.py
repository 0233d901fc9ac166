"""A snapshot of one owner in tables."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import chain, repeat
from typing import TYPE_CHECKING

from memolith.adapters.sql.base_memory_reads import BaseMemoryReader
from memolith.adapters.sql.conditions import MemoryStatsReader
from memolith.adapters.sql.cursors import decode_cursor, encode_cursor
from memolith.adapters.sql.damage import translate_decode_errors
from memolith.adapters.sql.rows import (
    DORMANT_STATES,
    MEMORY_COLUMNS,
    decode_event,
    decode_memory,
)
from memolith.adapters.sql.spaces import stored_dimension
from memolith.adapters.sql.values import (
    instant,
    instant_or_none,
    pack_id_or_none,
    pack_valid_ids,
)
from memolith.domain.memories import History as MemoryHistory
from memolith.domain.memories import Memory, Page, State, Version
from memolith.domain.messages import Message
from memolith.domain.owners import Statistics

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime
    from typing import Any

    import numpy as np
    from numpy.typing import NDArray


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
    """The records of one owner as one connection sees them: the reading half of a snapshot."""

    def memories(self, ids: Sequence[str], *, as_of: datetime | None = None) -> list[Memory]:
        """See the port."""
        packed = pack_valid_ids(ids)
        if not packed:
            return []
        values = (self._connection.bind_values(packed), self._owner)
        rows = self._connection.rows(_MEMORIES_BY_ID, values)
        if as_of is None:
            found = {memory.id: memory for memory in self._decode_memories(rows)}
        else:
            rows = [*self._connection.rows(_OLD_VERSIONS_BY_ID, values), *rows]
            rows.sort(key=lambda row: row[1])  # of two versions valid then, the later counts
            found = {
                v.memory.id: v.memory for v in self._decode_versions(rows) if _is_valid_at(v, as_of)
            }
        return [found[id_] for id_ in ids if id_ in found]

    def find_by_key(self, key: str) -> Memory | None:
        """See the port."""
        row = self._connection.row(
            f"{SELECT_ALL_MEMORIES} WHERE m.owner_id = ? AND m.key_digest = ? AND m.state = 'active'",
            (self._owner, self._encryption.digest("key", key)),
        )
        return decode_memory(self._encryption, row) if row else None

    def find_by_content(self, content_key: str, *, dormant: bool = False) -> list[Memory | Message]:
        """See the port."""
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
        """See the port."""
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
        shown = rows[:limit]
        more = len(rows) > limit and shown
        following = encode_cursor(self._encryption, shown[-1][14], shown[-1][0]) if more else None
        return Page(tuple(self._decode_memories(shown)), total, following)

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
        """See the port."""
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
        """See the port."""
        packed = pack_valid_ids(list(dict.fromkeys(source_ids)))
        if not packed:
            return {}
        rows = self._connection.rows(
            _DERIVED_MEMORIES, (self._connection.bind_values(packed), self._owner)
        )
        found: dict[bytes, list[Memory]] = {}
        for source, *row in rows:
            found.setdefault(source, []).append(decode_memory(self._encryption, row))
        pairs = ((id_, found.get(pack_id_or_none(id_) or b"")) for id_ in source_ids)
        return {id_: memories for id_, memories in pairs if memories}

    def vectors(self, digests: Sequence[bytes]) -> dict[bytes, NDArray[np.int8]]:
        """See the port."""
        if not digests:
            return {}
        self._generation.refuse_if_switched(self._connection)
        asked = {self._encryption.sign("passage", digest): digest for digest in digests}
        vector = f"p.{self._generation.column}"
        rows = self._connection.rows(
            f"SELECT p.digest, {vector} FROM carray(?) AS w CROSS JOIN passages AS p"
            " ON p.owner_id = ? AND p.digest = w.value"
            f" WHERE {vector} IS NOT NULL ORDER BY p.item DESC, p.part DESC",
            (self._connection.bind_values(tuple(asked)), self._owner),
        )
        stored = {asked[digest]: vector for digest, vector in rows}
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
        """See the port."""
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
        """Return versions as they stood while they were valid."""
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
