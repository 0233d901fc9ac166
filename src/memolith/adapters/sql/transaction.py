"""Transactions in tables: writing the base memory, strengths and processing state of one owner."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from memolith.adapters.sql.codecs import (
    DEAD_LETTER,
    PENDING,
    OwnerEncryption,
    encrypt_base_memory,
    micros,
    micros_or_none,
    pack_id_or_none,
    pack_sources,
    pack_valid_ids,
)
from memolith.adapters.sql.connection import Connection, OwnerRow
from memolith.adapters.sql.embedding_generations import EmbeddingGeneration
from memolith.adapters.sql.memory_writes import MemoryWriter, WriterBase
from memolith.adapters.sql.message_writes import PurgeWriter
from memolith.adapters.sql.search import IndexSearch
from memolith.adapters.sql.snapshot import SnapshotSearch
from memolith.domain.memories import Source
from memolith.domain.owners import ConsolidationProgress, ProcessingFlag
from memolith.errors import NotFound
from memolith.ports.work import WorkLease


class BaseMemoryWriter(WriterBase):
    """Writes the base memory."""

    def set_base_memory(self, content: str, *, sources: Sequence[Source], at: datetime) -> None:
        """See `BaseMemoryWriter.set_base_memory`."""
        with self._guard_change():
            last, began = self._connection.row(
                "SELECT coalesce(max(version), 0), max(valid_from)"
                " FROM base_memories WHERE owner_id = ?",
                (self._owner,),
            ) or (0, None)
            version = last + 1
            since = micros(at) if began is None else max(micros(at), began)
            self._connection.run(
                "UPDATE base_memories SET valid_to = ? WHERE owner_id = ? AND valid_to IS NULL",
                (since, self._owner),
            )
            self._connection.run(
                "INSERT INTO base_memories (owner_id, version, content, sources, valid_from)"
                " VALUES (?, ?, ?, ?, ?)",
                (
                    self._owner,
                    version,
                    encrypt_base_memory(self._encryption, content, version),
                    pack_sources(self._encryption, sources),
                    since,
                ),
            )
            self._is_changed = True

    def rewrite_base_memory(self, contents: Mapping[int, str]) -> None:
        """See `BaseMemoryWriter.rewrite_base_memory`."""
        with self._guard_change():
            for version, content in contents.items():
                updated_rows = self._connection.run(
                    "UPDATE base_memories SET content = ? WHERE owner_id = ? AND version = ?",
                    (
                        encrypt_base_memory(self._encryption, content, version),
                        self._owner,
                        version,
                    ),
                )
                if not updated_rows:
                    raise NotFound("version of the base memory", str(version))
                self._is_changed = True


# --- Strength of memories


SET_STRENGTHS = (
    "WITH w (id, strength) AS MATERIALIZED (SELECT unhex(key), value FROM json_each(?1))"
    " UPDATE memories SET strength = w.strength FROM w"
    # SQLite needs this list to use the index on ids; the comparison alone is not enough.
    " WHERE owner_id = ?2 AND memories.id IN (SELECT id FROM w)"
    " AND memories.id = w.id AND memories.strength <> w.strength"
)


class StrengthWriter(WriterBase):
    """Writes the strengths of memories."""

    def set_strengths(self, ids: Sequence[str], strengths: Sequence[float]) -> None:
        """See `StrengthWriter.set_strengths`."""
        packed = (
            (pack_id_or_none(id_), strength) for id_, strength in zip(ids, strengths, strict=True)
        )
        by_id = {id_.hex(): float(strength) for id_, strength in packed if id_}
        with self._guard_change():
            values = (msgspec.json.encode(by_id).decode(), self._owner)
            self._is_touched |= bool(self._connection.run(SET_STRENGTHS, values))


# --- Processing state


HOLDS_LEASE = "SELECT 1 FROM claims WHERE owner_id = ? AND work = ? AND token = ?"
_WHERE_MESSAGES = (
    " WHERE owner_id = ?1 AND id IN (SELECT value FROM carray(?2)) AND valid_to IS NULL"
)
_MARK_PENDING = (
    f"UPDATE messages SET marks = {PENDING}, learned_at = NULL{_WHERE_MESSAGES} AND marks = 0"
)
_MARK_LEARNED = (
    "UPDATE messages SET marks = 0, attempts = 0, retry_at = NULL,"
    f" learned_at = ?3{_WHERE_MESSAGES}"
)
_SCHEDULE_RETRY = (
    "UPDATE messages SET"
    f" marks = CASE WHEN CAST(?3 AS BIGINT) IS NULL THEN {DEAD_LETTER} ELSE {PENDING} END,"
    f" attempts = attempts + 1, retry_at = ?3{_WHERE_MESSAGES} AND marks <> 0"
)
_MARK_SUMMARISED = f"UPDATE messages SET summarised_at = ?3{_WHERE_MESSAGES}"
_WHERE_MEMORIES = " WHERE owner_id = ?1 AND id IN (SELECT value FROM carray(?2))"
_ADD_MARK = f"UPDATE memories SET marks = marks | ?3{_WHERE_MEMORIES} AND marks & ?3 <> ?3"
_REMOVE_MARK = f"UPDATE memories SET marks = marks & ~?3{_WHERE_MEMORIES} AND marks & ?3 <> 0"


class WorkWriter(WriterBase):
    """Records completed work."""

    def holds_lease(self, lease: WorkLease) -> bool:
        """See `WorkWriter.holds_lease`. Nobody else can acquire the lease until the commit."""
        return lease.owner_id == self.owner_id and bool(
            self._connection.row(HOLDS_LEASE, (self._owner, lease.work.value, lease.token))
        )

    def mark_pending(self, ids: Sequence[str]) -> None:
        """See `WorkWriter.mark_pending`."""
        self._update_records(_MARK_PENDING, ids)

    def mark_learned(self, ids: Sequence[str], at: datetime) -> None:
        """See `WorkWriter.mark_learned`."""
        self._update_records(_MARK_LEARNED, ids, micros(at))

    def schedule_retry(self, ids: Sequence[str], *, retry_at: datetime | None) -> None:
        """See `WorkWriter.schedule_retry`."""
        self._update_records(_SCHEDULE_RETRY, ids, micros_or_none(retry_at))

    def mark_summarised(self, ids: Sequence[str], at: datetime | None) -> None:
        """See `WorkWriter.mark_summarised`."""
        self._update_records(_MARK_SUMMARISED, ids, micros_or_none(at))

    def add_mark(self, ids: Sequence[str], mark: ProcessingFlag) -> None:
        """See `WorkWriter.add_mark`."""
        self._update_records(_ADD_MARK, ids, int(mark))

    def remove_mark(self, ids: Sequence[str], mark: ProcessingFlag) -> None:
        """See `WorkWriter.remove_mark`."""
        self._update_records(_REMOVE_MARK, ids, int(mark))

    def set_progress(self, session_id: str, progress: ConsolidationProgress) -> None:
        """See `WorkWriter.set_progress`."""
        with self._guard_change():
            self._connection.run(
                "UPDATE sessions SET consolidated_to = ?, failures = ?, consolidated_at = ?"
                " WHERE owner_id = ? AND number = ?",
                (
                    progress.consolidated_to,
                    progress.failures,
                    micros_or_none(progress.at),
                    self._owner,
                    self._get_session_number(session_id),
                ),
            )
            self._is_changed = True

    def _update_records(self, statement: str, ids: Sequence[str], *values: Any) -> None:
        packed = pack_valid_ids(ids)
        if not packed:
            return
        with self._guard_change():
            parameters = (self._owner, self._connection.bind_values(packed), *values)
            self._is_changed |= bool(self._connection.run(statement, parameters))


# --- Transaction


class RecordWriter(MemoryWriter, BaseMemoryWriter, PurgeWriter, StrengthWriter, WorkWriter):
    """The writing half of a transaction."""


class SqlTransaction(SnapshotSearch, RecordWriter):
    """A `Transaction` of a store in tables. Searches use the state at its beginning."""

    def __init__(
        self,
        connection: Connection,
        encryption: OwnerEncryption,
        owner: OwnerRow,
        generation: EmbeddingGeneration,
        open_search: Callable[[], IndexSearch],
    ) -> None:
        """Initialise with the writing connection within its transaction."""
        SnapshotSearch.__init__(self, owner, open_search)
        RecordWriter.__init__(self, connection, encryption, owner, generation)
