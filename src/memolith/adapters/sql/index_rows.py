"""Rows of items, passages and terms: encoding index entries, and reading them for the index."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memolith.adapters.sql.codecs import (
    DORMANT_STATES,
    NEVER,
    OwnerEncryption,
    micros,
    micros_or_none,
    pack_id,
    pack_valid_ids,
    translate_decode_errors,
    unpack_id,
)
from memolith.adapters.sql.connection import Connection
from memolith.adapters.sql.embedding_generations import stored_dimension
from memolith.domain.memories import Memory, Origin, State
from memolith.domain.messages import Message, Role
from memolith.errors import InvalidInput
from memolith.ports.index import MAX_PARTS
from memolith.ports.store import IndexEntry, Passage

Values = tuple[object, ...]
Row = tuple[Any, ...]

MAX_SEQUENCE = 2**31 - 1
"""Maximum sequence number that the index columns can hold."""


@dataclass(frozen=True, slots=True)
class ItemFacts:
    """Columns of an item's row that do not come from its features."""

    record_id: bytes
    kind: str | None
    session: int | None
    sequence: int
    speaker: int | None
    role: str
    at: int
    valid_from: int
    valid_to: int | None
    expires_at: int | None
    compressed: bool


def message_item_facts(message: Message, session: int, speaker: int, valid_from: int) -> ItemFacts:
    """Return the facts of a message's version.

    Raises:
        InvalidInput: See `require_role_and_time`.
    """
    role, at = require_role_and_time(message)
    return ItemFacts(
        record_id=pack_id(message.id),
        kind=None,
        session=session,
        sequence=message.sequence,
        speaker=speaker,
        role=role.value,
        at=micros(at),
        valid_from=valid_from,
        valid_to=None,
        expires_at=None,
        compressed=False,
    )


def require_role_and_time(message: Message) -> tuple[Role, datetime]:
    """Return role and time of a message that can be stored.

    Raises:
        InvalidInput: Role or time is missing, or the sequence is out of range.
    """
    if message.role is None or message.at is None:
        raise InvalidInput("messages", "each must have a role and a time")
    if not 1 <= message.sequence <= MAX_SEQUENCE:
        raise InvalidInput("messages", f"each must have a sequence from 1 to {MAX_SEQUENCE}")
    return message.role, message.at


def memory_item_facts(memory: Memory, session: int | None) -> ItemFacts:
    """Return the facts of a memory's version; the validity of an inactive one has length zero."""
    valid_from = micros(memory.updated_at)
    return ItemFacts(
        record_id=pack_id(memory.id),
        kind=memory.kind,
        session=session,
        sequence=0,
        speaker=None,
        role=role_of_origin(memory.origin).value,
        at=micros(memory.happened_at or memory.created_at),
        valid_from=valid_from,
        valid_to=None if memory.state is State.ACTIVE else valid_from,
        expires_at=micros_or_none(memory.expires_at),
        compressed=memory.compressed,
    )


def start_not_before(facts: ItemFacts, earliest_start: int) -> ItemFacts:
    """Return the facts with a start not before `earliest_start`."""
    start = max(facts.valid_from, earliest_start)
    end = None if facts.valid_to is None else start
    return replace(facts, valid_from=start, valid_to=end)


def role_of_origin(origin: Origin) -> Role:
    """Return the role whose words a memory counts as: the user or the assistant."""
    return Role.USER if origin is Origin.USER else Role.ASSISTANT


def item_row(
    encryption: OwnerEncryption,
    owner: int,
    item: int,
    facts: ItemFacts,
    entry: IndexEntry,
    revision: int,
) -> Values:
    """Return a row of `items`."""
    features = entry.features
    return (
        owner,
        item,
        facts.record_id,
        facts.kind,
        facts.session,
        facts.sequence,
        facts.speaker,
        facts.role,
        facts.at,
        int(features.traits),
        features.words,
        features.tokens,
        encryption.digest("content", entry.content_key),
        facts.valid_from,
        facts.valid_to,
        facts.expires_at,
        int(facts.compressed),
        revision,
    )


def check_entry(entry: IndexEntry, dimension: int | None) -> None:
    """Refuse an entry that no store can hold; see `passage_rows`."""
    if len(entry.passages) > MAX_PARTS:
        raise InvalidInput("passages", f"{len(entry.passages)} in one text; at most {MAX_PARTS}")
    for passage in entry.passages:
        _check_vector(passage, dimension)


def passage_rows(
    encryption: OwnerEncryption, owner: int, item: int, entry: IndexEntry, dimension: int | None
) -> Iterator[Values]:
    """Yield rows of `passages`.

    Args:
        dimension: The dimension of the store's vectors; None before a model was adopted.

    Raises:
        InvalidInput: A vector has another dimension, or there are too many passages.
    """
    check_entry(entry, dimension)
    vectors = _encrypt_entry_vectors(encryption, entry)
    for part, passage in enumerate(entry.passages):
        yield (
            owner,
            item,
            part,
            passage.span.start,
            passage.span.end,
            passage.tokens,
            sum(passage.terms.values()),
            None if passage.digest is None else encryption.sign("passage", passage.digest),
            vectors.get(part),
        )


def _check_vector(passage: Passage, dimension: int | None) -> None:
    if passage.vector is None:
        return
    if passage.vector.dtype != np.int8 or passage.vector.shape != (dimension,):
        actual = f"{passage.vector.dtype.name} of shape {passage.vector.shape}"
        raise InvalidInput("vector", f"is {actual}; the store needs int8 of length {dimension}")


def _encrypt_entry_vectors(encryption: OwnerEncryption, entry: IndexEntry) -> dict[int, bytes]:
    """Return the vectors of an entry's passages in stored form, by part."""
    vectors = {n: p.vector for n, p in enumerate(entry.passages) if p.vector is not None}
    if not vectors:
        return {}
    return dict(
        zip(vectors, encryption.encrypt_vectors(np.stack(list(vectors.values()))), strict=True)
    )


def term_rows(
    encryption: OwnerEncryption, owner: int, item: int, entry: IndexEntry
) -> Iterator[Values]:
    """Yield rows of `terms`."""
    for part, passage in enumerate(entry.passages):
        for term, frequency in passage.terms.items():
            yield owner, encryption.digest_term(term), item, part, frequency


# --- Index source


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
        """Initialise with a connection within a transaction, owner number and vector column."""
        self._connection = connection
        self._encryption = encryption
        self._owner = owner
        self._vector = vector

    def new_items(self, first: int, end: int) -> list[Row]:
        """See `IndexSource.new_items`."""
        return self._connection.rows(
            f"{_SELECT_ITEMS} WHERE owner_id = ? AND item >= ? AND item < ? ORDER BY item",
            (self._owner, first, end),
        )

    def changed_items(self, revision: int, before: int) -> list[Row]:
        """See `IndexSource.changed_items`."""
        return self._connection.rows(
            f"{_SELECT_ITEMS} INDEXED BY items_changed"
            " WHERE owner_id = ? AND changed > ? AND item < ? ORDER BY item",
            (self._owner, revision, before),
        )

    def changed_usage_stats(self, revision: int) -> list[Row]:
        """See `IndexSource.changed_usage_stats`."""
        return self._connection.rows(_SELECT_USAGE_STATS, (self._owner, revision))

    def new_passages(self, first: int, end: int) -> list[Row]:
        """See `IndexSource.new_passages`."""
        return self._connection.rows(
            f"SELECT item, part, start, stop, tokens, length, {self._vector} FROM passages"
            " WHERE owner_id = ? AND item >= ? AND item < ? ORDER BY item, part",
            (self._owner, first, end),
        )

    def decrypt_vectors(self, stored: Sequence[bytes]) -> NDArray[np.int8]:
        """See `IndexSource.decrypt_vectors`."""
        return self._encryption.decrypt_vectors(stored, stored_dimension(self._connection) or 0)

    def postings(self, terms: Sequence[str], first: int) -> list[Row]:
        """See `IndexSource.postings`."""
        tags = self._connection.bind_values(
            tuple(self._encryption.digest_term(term) for term in terms)
        )
        return self._connection.rows(_SELECT_POSTINGS, (tags, self._owner, first))

    @translate_decode_errors
    def texts(
        self, records: NDArray[np.uint8], items: NDArray[np.int64]
    ) -> list[tuple[int, tuple[str, ...]]]:
        """See `IndexSource.texts`."""
        requested = frozenset(items.tolist())
        ids = self._connection.bind_values(tuple(record.tobytes() for record in records))
        rows = [
            row
            for row in self._connection.rows(_SELECT_TEXTS, (ids, self._owner))
            if row[0] in requested
        ]
        return [(item, self._decrypt_texts(*fields)) for item, *fields in sorted(rows)]

    def _decrypt_texts(
        self, packed: bytes, version: int, key: bytes | None, content: bytes
    ) -> tuple[str, ...]:
        record = unpack_id(packed)
        ciphertexts = {"key": key, "content": content}
        return tuple(
            self._encryption.decrypt(value, record, field, version)
            for field, value in ciphertexts.items()
            if value is not None
        )

    def summaries(self) -> list[Row]:
        """See `IndexSource.summaries`."""
        return self._connection.rows(_SELECT_SUMMARIES, (self._owner,))

    def items_of_records(self, record_ids: Sequence[str]) -> list[tuple[str, int]]:
        """See `IndexSource.items_of_records`."""
        packed = pack_valid_ids(list(dict.fromkeys(record_ids)))
        if not packed:
            return []
        rows = self._connection.rows(
            _SELECT_ITEMS_OF_RECORDS, (self._connection.bind_values(packed), self._owner)
        )
        return sorted(((unpack_id(id_), item) for id_, item in rows), key=lambda pair: pair[1])

    def items_of_content(self, content_key: str) -> NDArray[np.int64]:
        """See `IndexSource.items_of_content`."""
        rows = self._connection.rows(
            "SELECT item FROM items INDEXED BY items_content"
            " WHERE owner_id = ? AND content = ? ORDER BY item",
            (self._owner, self._encryption.digest("content", content_key)),
        )
        return np.array([row[0] for row in rows], dtype=np.int64)

    def items_with_tag(self, tag: str) -> NDArray[np.int64]:
        """See `IndexSource.items_with_tag`."""
        rows = self._connection.rows(
            "SELECT item FROM tags WHERE owner_id = ? AND tag = ? ORDER BY item",
            (self._owner, self._encryption.digest("tag", tag)),
        )
        return np.array([row[0] for row in rows], dtype=np.int64)

    def session_number(self, name: str) -> int | None:
        """See `IndexSource.session_number`."""
        row = self._connection.row(
            "SELECT number FROM sessions WHERE owner_id = ? AND name = ?", (self._owner, name)
        )
        return row[0] if row else None
