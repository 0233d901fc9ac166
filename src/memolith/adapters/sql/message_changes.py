"""Changing messages, sessions and participants within a transaction."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from memolith.adapters.sql.changes import CLOSE_ITEM, WriterBase
from memolith.adapters.sql.entries import ItemFacts, message_item_facts, require_role_and_time
from memolith.adapters.sql.rows import (
    digest_external_id,
    digest_speaker,
    encrypt_external_id,
    encrypt_name,
)
from memolith.adapters.sql.values import micros, pack_id_or_none, pack_valid_ids
from memolith.errors import Conflict, NotFound

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from memolith.domain.messages import Message, Role
    from memolith.ports.store import IndexEntry

_INSERT_MESSAGE = (
    "INSERT INTO messages (owner_id, id, number, version, item, session, sequence, speaker,"
    " external_id, external_digest, at, content, valid_from)"
    " VALUES (?1, ?2, ?3, ?4, ?3, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)"
)


class MessageWriter(WriterBase):
    """The ways to change messages."""

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
        """See the port."""
        row = self._connection.row(
            "SELECT last_sequence FROM sessions WHERE owner_id = ? AND name = ?",
            (self._owner, session_id),
        )
        return 1 + (row[0] if row else 0)

    def end_session(self, session_id: str, at: datetime) -> None:
        """See the port."""
        with self._guard_change():
            self._is_changed |= bool(
                self._connection.run(
                    "UPDATE sessions SET ended_at = ?"
                    " WHERE owner_id = ? AND name = ? AND first_item IS NOT NULL",
                    (micros(at), self._owner, session_id),
                )
            )

    def revise_message(self, message: Message, entry: IndexEntry, at: datetime) -> None:
        """See the port."""
        with self._guard_change():
            packed, row = self._get_stored_message(message.id)
            version, item, session, sequence, began, ended = row
            if message.version <= version:
                raise Conflict(f"version {message.version} is not above {version}")
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
        """See the port.

        The message gets a new item, so that items and passages stay append-only; the old one
        stays, valid at no instant, until it is purged.
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
        """See the port."""
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
        """Return a participant's number, giving it one if it has none."""
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
