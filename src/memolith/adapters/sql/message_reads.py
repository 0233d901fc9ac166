"""Reading messages, sessions and participants of one owner."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from memolith.adapters.sql.connection import NO_LIMIT
from memolith.adapters.sql.damage import translate_decode_errors
from memolith.adapters.sql.rows import decode_message, decrypt_name
from memolith.adapters.sql.values import (
    NEVER,
    instant,
    instant_or_none,
    micros,
    pack_id,
    pack_id_or_none,
    pack_valid_ids,
    unpack_id,
)
from memolith.domain.messages import Message, Participant, Role, Session
from memolith.ports.removal import MessageRevision

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from memolith.adapters.sql.connection import Connection, Row
    from memolith.adapters.sql.sealing import OwnerEncryption
    from memolith.adapters.sql.spaces import EmbeddingGeneration

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
"""Gives messages in their newest version, from a source that names them `m`."""

_CURRENT_MESSAGES = (
    SELECT_NEWEST_MESSAGES.format(source="messages AS m") + "{where} AND m.valid_to IS NULL"
)


class MessageReader:
    """The messages of one owner as one connection sees them."""

    def __init__(
        self,
        connection: Connection,
        encryption: OwnerEncryption,
        owner: int,
        generation: EmbeddingGeneration,
    ) -> None:
        """Take a connection within a transaction, the owner's number, and the vectors in use."""
        self._connection = connection
        self._encryption = encryption
        self._owner = owner
        self._generation = generation
        self._names: dict[int, str | None] = {}

    @property
    def owner_id(self) -> str:
        """See the port."""
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
        """See the port."""
        if ids is not None:
            found = {m.id: m for m in self._messages_by_packed_ids(pack_valid_ids(ids), as_of)}
            return [found[id_] for id_ in ids if id_ in found][:limit]
        where, order, values = self._conversation_filter(session_id, after)
        if as_of is not None:
            return self._messages_as_of(as_of, "messages AS m", where, values)[:limit]
        most = NO_LIMIT if limit is None else limit
        statement = f"{_CURRENT_MESSAGES.format(where=where)} ORDER BY {order} LIMIT ?"
        return self._decode_messages(self._connection.rows(statement, [*values, most]))

    def recent_messages(self, limit: int, *, session_id: str | None = None) -> list[Message]:
        """See the port."""
        where, order, values = self._conversation_filter(session_id)
        latest_first = f"{_CURRENT_MESSAGES.format(where=where)} ORDER BY {order} DESC LIMIT ?"
        return self._decode_messages(
            reversed(self._connection.rows(latest_first, [*values, limit]))
        )

    def _conversation_filter(
        self, session_id: str | None, after: int = 0
    ) -> tuple[str, str, list[Any]]:
        """Return condition, order and values for the messages of a session, or of all."""
        if session_id is None:
            return _OF_OWNER, "m.number", [self._owner]
        return _OF_SESSION, "m.sequence", [self._owner, self.session_number(session_id), after]

    def original_messages(self, ids: Sequence[str]) -> list[Message]:
        """See the port."""
        packed = pack_valid_ids(ids)
        if not packed:
            return []
        rows = self._version_rows(_BY_IDS, "", [self._connection.bind_values(packed), self._owner])
        newest = {row[0]: row[1] for row in rows}
        first = {row[0]: row for row in reversed(rows)}.values()
        said = {
            m.id: replace(m, version=newest[pack_id(m.id)]) for m in self._decode_messages(first)
        }
        return [said[id_] for id_ in ids if id_ in said]

    def message_revisions(self, ids: Sequence[str]) -> dict[str, list[MessageRevision]]:
        """See the port."""
        packed = pack_valid_ids(ids)
        if not packed:
            return {}
        rows = self._version_rows(_BY_IDS, "", [self._connection.bind_values(packed), self._owner])
        found: dict[str, list[MessageRevision]] = {}
        for message, row in zip(self._decode_messages(rows), rows, strict=True):
            wording = MessageRevision(message, instant(row[10]), instant_or_none(row[11]))
            found.setdefault(message.id, []).append(wording)
        return found

    def find_adjacent_message(self, id: str, step: Literal[-1, 1]) -> str | None:
        """See the port."""
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
        """Return messages in the order they were stored."""
        if not ids:
            return []
        values = [self._connection.bind_values(tuple(ids)), self._owner]
        if as_of is not None:
            return self._messages_as_of(as_of, _BY_IDS, "", values)
        picked = _SELECT_MESSAGES.format(v="m", source=_BY_IDS) + " WHERE m.valid_to IS NULL"
        return self._decode_messages(self._connection.rows(f"{picked} ORDER BY m.number", values))

    def _messages_as_of(
        self, as_of: datetime, source: str, where: str, values: Sequence[Any]
    ) -> list[Message]:
        """Return messages in the version valid then: by place in a session, else as stored."""
        at = micros(as_of)
        rows = self._version_rows(source, where, values)
        latest = {row[0]: row for row in rows if row[10] <= at < (row[11] or NEVER)}
        place = 2 if where is _OF_SESSION else 12
        return self._decode_messages(sorted(latest.values(), key=lambda row: row[place]))

    def _version_rows(self, source: str, where: str, values: Sequence[Any]) -> list[Row]:
        """Return rows of all versions of messages, oldest first."""
        older = _SELECT_MESSAGES.format(v="v", source=source + _WITH_VERSIONS) + where
        newest = _SELECT_MESSAGES.format(v="m", source=source) + where
        rows = [*self._connection.rows(older, values), *self._connection.rows(newest, values)]
        return sorted(rows, key=lambda row: row[1])

    def _decode_messages(self, rows: Iterable[Sequence[Any]]) -> list[Message]:
        return [decode_message(self._encryption, row[:10], self._names) for row in rows]

    def forgotten_messages(self) -> list[Message]:
        """See the port."""
        rows = self._connection.rows(
            "SELECT id FROM messages WHERE owner_id = ? AND valid_to IS NOT NULL ORDER BY number",
            (self._owner,),
        )
        return self.original_messages([unpack_id(packed) for (packed,) in rows])

    def external_ids(self, session_id: str, ids: Sequence[str]) -> set[str]:
        """See the port."""
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

    @translate_decode_errors
    def participants(self) -> list[Participant]:
        """See the port."""
        rows = self._connection.rows(
            "SELECT number, name, role FROM participants WHERE owner_id = ? ORDER BY number",
            (self._owner,),
        )
        return [
            Participant(n, decrypt_name(self._encryption, n, s), Role(role)) for n, s, role in rows
        ]

    def session_number(self, name: str) -> int | None:
        """Return a session's number; None where there is no such session."""
        row = self._connection.row(
            "SELECT number FROM sessions WHERE owner_id = ? AND name = ?", (self._owner, name)
        )
        return row[0] if row else None
