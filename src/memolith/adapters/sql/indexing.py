"""What the search index is made from, read from tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from memolith.adapters.sql.damage import translate_decode_errors
from memolith.adapters.sql.rows import DORMANT_STATES
from memolith.adapters.sql.spaces import stored_dimension
from memolith.adapters.sql.values import NEVER, pack_valid_ids, unpack_id

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from memolith.adapters.sql.connection import Connection
    from memolith.adapters.sql.sealing import OwnerEncryption

    Row = tuple[Any, ...]

_SELECT_ITEMS = (
    "SELECT item, record_id, kind, coalesce(session, -1), sequence, coalesce(speaker, -1), role,"
    " at, traits, words, tokens, valid_from,"
    f" coalesce(valid_to, {NEVER}), coalesce(expires_at, {NEVER}), compressed FROM items"
)
_SELECT_ITEMS_OF_RECORDS = " UNION ALL ".join(
    f"SELECT r.id, r.item FROM carray(?1) AS w CROSS JOIN {table} AS r"
    " ON r.owner_id = ?2 AND r.id = w.value"
    for table in ("memories", "versions", "messages", "message_versions")
)
_SELECT_USAGE_STATS = " UNION ALL ".join(
    "SELECT r.item, m.importance, m.access_count, coalesce(m.accessed_at, m.created_at),"
    f" m.updated_at, {is_dormant}"
    f" FROM memories AS m INDEXED BY memories_changed CROSS JOIN {table} AS r"
    " ON r.owner_id = m.owner_id AND r.id = m.id WHERE m.owner_id = ?1 AND m.changed > ?2"
    for table, is_dormant in (
        ("memories", f"CASE WHEN m.state IN ({DORMANT_STATES}) THEN 1 ELSE 0 END"),
        ("versions", "0"),
    )
)
_SELECT_TEXTS = " UNION ALL ".join(
    f"SELECT r.item, r.id, r.version, r.key, r.content FROM carray(?1) AS w CROSS JOIN {table} AS r"
    " ON r.owner_id = ?2 AND r.id = w.value"
    for table in ("memories", "versions")
)
_SELECT_POSTINGS = (
    "SELECT w.rowid - 1, t.item, t.part, t.tf FROM carray(?1) AS w CROSS JOIN terms AS t"
    " ON t.owner_id = ?2 AND t.term = w.value AND t.item >= ?3"
)
_SELECT_SUMMARIES = " UNION ALL ".join(
    "SELECT s.item, t.item FROM items AS t"
    " CROSS JOIN links AS l ON l.owner_id = t.owner_id AND l.relation = 'summary_of'"
    " AND l.target_id = t.record_id"
    f" CROSS JOIN {table} AS s ON s.owner_id = l.owner_id AND s.id = l.source_id"
    " WHERE t.owner_id = ?1 AND t.compressed = 1"
    for table in ("memories", "versions")
)


class TableIndexSource:
    """One owner's tables in one transaction; an `IndexSource`."""

    def __init__(
        self, connection: Connection, encryption: OwnerEncryption, owner: int, vector: str
    ) -> None:
        """Take a connection within a transaction, the owner's number, and the vectors' column."""
        self._connection = connection
        self._encryption = encryption
        self._owner = owner
        self._vector = vector

    def new_items(self, first: int, end: int) -> list[Row]:
        """See `IndexSource`."""
        return self._connection.rows(
            f"{_SELECT_ITEMS} WHERE owner_id = ? AND item >= ? AND item < ? ORDER BY item",
            (self._owner, first, end),
        )

    def changed_items(self, revision: int, before: int) -> list[Row]:
        """See `IndexSource`."""
        return self._connection.rows(
            f"{_SELECT_ITEMS} INDEXED BY items_changed"
            " WHERE owner_id = ? AND changed > ? AND item < ? ORDER BY item",
            (self._owner, revision, before),
        )

    def changed_usage_stats(self, revision: int) -> list[Row]:
        """See `IndexSource`."""
        return self._connection.rows(_SELECT_USAGE_STATS, (self._owner, revision))

    def new_passages(self, first: int, end: int) -> list[Row]:
        """See `IndexSource`."""
        return self._connection.rows(
            f"SELECT item, part, start, stop, tokens, length, {self._vector} FROM passages"
            " WHERE owner_id = ? AND item >= ? AND item < ? ORDER BY item, part",
            (self._owner, first, end),
        )

    def decrypt_vectors(self, stored: Sequence[bytes]) -> NDArray[np.int8]:
        """See `IndexSource`."""
        return self._encryption.decrypt_vectors(stored, stored_dimension(self._connection) or 0)

    def postings(self, terms: Sequence[str], first: int) -> list[Row]:
        """See `IndexSource`."""
        sealed = self._connection.bind_values(
            tuple(self._encryption.digest_term(term) for term in terms)
        )
        return self._connection.rows(_SELECT_POSTINGS, (sealed, self._owner, first))

    @translate_decode_errors
    def texts(
        self, records: NDArray[np.uint8], items: NDArray[np.int64]
    ) -> list[tuple[int, tuple[str, ...]]]:
        """See `IndexSource`."""
        wanted = frozenset(items.tolist())
        ids = self._connection.bind_values(tuple(record.tobytes() for record in records))
        rows = [
            row
            for row in self._connection.rows(_SELECT_TEXTS, (ids, self._owner))
            if row[0] in wanted
        ]
        return [(item, self._decrypt_texts(*rest)) for item, *rest in sorted(rows)]

    def _decrypt_texts(
        self, packed: bytes, version: int, key: bytes | None, content: bytes
    ) -> tuple[str, ...]:
        record = unpack_id(packed)
        sealed = {"key": key, "content": content}
        return tuple(
            self._encryption.decrypt(value, record, field, version)
            for field, value in sealed.items()
            if value is not None
        )

    def summaries(self) -> list[Row]:
        """See `IndexSource`."""
        return self._connection.rows(_SELECT_SUMMARIES, (self._owner,))

    def items_of_records(self, record_ids: Sequence[str]) -> list[tuple[str, int]]:
        """See `IndexSource`."""
        packed = pack_valid_ids(list(dict.fromkeys(record_ids)))
        if not packed:
            return []
        rows = self._connection.rows(
            _SELECT_ITEMS_OF_RECORDS, (self._connection.bind_values(packed), self._owner)
        )
        return sorted(((unpack_id(id_), item) for id_, item in rows), key=lambda pair: pair[1])

    def items_of_content(self, content_key: str) -> NDArray[np.int64]:
        """See `IndexSource`."""
        rows = self._connection.rows(
            "SELECT item FROM items INDEXED BY items_content"
            " WHERE owner_id = ? AND content = ? ORDER BY item",
            (self._owner, self._encryption.digest("content", content_key)),
        )
        return np.array([row[0] for row in rows], dtype=np.int64)

    def items_with_tag(self, tag: str) -> NDArray[np.int64]:
        """See `IndexSource`."""
        rows = self._connection.rows(
            "SELECT item FROM tags WHERE owner_id = ? AND tag = ? ORDER BY item",
            (self._owner, self._encryption.digest("tag", tag)),
        )
        return np.array([row[0] for row in rows], dtype=np.int64)

    def session_number(self, name: str) -> int | None:
        """See `IndexSource`."""
        row = self._connection.row(
            "SELECT number FROM sessions WHERE owner_id = ? AND name = ?", (self._owner, name)
        )
        return row[0] if row else None
