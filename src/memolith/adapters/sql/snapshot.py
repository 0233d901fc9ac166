"""Snapshots in tables: pending work and search of one owner as of one instant."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from memolith.adapters.sql.codecs import (
    DEAD_LETTER,
    PENDING,
    OwnerEncryption,
    decode_progress,
    instant_or_none,
    micros,
    pack_valid_ids,
    translate_decode_errors,
)
from memolith.adapters.sql.connection import NO_LIMIT, Connection, OwnerRow
from memolith.adapters.sql.embedding_generations import EmbeddingGeneration
from memolith.adapters.sql.reads import SELECT_ALL_MEMORIES, SELECT_NEWEST_MESSAGES, RecordReader
from memolith.adapters.sql.search import IndexSearch
from memolith.domain.memories import Memory, Span, Trait
from memolith.domain.messages import Message
from memolith.domain.owners import ConsolidationProgress, PendingWork, ProcessingFlag, WorkKind
from memolith.domain.recall import SearchFilter
from memolith.ports.store import Items, Postings, Similarities, UsageStats

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# The database uses a partial index only if a query repeats the index's condition verbatim.
IS_QUEUED = "m.marks <> 0 AND m.valid_to IS NULL"
IS_DUE = f"{IS_QUEUED} AND m.marks = {PENDING} AND (m.retry_at IS NULL OR m.retry_at <= ?2)"
_PENDING_MESSAGES = (
    SELECT_NEWEST_MESSAGES.format(source="messages AS m INDEXED BY messages_waiting")
    + f" WHERE m.owner_id = ?1 AND {IS_DUE} ORDER BY m.number LIMIT ?3"
)
_UNSUMMARISED = "WHERE m.owner_id = ? AND m.summarised_at IS NULL AND m.valid_to IS NULL"
_UNSUMMARISED_MESSAGES = (
    SELECT_NEWEST_MESSAGES.format(source="messages AS m INDEXED BY messages_unsummarised")
    + f" {_UNSUMMARISED} ORDER BY m.number LIMIT ?"
)
_UNSUMMARISED_OF_SESSION = (
    SELECT_NEWEST_MESSAGES.format(source="messages AS m INDEXED BY messages_unsummarised")
    + f" {_UNSUMMARISED} AND m.session = ? ORDER BY m.number LIMIT ?"
)
_UNSUMMARISED_BY_SESSION = (
    "SELECT s.name, w.unsummarised FROM (SELECT m.session, count(*) AS unsummarised"
    f" FROM messages AS m INDEXED BY messages_unsummarised {_UNSUMMARISED}"
    " GROUP BY m.session ORDER BY min(m.number)) AS w"
    " CROSS JOIN sessions AS s ON s.owner_id = ? AND s.number = w.session"
)
_COUNT_WITH_MARK = (
    "SELECT count(*) FROM messages AS m INDEXED BY messages_waiting"
    f" WHERE m.owner_id = ? AND m.marks = ? AND {IS_QUEUED}"
)
_OLDEST_PENDING = (
    "SELECT coalesce((SELECT v.valid_from FROM message_versions AS v"
    " WHERE v.owner_id = m.owner_id AND v.id = m.id ORDER BY v.version LIMIT 1), m.valid_from)"
    " FROM messages AS m INDEXED BY messages_waiting"
    f" WHERE m.owner_id = ? AND m.marks = {PENDING} AND {IS_QUEUED} ORDER BY m.number LIMIT 1"
)
_ATTEMPTS = (
    "SELECT max(m.attempts) FROM carray(?) AS w CROSS JOIN messages AS m"
    " ON m.owner_id = ? AND m.id = w.value WHERE m.valid_to IS NULL"
)
_UNMARKED = (
    f"{SELECT_ALL_MEMORIES} WHERE m.owner_id = ?1 AND m.state = 'active' AND m.marks & ?2 <> ?2"
    " AND m.kind IN (SELECT value FROM carray(?3)) ORDER BY m.created_at, m.id"
)


class PendingWorkReader(RecordReader):
    """Reads pending work."""

    def pending_messages(self, limit: int, *, now: datetime) -> list[Message]:
        """See `PendingWorkReader.pending_messages`."""
        return self._decode_messages(
            self._connection.rows(_PENDING_MESSAGES, (self._owner, micros(now), limit))
        )

    def attempts(self, ids: Sequence[str]) -> int:
        """See `PendingWorkReader.attempts`."""
        packed = pack_valid_ids(ids)
        if not packed:
            return 0
        values = (self._connection.bind_values(packed), self._owner)
        (max_attempts,) = self._connection.row(_ATTEMPTS, values) or (None,)
        return max_attempts or 0

    def unsummarised_messages(
        self, limit: int | None = None, *, session_id: str | None = None
    ) -> list[Message]:
        """See `PendingWorkReader.unsummarised_messages`."""
        max_rows = NO_LIMIT if limit is None else limit
        if session_id is not None:
            values = (self._owner, self.session_number(session_id), max_rows)
            return self._decode_messages(self._connection.rows(_UNSUMMARISED_OF_SESSION, values))
        return self._decode_messages(
            self._connection.rows(_UNSUMMARISED_MESSAGES, (self._owner, max_rows))
        )

    def count_unsummarised_messages(self) -> int:
        """See `PendingWorkReader.count_unsummarised_messages`."""
        return self._fetch_count(
            f"SELECT count(*) FROM messages AS m INDEXED BY messages_unsummarised {_UNSUMMARISED}"
        )

    def count_unsummarised_by_session(self) -> dict[str, int]:
        """See `PendingWorkReader.count_unsummarised_by_session`."""
        rows = self._connection.rows(_UNSUMMARISED_BY_SESSION, (self._owner, self._owner))
        return {str(name): int(count) for name, count in rows}

    def memories_without_mark(self, mark: ProcessingFlag, kinds: frozenset[str]) -> list[Memory]:
        """See `PendingWorkReader.memories_without_mark`."""
        if not kinds:
            return []
        values = (self._owner, int(mark), self._connection.bind_values(tuple(kinds)))
        return self._decode_memories(self._connection.rows(_UNMARKED, values))

    def progress(self, session_id: str) -> ConsolidationProgress:
        """See `PendingWorkReader.progress`."""
        return decode_progress(
            self._connection.row(
                "SELECT consolidated_to, failures, consolidated_at FROM sessions"
                " WHERE owner_id = ? AND name = ?",
                (self._owner, session_id),
            )
        )

    @translate_decode_errors
    def pending_work(self) -> PendingWork:
        """See `PendingWorkReader.pending_work`."""
        failed = self._connection.rows(
            "SELECT work FROM claims WHERE owner_id = ? AND until IS NULL AND work <> ?"
            " ORDER BY work",
            (self._owner, WorkKind.LEARN.value),
        )
        (oldest,) = self._connection.row(_OLDEST_PENDING, (self._owner,)) or (None,)
        return PendingWork(
            pending_messages=self._fetch_count(_COUNT_WITH_MARK, PENDING),
            dead_letters=self._fetch_count(_COUNT_WITH_MARK, DEAD_LETTER),
            oldest_at=instant_or_none(oldest),
            failed_kinds=tuple(WorkKind(work) for (work,) in failed),
        )

    def _fetch_count(self, statement: str, *values: int) -> int:
        (count,) = self._connection.row(statement, (self._owner, *values)) or (0,)
        return int(count)


# --- Snapshot


class SnapshotSearch:
    """The searching half of a snapshot; opens the index on first use."""

    def __init__(self, owner: OwnerRow, open_search: Callable[[], IndexSearch]) -> None:
        """Initialise with the owner row of the snapshot, and a function that opens the index."""
        self._owner_row = owner
        self._open_search = open_search
        self._cached_search: IndexSearch | None = None

    @property
    def counter(self) -> int:
        """See `Snapshot.counter`."""
        return self._owner_row.counter

    @property
    def profile(self) -> str | None:
        """See `Snapshot.profile`."""
        return self._owner_row.profile

    @property
    def _search(self) -> IndexSearch:
        if self._cached_search is None:
            self._cached_search = self._open_search()
        return self._cached_search

    def nearest(
        self,
        vector: NDArray[np.int8],
        limit: int,
        scope: SearchFilter,
        *,
        min_cosine: float = -math.inf,
    ) -> Integers:
        """See `Snapshot.nearest`."""
        return self._search.nearest(vector, limit, scope, min_cosine=min_cosine)

    def similarities(self, vector: NDArray[np.int8], numbers: Integers) -> Similarities:
        """See `Snapshot.similarities`."""
        return self._search.similarities(vector, numbers)

    def centroid(self, scope: SearchFilter) -> Floats | None:
        """See `Snapshot.centroid`."""
        return self._search.centroid(scope)

    def postings(self, terms: Sequence[str], scope: SearchFilter) -> Postings:
        """See `Snapshot.postings`."""
        return self._search.postings(terms, scope)

    def find_containing(
        self, words: Sequence[str], scope: SearchFilter
    ) -> tuple[Integers, Integers]:
        """See `Snapshot.find_containing`."""
        return self._search.find_containing(words, scope)

    def items(self, numbers: Integers) -> Items:
        """See `Snapshot.items`."""
        return self._search.items(numbers)

    def usage_stats(self, numbers: Integers) -> UsageStats:
        """See `Snapshot.usage_stats`."""
        return self._search.usage_stats(numbers)

    def item_numbers(self, record_ids: Sequence[str], scope: SearchFilter) -> Integers:
        """See `Snapshot.item_numbers`."""
        return self._search.item_numbers(record_ids, scope)

    def items_with_content(self, content_key: str, limit: int, scope: SearchFilter) -> Integers:
        """See `Snapshot.items_with_content`."""
        return self._search.items_with_content(content_key, limit, scope)

    def items_with_traits(self, traits: Trait, scope: SearchFilter) -> Integers:
        """See `Snapshot.items_with_traits`."""
        return self._search.items_with_traits(traits, scope)

    def items_in_scope(self, scope: SearchFilter) -> Integers:
        """See `Snapshot.items_in_scope`."""
        return self._search.items_in_scope(scope)

    def neighbours(self, numbers: Integers, step: Literal[-1, 1], scope: SearchFilter) -> Integers:
        """See `Snapshot.neighbours`."""
        return self._search.neighbours(numbers, step, scope)

    def passages(self, numbers: Integers) -> list[list[tuple[Span, int]]]:
        """See `Snapshot.passages`."""
        return self._search.passages(numbers)


class SqlSnapshot(SnapshotSearch, PendingWorkReader):
    """A `Snapshot` of a store in tables."""

    def __init__(
        self,
        connection: Connection,
        encryption: OwnerEncryption,
        owner: OwnerRow,
        generation: EmbeddingGeneration,
        open_search: Callable[[], IndexSearch],
    ) -> None:
        """Initialise with a connection within a read transaction."""
        SnapshotSearch.__init__(self, owner, open_search)
        PendingWorkReader.__init__(self, connection, encryption, owner.number, generation)
