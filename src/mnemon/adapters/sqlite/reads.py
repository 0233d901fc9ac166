"""A snapshot of one owner in a SQLite file."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import chain, repeat
from typing import TYPE_CHECKING

import apsw
import numpy as np

from mnemon.adapters.sql.cursors import cursor_after, place_of
from mnemon.adapters.sql.rows import (
    MEMORY_COLUMNS,
    event_of,
    memory_of,
    message_of,
    open_name,
)
from mnemon.adapters.sql.values import (
    NEVER,
    find_id,
    find_ids,
    instant,
    instant_or_none,
    micros,
    pack_id,
)
from mnemon.domain.memories import History as MemoryHistory
from mnemon.domain.memories import Memory, Page, State, Version
from mnemon.domain.messages import Message, Participant, Role, Session
from mnemon.domain.owners import Statistics

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime
    from typing import Any

    from numpy.typing import NDArray

    from mnemon.adapters.sql.sealing import Sealing
    from mnemon.adapters.sqlite.connections import Connection, Row

_MEMORIES = (
    f"SELECT {', '.join('m.' + name for name in MEMORY_COLUMNS.split(', '))}, s.name"
    " FROM {source} LEFT JOIN sessions AS s ON s.owner_id = m.owner_id AND s.number = m.session"
)
_ALL = _MEMORIES.format(source="memories AS m")
_BY_ID = _MEMORIES.format(
    source="carray(?) AS w CROSS JOIN memories AS m ON m.owner_id = ? AND m.id = w.value"
)
_OLD_BY_ID = _MEMORIES.format(
    source="carray(?) AS w CROSS JOIN versions AS m ON m.owner_id = ? AND m.id = w.value"
)
_DERIVED = (
    "SELECT d.source_id, "
    + _MEMORIES.removeprefix("SELECT ").format(
        source="carray(?) AS w CROSS JOIN derived AS d ON d.owner_id = ? AND d.source_id = w.value"
        " CROSS JOIN memories AS m ON m.owner_id = d.owner_id AND m.id = d.memory_id"
    )
    + " ORDER BY m.created_at, m.id"
)
_SAID = (
    "SELECT m.id, {v}.version, m.sequence, m.external_id, {v}.at, {v}.content, s.name,"
    " {v}.speaker, p.name, p.role, {v}.valid_from, {v}.valid_to, m.number FROM {source}"
    " CROSS JOIN sessions AS s ON s.owner_id = m.owner_id AND s.number = m.session"
    " CROSS JOIN participants AS p ON p.owner_id = m.owner_id AND p.number = {v}.speaker"
)
_PICKED = "carray(?) AS w CROSS JOIN messages AS m ON m.owner_id = ? AND m.id = w.value"
_OLDER = " CROSS JOIN message_versions AS v ON v.owner_id = m.owner_id AND v.id = m.id"
_OF_SESSION = " WHERE m.owner_id = ? AND m.session = ? AND m.sequence > ?"
_OF_OWNER = " WHERE m.owner_id = ?"
_NO_LIMIT = -1


@dataclass(frozen=True, slots=True)
class OwnerRow:
    """What a snapshot sees of the owner itself; number 0 for one never written to."""

    number: int = 0
    counter: int = 0
    revision: int = 0
    generation: int = 0
    next_item: int = 1
    next_session: int = 1
    next_speaker: int = 1
    next_event: int = 1
    profile: str | None = None


def read_owner(connection: Connection, owner_id: str) -> OwnerRow:
    """Return the owner's row."""
    row = connection.row(
        "SELECT owner_id, counter, revision, generation, next_item, next_session,"
        " next_speaker, next_event, profile FROM owners WHERE name = ?",
        (owner_id,),
    )
    return OwnerRow(*row) if row else OwnerRow()


class Records:
    """The records of one owner as one connection sees them: the reading half of a snapshot."""

    def __init__(self, connection: Connection, sealing: Sealing, owner: int) -> None:
        """Take a connection within a transaction, and the owner's number."""
        self._connection = connection
        self._sealing = sealing
        self._owner = owner
        self._names: dict[int, str | None] = {}

    def memories(self, ids: Sequence[str], *, as_of: datetime | None = None) -> list[Memory]:
        """See the port."""
        packed = find_ids(ids)
        if not packed:
            return []
        values = (apsw.carray(packed), self._owner)
        rows = self._connection.rows(_BY_ID, values)
        if as_of is None:
            found = {memory.id: memory for memory in self._memories(rows)}
        else:
            rows = [*self._connection.rows(_OLD_BY_ID, values), *rows]
            rows.sort(key=lambda row: row[1])  # of two versions valid then, the later counts
            found = {v.memory.id: v.memory for v in self._versions(rows) if _held(v, as_of)}
        return [found[id_] for id_ in ids if id_ in found]

    def by_key(self, key: str) -> Memory | None:
        """See the port."""
        row = self._connection.row(
            f"{_ALL} WHERE m.owner_id = ? AND m.key_digest = ? AND m.state = 'active'",
            (self._owner, self._sealing.digest("key", key)),
        )
        return memory_of(self._sealing, row) if row else None

    def by_content(self, content_key: str) -> list[Memory | Message]:
        """See the port."""
        rows = self._connection.rows(
            "SELECT record_id, kind IS NOT NULL FROM items INDEXED BY items_content"
            " WHERE owner_id = ? AND content = ? AND valid_to IS NULL ORDER BY item",
            (self._owner, self._sealing.digest("content", content_key)),
        )
        memories = self._memories_packed([packed for packed, is_memory in rows if is_memory])
        messages = self._picked([packed for packed, is_memory in rows if not is_memory])
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
        conditions, values = self._listed(states, kinds, tags)
        count = f"SELECT count(*) FROM memories AS m WHERE {conditions}"
        total = (self._connection.row(count, values) or (0,))[0]
        if cursor is not None:
            conditions += " AND (m.created_at, m.id) < (?, ?)"
            values = [*values, *place_of(self._sealing, cursor)]
        rows = self._connection.rows(
            f"{_ALL} WHERE {conditions} ORDER BY m.created_at DESC, m.id DESC LIMIT ? OFFSET ?",
            [*values, limit + 1, offset],
        )
        shown = rows[:limit]
        more = len(rows) > limit and shown
        following = cursor_after(self._sealing, shown[-1][14], shown[-1][0]) if more else None
        return Page(tuple(self._memories(shown)), total, following)

    def _listed(
        self, states: frozenset[State], kinds: frozenset[str] | None, tags: tuple[str, ...]
    ) -> tuple[str, list[Any]]:
        conditions = f"m.owner_id = ? AND m.state IN ({_marks(states)})"
        values: list[Any] = [self._owner, *sorted(state.value for state in states)]
        if kinds is not None:
            conditions += f" AND m.kind IN ({_marks(kinds)})"
            values += sorted(kinds)
        for tag in tags:
            conditions += (
                " AND EXISTS (SELECT 1 FROM tags AS t"
                " WHERE t.owner_id = m.owner_id AND t.tag = ? AND t.item = m.item)"
            )
            values.append(self._sealing.digest("tag", tag))
        return conditions, values

    def history(self, id: str) -> MemoryHistory | None:
        """See the port."""
        packed = find_id(id)
        values = (apsw.carray((packed,)), self._owner) if packed else None
        rows = self._connection.rows(_BY_ID, values) if values else []
        if not values or not rows:
            return None
        versions = self._versions([*self._connection.rows(_OLD_BY_ID, values), *rows])
        events = self._connection.rows(
            'SELECT number, record_id, action, at, "by", version, details FROM events'
            " WHERE owner_id = ? AND record_id = ? ORDER BY number",
            (self._owner, packed),
        )
        return MemoryHistory(
            versions=tuple(sorted(versions, key=lambda version: version.memory.version)),
            events=tuple(event_of(self._sealing, row) for row in events),
        )

    def messages(
        self,
        *,
        ids: Sequence[str] | None = None,
        session_id: str | None = None,
        after: int = 0,
        limit: int | None = None,
        as_of: datetime | None = None,
    ) -> list[Message]:
        """See the port."""
        if ids is not None:
            found = {m.id: m for m in self._picked(find_ids(ids), as_of)}
            return [found[id_] for id_ in ids if id_ in found][:limit]
        source, where, order = "messages AS m", _OF_OWNER, "m.number"
        values: list[Any] = [self._owner]
        if session_id is not None:
            where, order = _OF_SESSION, "m.sequence"
            values += [self.session_number(session_id), after]
        if as_of is not None:
            return self._said_by(as_of, source, where, values)[:limit]
        open_ = _SAID.format(v="m", source=source) + where + " AND m.valid_to IS NULL"
        most = _NO_LIMIT if limit is None else limit
        rows = self._connection.rows(f"{open_} ORDER BY {order} LIMIT ?", [*values, most])
        return self._messages(rows)

    def originals(self, ids: Sequence[str]) -> list[Message]:
        """See the port."""
        packed = find_ids(ids)
        if not packed:
            return []
        rows = self._every_version(_PICKED, "", [apsw.carray(packed), self._owner])
        newest = {row[0]: row[1] for row in rows}
        first = {row[0]: row for row in reversed(rows)}.values()
        said = {m.id: replace(m, version=newest[pack_id(m.id)]) for m in self._messages(first)}
        return [said[id_] for id_ in ids if id_ in said]

    def _picked(self, ids: Sequence[bytes], as_of: datetime | None = None) -> list[Message]:
        """Return messages in the order they were stored."""
        if not ids:
            return []
        values = [apsw.carray(tuple(ids)), self._owner]
        if as_of is not None:
            return self._said_by(as_of, _PICKED, "", values)
        picked = _SAID.format(v="m", source=_PICKED) + " WHERE m.valid_to IS NULL"
        return self._messages(self._connection.rows(f"{picked} ORDER BY m.number", values))

    def _said_by(
        self, as_of: datetime, source: str, where: str, values: Sequence[Any]
    ) -> list[Message]:
        """Return messages in the version valid then: by place in a session, else as stored."""
        at = micros(as_of)
        rows = self._every_version(source, where, values)
        latest = {row[0]: row for row in rows if row[10] <= at < (row[11] or NEVER)}
        place = 2 if where is _OF_SESSION else 12
        return self._messages(sorted(latest.values(), key=lambda row: row[place]))

    def _every_version(self, source: str, where: str, values: Sequence[Any]) -> list[Row]:
        """Return rows of all versions of messages, oldest first."""
        older = _SAID.format(v="v", source=source + _OLDER) + where
        newest = _SAID.format(v="m", source=source) + where
        rows = [*self._connection.rows(older, values), *self._connection.rows(newest, values)]
        return sorted(rows, key=lambda row: row[1])

    def external_ids(self, session_id: str, ids: Sequence[str]) -> set[str]:
        """See the port."""
        if not ids:
            return set()
        rows = self._connection.rows(
            "SELECT m.external_id FROM carray(?) AS w CROSS JOIN messages AS m"
            " ON m.owner_id = ? AND m.session = ? AND m.external_id = w.value",
            (
                apsw.carray(tuple(id_.encode() for id_ in ids)),
                self._owner,
                self.session_number(session_id),
            ),
        )
        return {row[0].decode() for row in rows}

    def sessions(self) -> list[Session]:
        """See the port."""
        rows = self._connection.rows(
            "SELECT name, number, first_at, last_at, messages, ended_at FROM sessions"
            " WHERE owner_id = ? AND first_item IS NOT NULL ORDER BY first_item",
            (self._owner,),
        )
        return [
            Session(name, number, instant(first), instant(last), count, instant_or_none(ended))
            for name, number, first, last, count, ended in rows
        ]

    def participants(self) -> list[Participant]:
        """See the port."""
        rows = self._connection.rows(
            "SELECT number, name, role FROM participants WHERE owner_id = ? ORDER BY number",
            (self._owner,),
        )
        return [Participant(n, open_name(self._sealing, n, s), Role(role)) for n, s, role in rows]

    def derived(self, message_ids: Sequence[str]) -> dict[str, list[Memory]]:
        """See the port."""
        packed = find_ids(list(dict.fromkeys(message_ids)))
        if not packed:
            return {}
        rows = self._connection.rows(_DERIVED, (apsw.carray(packed), self._owner))
        found: dict[bytes, list[Memory]] = {}
        for source, *row in rows:
            found.setdefault(source, []).append(memory_of(self._sealing, row))
        pairs = ((id_, found.get(find_id(id_) or b"")) for id_ in message_ids)
        return {id_: memories for id_, memories in pairs if memories}

    def vectors(self, digests: Sequence[bytes]) -> dict[bytes, NDArray[np.int8]]:
        """See the port."""
        if not digests:
            return {}
        rows = self._connection.rows(
            "SELECT p.digest, p.vector FROM carray(?) AS w CROSS JOIN passages AS p"
            " ON p.owner_id = ? AND p.digest = w.value"
            " WHERE p.vector IS NOT NULL ORDER BY p.item DESC, p.part DESC",
            (apsw.carray(tuple(dict.fromkeys(digests))), self._owner),
        )
        return {digest: np.frombuffer(vector, dtype=np.int8) for digest, vector in rows}

    def statistics(self) -> Statistics:
        """See the port."""
        counts = self._connection.rows(
            "SELECT state, kind, importance, count(*) FROM memories WHERE owner_id = ?"
            " GROUP BY state, kind, importance",
            (self._owner,),
        )
        active = [row[1:] for row in counts if row[0] == State.ACTIVE]
        total = sum(count for *_, count in active)
        weights = chain.from_iterable(repeat(weight, count) for _, weight, count in active)
        messages, sessions = self._connection.row(
            "SELECT coalesce(sum(messages), 0), count(first_item) FROM sessions WHERE owner_id = ?",
            (self._owner,),
        ) or (0, 0)
        embedded, vectors = self._connection.row(
            "SELECT count(DISTINCT CASE WHEN i.kind IS NOT NULL THEN i.item END), count(*)"
            " FROM passages AS p CROSS JOIN items AS i"
            " ON i.owner_id = p.owner_id AND i.item = p.item AND i.valid_to IS NULL"
            " WHERE p.owner_id = ? AND p.vector IS NOT NULL",
            (self._owner,),
        ) or (0, 0)
        return Statistics(
            total_count=total,
            with_embeddings=embedded,
            avg_importance=math.fsum(weights) / total if total else 0.0,
            by_kind=_summed((kind, count) for kind, _, count in active),
            by_state=_summed((row[0], row[3]) for row in counts),
            messages=messages,
            sessions=sessions,
            vectors=vectors,
        )

    def session_number(self, name: str) -> int | None:
        """Return a session's number; None where there is no such session."""
        row = self._connection.row(
            "SELECT number FROM sessions WHERE owner_id = ? AND name = ?", (self._owner, name)
        )
        return row[0] if row else None

    def _memories(self, rows: Iterable[Sequence[Any]]) -> list[Memory]:
        return [memory_of(self._sealing, row) for row in rows]

    def _memories_packed(self, ids: Sequence[bytes]) -> list[Memory]:
        if not ids:
            return []
        values = (apsw.carray(tuple(ids)), self._owner)
        return self._memories(self._connection.rows(_BY_ID, values))

    def _messages(self, rows: Iterable[Sequence[Any]]) -> list[Message]:
        return [message_of(self._sealing, row[:10], self._names) for row in rows]

    def _versions(self, rows: Iterable[Sequence[Any]]) -> list[Version]:
        """Return versions as they stood while they were valid."""
        return [
            Version(
                memory=replace(
                    memory_of(self._sealing, row),
                    state=State.ACTIVE,
                    superseded_by=None,
                    updated_at=instant(row[22]),
                ),
                valid_from=instant(row[22]),
                valid_to=instant_or_none(row[23]),
            )
            for row in rows
        ]


def _held(version: Version, at: datetime) -> bool:
    return version.valid_from <= at and (version.valid_to is None or at < version.valid_to)


def _marks(values: Iterable[object]) -> str:
    return ", ".join("?" for _ in values)


def _summed(pairs: Iterable[tuple[str, int]]) -> dict[str, int]:
    sums: dict[str, int] = {}
    for name, count in pairs:
        sums[name] = sums.get(name, 0) + count
    return sums
