"""Reading messages, sessions and participants of one owner."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from memolith.adapters.sql.connection import NO_LIMIT
from memolith.adapters.sql.damage import decoding
from memolith.adapters.sql.rows import message_of, open_name
from memolith.adapters.sql.values import (
    NEVER,
    find_id,
    find_ids,
    instant,
    instant_or_none,
    micros,
    pack_id,
    unpack_id,
)
from memolith.domain.messages import Message, Participant, Role, Session
from memolith.ports.removal import Wording

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from memolith.adapters.sql.connection import Connection, Row
    from memolith.adapters.sql.sealing import Sealing
    from memolith.adapters.sql.spaces import Space

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
OPEN_OF = _SAID.replace("{v}", "m")
"""Gives messages in their newest version, from a source that names them `m`."""

_OPEN = OPEN_OF.format(source="messages AS m") + "{where} AND m.valid_to IS NULL"


class MessageRecords:
    """The messages of one owner as one connection sees them."""

    def __init__(self, connection: Connection, sealing: Sealing, owner: int, space: Space) -> None:
        """Take a connection within a transaction, the owner's number, and the vectors in use."""
        self._connection = connection
        self._sealing = sealing
        self._owner = owner
        self._space = space
        self._names: dict[int, str | None] = {}

    @property
    def owner_id(self) -> str:
        """See the port."""
        return self._sealing.owner_id

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
        where, order, values = self._conversation(session_id, after)
        if as_of is not None:
            return self._said_by(as_of, "messages AS m", where, values)[:limit]
        most = NO_LIMIT if limit is None else limit
        statement = f"{_OPEN.format(where=where)} ORDER BY {order} LIMIT ?"
        return self._messages(self._connection.rows(statement, [*values, most]))

    def recent_messages(self, limit: int, *, session_id: str | None = None) -> list[Message]:
        """See the port."""
        where, order, values = self._conversation(session_id)
        latest_first = f"{_OPEN.format(where=where)} ORDER BY {order} DESC LIMIT ?"
        return self._messages(reversed(self._connection.rows(latest_first, [*values, limit])))

    def _conversation(self, session_id: str | None, after: int = 0) -> tuple[str, str, list[Any]]:
        """Return condition, order and values for the messages of a session, or of all."""
        if session_id is None:
            return _OF_OWNER, "m.number", [self._owner]
        return _OF_SESSION, "m.sequence", [self._owner, self.session_number(session_id), after]

    def originals(self, ids: Sequence[str]) -> list[Message]:
        """See the port."""
        packed = find_ids(ids)
        if not packed:
            return []
        rows = self._every_version(_PICKED, "", [self._connection.many(packed), self._owner])
        newest = {row[0]: row[1] for row in rows}
        first = {row[0]: row for row in reversed(rows)}.values()
        said = {m.id: replace(m, version=newest[pack_id(m.id)]) for m in self._messages(first)}
        return [said[id_] for id_ in ids if id_ in said]

    def wordings(self, ids: Sequence[str]) -> dict[str, list[Wording]]:
        """See the port."""
        packed = find_ids(ids)
        if not packed:
            return {}
        rows = self._every_version(_PICKED, "", [self._connection.many(packed), self._owner])
        found: dict[str, list[Wording]] = {}
        for message, row in zip(self._messages(rows), rows, strict=True):
            wording = Wording(message, instant(row[10]), instant_or_none(row[11]))
            found.setdefault(message.id, []).append(wording)
        return found

    def adjacent(self, id: str, step: Literal[-1, 1]) -> str | None:
        """See the port."""
        row = self._connection.row(
            "SELECT n.id FROM messages AS m CROSS JOIN messages AS n"
            " ON n.owner_id = m.owner_id AND n.session = m.session AND n.sequence = m.sequence + ?"
            " WHERE m.owner_id = ? AND m.id = ?",
            (step, self._owner, find_id(id)),
        )
        return unpack_id(row[0]) if row else None

    def _picked(self, ids: Sequence[bytes], as_of: datetime | None = None) -> list[Message]:
        """Return messages in the order they were stored."""
        if not ids:
            return []
        values = [self._connection.many(tuple(ids)), self._owner]
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

    def _messages(self, rows: Iterable[Sequence[Any]]) -> list[Message]:
        return [message_of(self._sealing, row[:10], self._names) for row in rows]

    def forgotten_messages(self) -> list[Message]:
        """See the port."""
        rows = self._connection.rows(
            "SELECT id FROM messages WHERE owner_id = ? AND valid_to IS NOT NULL ORDER BY number",
            (self._owner,),
        )
        return self.originals([unpack_id(packed) for (packed,) in rows])

    def external_ids(self, session_id: str, ids: Sequence[str]) -> set[str]:
        """See the port."""
        if not ids:
            return set()
        digests = {self._sealing.digest("external", id_): id_ for id_ in ids}
        rows = self._connection.rows(
            "SELECT m.external_digest FROM carray(?) AS w CROSS JOIN messages AS m"
            " ON m.owner_id = ? AND m.session = ? AND m.external_digest = w.value",
            (
                self._connection.many(tuple(digests)),
                self._owner,
                self.session_number(session_id),
            ),
        )
        return {digests[digest] for (digest,) in rows}

    @decoding
    def sessions(self) -> list[Session]:
        """See the port."""
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

    @decoding
    def participants(self) -> list[Participant]:
        """See the port."""
        rows = self._connection.rows(
            "SELECT number, name, role FROM participants WHERE owner_id = ? ORDER BY number",
            (self._owner,),
        )
        return [Participant(n, open_name(self._sealing, n, s), Role(role)) for n, s, role in rows]

    def session_number(self, name: str) -> int | None:
        """Return a session's number; None where there is no such session."""
        row = self._connection.row(
            "SELECT number FROM sessions WHERE owner_id = ? AND name = ?", (self._owner, name)
        )
        return row[0] if row else None
