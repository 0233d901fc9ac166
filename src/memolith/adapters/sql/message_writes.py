"""Writing messages, sessions and participants within a transaction, and purging records."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from memolith.adapters.sql.codecs import (
    KEY_COLUMNS,
    build_where_clause,
    digest_external_id,
    digest_speaker,
    encrypt_external_id,
    encrypt_name,
    micros,
    pack_id,
    pack_id_or_none,
    pack_valid_ids,
    remove_sources,
)
from memolith.adapters.sql.index_rows import ItemFacts, message_item_facts, require_role_and_time
from memolith.adapters.sql.memory_writes import CLOSE_ITEM, WriterBase
from memolith.domain.messages import Message, Role
from memolith.errors import Conflict, InvalidInput, NotFound
from memolith.ports.store import IndexEntry

_INSERT_MESSAGE = (
    "INSERT INTO messages (owner_id, id, number, version, item, session, sequence, speaker,"
    " external_id, external_digest, at, content, valid_from)"
    " VALUES (?1, ?2, ?3, ?4, ?3, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)"
)


class MessageWriter(WriterBase):
    """Writes messages."""

    def log(
        self,
        session_id: str,
        messages: Sequence[tuple[Message, IndexEntry]],
        *,
        at: datetime | None = None,
    ) -> None:
        """See `Transaction.log`."""
        if not messages:
            return
        with self._guard_change():
            session = self._get_session_number(session_id)
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
            self._update_session_counts(session, first, items)
            self._is_changed = True

    def next_sequence(self, session_id: str) -> int:
        """See `Transaction.next_sequence`."""
        row = self._connection.row(
            "SELECT last_sequence FROM sessions WHERE owner_id = ? AND name = ?",
            (self._owner, session_id),
        )
        return 1 + (row[0] if row else 0)

    def end_session(self, session_id: str, at: datetime) -> None:
        """See `Transaction.end_session`."""
        with self._guard_change():
            self._is_changed |= bool(
                self._connection.run(
                    "UPDATE sessions SET ended_at = ?"
                    " WHERE owner_id = ? AND name = ? AND first_item IS NOT NULL",
                    (micros(at), self._owner, session_id),
                )
            )

    def revise_message(self, message: Message, entry: IndexEntry, at: datetime) -> None:
        """See `Transaction.revise_message`."""
        with self._guard_change():
            packed, row = self._get_stored_message(message.id)
            version, item, session, sequence, began, ended = row
            if message.version <= version:
                raise Conflict(f"version {message.version} must be above {version}")
            message = replace(message, sequence=sequence)
            facts = self._message_facts(message, session, max(micros(at), ended or began))
            entry = self._carry_over_review(packed, message.content, entry)
            self._close_item(item, facts.valid_from)
            self._connection.run(
                "INSERT INTO message_versions SELECT owner_id, id, version, item, speaker, at,"
                " content, valid_from, coalesce(valid_to, ?) FROM messages"
                " WHERE owner_id = ? AND id = ?",
                (facts.valid_from, self._owner, packed),
            )
            new = self._add_items([(facts, entry)])
            content = self._encryption.encrypt(
                message.content, message.id, "content", message.version
            )
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
        """See `Transaction.reindex`.

        The message gets a new item, so that items and passages stay append-only. The old item
        remains, never valid, until the message is purged.
        """
        with self._guard_change():
            packed, row = self._get_stored_message(message_id)
            _, item, session, _, valid_from, valid_to = row
            if valid_to is not None:
                raise NotFound("message", message_id)
            (message,) = self.messages(ids=[message_id])
            facts = self._message_facts(message, session, valid_from)
            entry = self._carry_over_review(packed, message.content, entry)
            self._close_item(item, valid_from)
            new = self._add_items([(facts, entry)])
            self._connection.run(
                "UPDATE messages SET item = ? WHERE owner_id = ? AND id = ?",
                (new, self._owner, packed),
            )
            self._is_changed = True

    def close_messages(self, ids: Sequence[str], at: datetime) -> None:
        """See `Transaction.close_messages`."""
        packed = pack_valid_ids(ids)
        if not packed:
            return
        with self._guard_change():
            rows = self._connection.rows(
                "UPDATE messages SET valid_to = max(?1, valid_from)"
                " WHERE owner_id = ?2 AND valid_to IS NULL"
                " AND id IN (SELECT value FROM carray(?3)) RETURNING item",
                (micros(at), self._owner, self._connection.bind_values(packed)),
            )
            self._connection.run_many(
                CLOSE_ITEM,
                [(micros(at), self._new_revision, self._owner, item) for (item,) in rows],
            )
            self._is_changed |= bool(rows)

    def _get_stored_message(self, message_id: str) -> tuple[bytes, tuple[Any, ...]]:
        """Return the packed id, and version, item, session, sequence and validity."""
        packed = pack_id_or_none(message_id)
        row = packed and self._connection.row(
            "SELECT version, item, session, sequence, valid_from, valid_to FROM messages"
            " WHERE owner_id = ? AND id = ?",
            (self._owner, packed),
        )
        if not packed or not row:
            raise NotFound("message", message_id)
        return packed, row

    def _message_row(self, message: Message, item: int, facts: ItemFacts) -> tuple[object, ...]:
        return (
            self._owner,
            facts.record_id,
            item,
            message.version,
            facts.session,
            facts.sequence,
            facts.speaker,
            encrypt_external_id(self._encryption, facts.record_id, message.external_id),
            digest_external_id(self._encryption, message.external_id),
            facts.at,
            self._encryption.encrypt(message.content, message.id, "content", message.version),
            facts.valid_from,
        )

    def _message_facts(self, message: Message, session: int, valid_from: int | None) -> ItemFacts:
        role, at = require_role_and_time(message)
        since = micros(at) if valid_from is None else valid_from
        speaker = self._get_speaker_number(message.speaker, role)
        return message_item_facts(message, session, speaker, since)

    def _update_session_counts(self, session: int, first: int, items: Sequence[ItemFacts]) -> None:
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

    def _get_speaker_number(self, name: str | None, role: Role) -> int:
        """Return a participant's number, creating the participant if necessary."""
        if (name, role) not in self._speakers:
            digest = digest_speaker(self._encryption, name, role.value)
            row = self._connection.row(
                "SELECT number FROM participants WHERE owner_id = ? AND digest = ?",
                (self._owner, digest),
            )
            number = row[0] if row else self._insert_speaker(name, role, digest)
            self._speakers[name, role] = number
        return self._speakers[name, role]

    def _insert_speaker(self, name: str | None, role: Role, digest: bytes) -> int:
        number, self._next_speaker = self._next_speaker, self._next_speaker + 1
        self._connection.run(
            "INSERT INTO participants (owner_id, number, name, role, digest)"
            " VALUES (?, ?, ?, ?, ?)",
            (self._owner, number, encrypt_name(self._encryption, number, name), role.value, digest),
        )
        return number


# --- Purging


_WHERE_ID = "owner_id = ?1 AND id IN (SELECT value FROM carray(?2))"
_WHERE_RECORD = "owner_id = ?1 AND record_id IN (SELECT value FROM carray(?2))"
_DELETE_ITEMS = f"DELETE FROM items WHERE {_WHERE_RECORD} RETURNING item"
_DELETE_MESSAGE_ITEMS = (
    "DELETE FROM items WHERE owner_id = ? AND record_id = ? AND kind IS NULL RETURNING item"
)
_DELETE_RECORDS = (
    *(f"DELETE FROM {table} WHERE {_WHERE_ID}" for table in ("memories", "versions")),
    *(f"DELETE FROM {table} WHERE {_WHERE_ID}" for table in ("messages", "message_versions")),
    f"DELETE FROM events WHERE {_WHERE_RECORD}",
    *(
        f"DELETE FROM {table} WHERE owner_id = ?1 AND {column} IN (SELECT value FROM carray(?2))"
        for table, column in (
            ("derived", "memory_id"),
            ("derived", "source_id"),
            ("links", "source_id"),
            ("links", "target_id"),
        )
    ),
    *(
        f"UPDATE {table} SET superseded_by = NULL"
        " WHERE owner_id = ?1 AND superseded_by IN (SELECT value FROM carray(?2))"
        for table in ("memories", "versions")
    ),
)
_SPEAKERS_OF = " UNION ".join(
    f"SELECT speaker FROM {table} WHERE {_WHERE_ID}" for table in ("messages", "message_versions")
)
_DELETE_UNUSED_SPEAKER = "DELETE FROM participants WHERE owner_id = ?1 AND number = ?2" + "".join(
    f" AND NOT EXISTS (SELECT 1 FROM {table} WHERE owner_id = ?1 AND speaker = ?2)"
    for table in ("messages", "message_versions")
)
_WHERE_SESSIONS = "WHERE owner_id = ? AND session IN (SELECT value FROM carray(?))"
_DELETE_SESSIONS = (
    "DELETE FROM sessions WHERE owner_id = ? AND number IN (SELECT value FROM carray(?))"
)
_RECOUNT = (
    "UPDATE sessions AS s SET (messages, first_at, last_at) = (SELECT count(*),"
    " (SELECT at FROM messages AS f WHERE f.owner_id = s.owner_id AND f.session = s.number"
    "  ORDER BY f.number LIMIT 1),"
    " (SELECT at FROM messages AS l WHERE l.owner_id = s.owner_id AND l.session = s.number"
    "  ORDER BY l.number DESC LIMIT 1)"
    " FROM messages AS m WHERE m.owner_id = s.owner_id AND m.session = s.number)"
    " WHERE s.owner_id = ? AND s.number = ?"
)
_CLEAR_EMPTY_SESSION = (
    "UPDATE sessions SET first_item = NULL, ended_at = NULL"
    " WHERE owner_id = ? AND number = ? AND messages = 0"
)


class PurgeWriter(MessageWriter):
    """Deletes records permanently. Terms and tags are deleted at the end, in one pass."""

    _removed_items: tuple[int, ...] = ()
    _is_purged = False

    def purge(self, ids: Sequence[str]) -> None:
        """See `PurgeWriter.purge`."""
        existing = self._find_existing(pack_valid_ids(ids))
        if not existing:
            return
        with self._guard_change():
            sessions = self._connection.rows(
                f"SELECT DISTINCT session FROM messages WHERE {_WHERE_ID}",
                self._id_values(existing),
            )
            self._remove_records(existing)
            for (session,) in sessions:
                self._connection.run(_RECOUNT, (self._owner, session))
                self._connection.run(_CLEAR_EMPTY_SESSION, (self._owner, session))

    def remove_sessions(self, ids: Sequence[str]) -> None:
        """See `PurgeWriter.remove_sessions`."""
        numbers_or_none = (self.session_number(name) for name in dict.fromkeys(ids))
        numbers = [number for number in numbers_or_none if number is not None]
        if not numbers:
            return
        with self._guard_change():
            sessions = (self._owner, self._connection.bind_integers(numbers))
            message_rows = self._connection.rows(
                f"SELECT id FROM messages {_WHERE_SESSIONS}", sessions
            )
            self._remove_records([packed for (packed,) in message_rows])
            for table in ("memories", "versions", "items"):
                self._connection.run(
                    f"UPDATE {table} SET session = NULL {_WHERE_SESSIONS}", sessions
                )
            self._connection.run(_DELETE_SESSIONS, sessions)
            self._sessions.clear()

    def _remove_records(self, packed: Sequence[bytes]) -> None:
        """Remove existing records, but do not update their sessions."""
        self._is_purged = self._is_changed = True
        if not packed:
            return
        speaker_rows = self._connection.rows(_SPEAKERS_OF, self._id_values(packed))
        self._remove_items(self._connection.rows(_DELETE_ITEMS, self._id_values(packed)))
        for statement in _DELETE_RECORDS:
            self._connection.run(statement, self._id_values(packed))
        self._remove_from_sources(frozenset(packed))
        self._connection.run_many(
            _DELETE_UNUSED_SPEAKER, [(self._owner, number) for (number,) in speaker_rows]
        )
        self._speakers.clear()

    def rewrite_message(self, id: str, revisions: Sequence[tuple[Message, IndexEntry]]) -> None:
        """See `PurgeWriter.rewrite_message`."""
        if not revisions:
            raise InvalidInput("wordings", "must contain at least one revision")
        with self._guard_change():
            packed, stored = self._get_stored_message(id)
            session, sequence = stored[2:4]
            validity = self._read_validity(packed)
            remaining = [
                (message, self._carry_over_review(packed, message.content, entry))
                for message, entry in sorted(revisions, key=lambda pair: pair[0].version)
            ]
            if not validity.keys() >= {message.version for message, _ in remaining}:
                raise NotFound("message", id)
            self._remove_items(self._connection.rows(_DELETE_MESSAGE_ITEMS, (self._owner, packed)))
            self._connection.run(
                "DELETE FROM message_versions WHERE owner_id = ? AND id = ?", (self._owner, packed)
            )
            for message, entry in remaining:
                rewritten = replace(message, id=id, sequence=sequence)
                is_last = message is remaining[-1][0]
                self._write_revision(
                    rewritten, session, validity[message.version], entry, is_last=is_last
                )
            self._is_purged = self._is_changed = True

    def _write_revision(
        self,
        message: Message,
        session: int,
        validity: tuple[int, int | None],
        entry: IndexEntry,
        *,
        is_last: bool,
    ) -> None:
        packed, version = pack_id(message.id), message.version
        facts = self._message_facts(message, session, validity[0])
        item = self._add_items([(replace(facts, valid_to=validity[1]), entry)])
        content = self._encryption.encrypt(message.content, message.id, "content", version)
        values = (version, item, facts.speaker, facts.at, content, *validity)
        if is_last:
            self._connection.run(
                "UPDATE messages SET version = ?3, item = ?4, speaker = ?5, at = ?6, content = ?7,"
                " valid_from = ?8, valid_to = ?9 WHERE owner_id = ?1 AND id = ?2",
                (self._owner, packed, *values),
            )
        else:
            self._connection.run(
                "INSERT INTO message_versions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (self._owner, packed, *values),
            )

    def _read_validity(self, packed: bytes) -> dict[int, tuple[int, int | None]]:
        """Return start and end of validity of each version of a message."""
        rows = [
            row
            for table in ("message_versions", "messages")
            for row in self._connection.rows(
                f"SELECT version, valid_from, valid_to FROM {table} WHERE owner_id = ? AND id = ?",
                (self._owner, packed),
            )
        ]
        return {version: (valid_from, valid_to) for version, valid_from, valid_to in rows}

    def _find_existing(self, packed: Sequence[bytes]) -> list[bytes]:
        """Return the ids that belong to records of the owner."""
        if not packed:
            return []
        rows = (
            row
            for table in ("memories", "messages")
            for row in self._connection.rows(
                f"SELECT id FROM {table} WHERE {_WHERE_ID}", self._id_values(packed)
            )
        )
        return list(dict.fromkeys(id_ for (id_,) in rows))

    def _id_values(self, packed: Sequence[bytes]) -> tuple[Any, ...]:
        return self._owner, self._connection.bind_values(packed)

    def _remove_items(self, rows: Iterable[Sequence[Any]]) -> None:
        items = tuple(item for (item,) in rows)
        if items:
            self._connection.run(
                "DELETE FROM passages WHERE owner_id = ? AND item IN (SELECT value FROM carray(?))",
                (self._owner, self._connection.bind_integers(items)),
            )
        self._removed_items = (*self._removed_items, *items)

    def _remove_from_sources(self, removed: frozenset[bytes]) -> None:
        """Remove records from the sources of all versions of memories and of the base memory."""
        for table in ("memories", "versions", "base_memories"):
            rows = self._connection.rows(
                f"SELECT sources, {', '.join(KEY_COLUMNS[table])} FROM {table}"
                " WHERE owner_id = ? AND sources IS NOT NULL",
                (self._owner,),
            )
            for packed, *key in rows:
                remaining = remove_sources(packed, removed)
                if remaining != packed:
                    self._connection.run(
                        f"UPDATE {table} SET sources = ? {build_where_clause(table)}",
                        (remaining, self._owner, *key),
                    )

    def finish(self) -> None:
        """Delete the terms and tags of removed items, and commit."""
        if self._removed_items and not self._is_broken:
            # Scan all terms of the owner, since the terms of removed items are unknown by now.
            for table in ("terms", "tags"):
                self._connection.run(
                    f"DELETE FROM {table} WHERE owner_id = ?"
                    " AND item IN (SELECT value FROM carray(?))",
                    (self._owner, self._connection.bind_integers(self._removed_items)),
                )
        if self._is_purged:
            self._connection.run(
                "UPDATE owners SET generation = generation + 1 WHERE owner_id = ?", (self._owner,)
            )
        super().finish()
