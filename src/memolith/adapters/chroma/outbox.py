"""Transactional outbox: which vectors Chroma has, and which are still to be sent.

A row per owner stores up to which item the vectors were sent. Triggers mark later changes as
pending (see `adapters.sqlite.schema`). Both are written in the transaction that changes the
vectors, so that no committed change is lost.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from memolith.adapters.chroma.client import STAMP, Facts, Floats, Points
from memolith.adapters.sql.connection import Connection, Row
from memolith.adapters.sql.embedding_generations import EmbeddingGeneration, VectorFacts

BATCH_SIZE = 1_000
"""Passages per batch: about 2 MB of JSON. A guess."""

EPISODE = "episode"

_SENT_COLUMNS = "owner_id, next_item, sending_to, model, stamp, sending, is_dropping"
_FACTS = (
    "p.{vector}, i.kind, i.compressed, (SELECT m.importance FROM memories AS m"
    " WHERE m.owner_id = i.owner_id AND m.id = i.record_id)"
)
_ITEM = " JOIN items AS i ON i.owner_id = p.owner_id AND i.item = p.item"
_NEW_PASSAGES = (
    f"SELECT p.item, p.part, {_FACTS} FROM passages AS p{_ITEM} WHERE p.owner_id = ?"
    " AND p.item >= ? AND p.item < ? AND p.{vector} IS NOT NULL ORDER BY p.item, p.part"
)
_CHANGED_PASSAGES = (
    f"SELECT d.item, d.part, d.changes, {_FACTS} FROM vectors_due AS d LEFT JOIN passages AS p"
    " ON p.owner_id = d.owner_id AND p.item = d.item AND p.part = d.part"
    f" LEFT{_ITEM} WHERE d.owner_id = ? ORDER BY d.item, d.part LIMIT {BATCH_SIZE}"
)
_BATCH_END = (
    "SELECT item FROM passages WHERE owner_id = ? AND item >= ? AND {vector} IS NOT NULL"
    f" ORDER BY item, part LIMIT 1 OFFSET {BATCH_SIZE}"
)
_OWNERS_WITH_CHANGES = (
    "SELECT owner_id FROM vectors_sent WHERE is_dropping = 1 UNION SELECT owner_id FROM vectors_due"
)
_LAGGING_OWNERS = (
    f"{_OWNERS_WITH_CHANGES} UNION SELECT o.owner_id FROM owners AS o"
    " LEFT JOIN vectors_sent AS s ON s.owner_id = o.owner_id WHERE o.next_item > ?1"
    " AND (o.next_item > coalesce(s.next_item, 1) OR s.model <> ?2 || o.key_version)"
)
_COUNT_PENDING = (
    "SELECT count(*) FROM passages AS p WHERE p.owner_id = ?1 AND p.{vector} IS NOT NULL"
    " AND (p.item >= ?2 OR EXISTS (SELECT 1 FROM vectors_due AS d"
    " WHERE d.owner_id = p.owner_id AND d.item = p.item AND d.part = p.part))"
)


class SentVectors(NamedTuple):
    """The vectors of one owner that Chroma has; see the schema."""

    owner: int
    next_item: int
    sending_to: int
    model: str
    stamp: str | None
    sending: str | None
    is_dropping: int


class VectorModel(NamedTuple):
    """The model of the store's vectors; `name` is None before the first vector.

    Attributes:
        name: Name of the embedder.
        dimension: Length of a vector.
        space: Embedding generation in use.
    """

    name: str = ""
    dimension: int = 0
    space: int = 0

    @property
    def prefix(self) -> str:
        """First part of an owner's model stamp; the version of the owner's key follows."""
        return f"{self.space}/{self.name}/{self.dimension}/"

    @property
    def column(self) -> str:
        """Column of the passages table that holds the vectors."""
        return EmbeddingGeneration(self.space).column


class PendingChanges(NamedTuple):
    """A batch of changes to send.

    Attributes:
        points: Vectors to insert or replace.
        gone: Ids of vectors to remove.
        marks: Item, part and change count of each pending mark.
    """

    points: Points
    removed_ids: Sequence[str]
    marks: Sequence[tuple[int, int, int]]


def read_model(connection: Connection) -> VectorModel:
    """Return the model of the store's vectors."""
    facts = VectorFacts.read(connection)
    if facts.model is None:
        return VectorModel(space=facts.embedding_generation)
    return VectorModel(facts.model.name, facts.model.dimension, facts.embedding_generation)


def read_store_id(connection: Connection) -> str | None:
    """Return the store id used in collection names, or None if there is none yet."""
    row = connection.row("SELECT value FROM meta WHERE name = 'vectors_id'")
    return row[0] if row else None


def ensure_store_id(connection: Connection) -> str:
    """Return the store id used in collection names; generate it if there is none."""
    connection.run(
        "INSERT INTO meta (name, value) VALUES ('vectors_id', ?) ON CONFLICT DO NOTHING",
        (secrets.token_hex(8),),
    )
    return read_store_id(connection) or ""


def collection_prefix(store: str) -> str:
    """Return the common prefix of a store's collection names."""
    return f"memolith-{store}-"


def collection_name(store: str, owner: int) -> str:
    """Return the name of an owner's collection."""
    return f"{collection_prefix(store)}{owner}"


def collection_facts(store: str, owner: int, stamp: str) -> Facts:
    """Return a collection's metadata."""
    return {"memolith": store, "owner": owner, STAMP: stamp}


def read_key_version(connection: Connection, owner: int) -> int | None:
    """Return the version of an owner's key, or None if the owner does not exist."""
    row = connection.row("SELECT key_version FROM owners WHERE owner_id = ?", (owner,))
    return row[0] if row else None


def read_next_item(connection: Connection, owner: int) -> int:
    """Return the item number after an owner's last one."""
    row = connection.row("SELECT next_item FROM owners WHERE owner_id = ?", (owner,))
    return row[0] if row else 1


def read_sent(connection: Connection, owner: int) -> SentVectors | None:
    """Return which vectors of an owner were sent, or None if none were."""
    row = connection.row(f"SELECT {_SENT_COLUMNS} FROM vectors_sent WHERE owner_id = ?", (owner,))
    return SentVectors(*row) if row else None


def list_sent(connection: Connection) -> list[SentVectors]:
    """Return which vectors were sent, for all owners."""
    rows = connection.rows(f"SELECT {_SENT_COLUMNS} FROM vectors_sent ORDER BY owner_id")
    return [SentVectors(*row) for row in rows]


def lagging_owners(connection: Connection, in_memory: int) -> list[int]:
    """Return the owners whose vectors in Chroma are missing or outdated."""
    model = read_model(connection)
    if not model.name:
        return owners_with_changes(connection)
    return [owner for (owner,) in connection.rows(_LAGGING_OWNERS, (in_memory + 1, model.prefix))]


def owners_with_changes(connection: Connection) -> list[int]:
    """Return the owners with changed or removed vectors that Chroma still has."""
    return [owner for (owner,) in connection.rows(_OWNERS_WITH_CHANGES)]


def has_pending(connection: Connection, owner: int) -> bool:
    """Return whether an owner has changed vectors that were sent before."""
    return bool(connection.row("SELECT 1 FROM vectors_due WHERE owner_id = ?", (owner,)))


def record_intent(
    connection: Connection, owner: int, values: tuple[int, str, str | None, str]
) -> None:
    """Record that vectors of items below a number are about to be sent.

    Args:
        connection: In a write transaction.
        owner: The owner's row id; no row is written if the owner was erased meanwhile.
        values: The item number, the model, the collection's current stamp and its next stamp.
    """
    connection.run(
        "INSERT INTO vectors_sent (owner_id, next_item, sending_to, model, stamp, sending)"
        " SELECT owner_id, 1, ?2, ?3, ?4, ?5 FROM owners WHERE owner_id = ?1"
        " ON CONFLICT (owner_id) DO UPDATE SET stamp = excluded.stamp,"
        " sending = excluded.sending, sending_to = max(sending_to, excluded.sending_to)",
        (owner, *values),
    )


def acknowledge(connection: Connection, owner: int, values: tuple[str | None, int, str]) -> None:
    """Record that Chroma has the intended vectors.

    Args:
        connection: In a write transaction.
        owner: The owner's row id.
        values: The stamp, the item number below which all vectors are there, and the model.
    """
    connection.run(
        "UPDATE vectors_sent SET stamp = ?2, sending = NULL, next_item = max(next_item, ?3)"
        " WHERE owner_id = ?1 AND sending = ?4",
        (owner, *values),
    )


def clear_pending(
    connection: Connection, owner: int, marks: Sequence[tuple[int, int, int]]
) -> None:
    """Clear the marks of changes that Chroma has; vectors that changed again stay pending."""
    connection.run_many(
        "DELETE FROM vectors_due WHERE owner_id = ? AND item = ? AND part = ? AND changes = ?",
        [(owner, *mark) for mark in marks],
    )


def count_pending(connection: Connection, owner: int) -> int:
    """Return the number of an owner's vectors that Chroma lacks or has outdated."""
    known = read_sent(connection, owner)
    counted = _COUNT_PENDING.format(vector=read_model(connection).column)
    row = connection.row(
        counted, (owner, known.next_item if known and not known.is_dropping else 1)
    )
    return row[0] if row else 0


def find_batch_end(connection: Connection, owner: int, start: int, column: str) -> int:
    """Return the item at which the next batch of new items ends, exclusive."""
    row = connection.row(_BATCH_END.format(vector=column), (owner, start))
    if row is None:
        return read_next_item(connection, owner)
    return row[0] if row[0] > start else start + 1


def read_pending_changes(
    connection: Connection, owner: int, between: tuple[int, int], model: VectorModel
) -> PendingChanges:
    """Return some pending changes of an owner, and the new items in a half-open range."""
    due = connection.rows(_CHANGED_PASSAGES.format(vector=model.column), (owner,))
    new = connection.rows(_NEW_PASSAGES.format(vector=model.column), (owner, *between))
    there = [(row[0], row[1], *row[3:]) for row in due if row[3] is not None]
    there += [row for row in new if row[:2] not in {each[:2] for each in there}]
    return PendingChanges(
        _build_points(there, owner, model.dimension),
        [format_point_id(*row[:2]) for row in due if row[3] is None],
        [row[:3] for row in due],
    )


def pending_ids(connection: Connection, owner: int) -> set[str]:
    """Return the ids of vectors that may differ between Chroma and the store."""
    rows = connection.rows("SELECT item, part FROM vectors_due WHERE owner_id = ?", (owner,))
    return {format_point_id(*row) for row in rows}


def iterate_expected(connection: Connection, sent: SentVectors) -> Iterator[Points]:
    """Yield batches of the vectors that Chroma should have of an owner, pending ones included."""
    model = read_model(connection)
    new = _NEW_PASSAGES.format(vector=model.column)
    for start in range(0, sent.next_item, BATCH_SIZE):
        end = min(start + BATCH_SIZE, sent.next_item)
        yield _build_points(
            connection.rows(new, (sent.owner, start, end)), sent.owner, model.dimension
        )


def format_point_id(item: int, part: int) -> str:
    """Return the id of a passage."""
    return f"{item}.{part}"


def parse_item(id_: str) -> int:
    """Return the item of a passage id.

    Raises:
        ValueError: The id is malformed.
    """
    return int(id_.partition(".")[0])


def _build_points(rows: Sequence[Row], owner: int, dimension: int) -> Points:
    return Points(
        [format_point_id(*row[:2]) for row in rows],
        decode_vectors([row[2] for row in rows], dimension),
        [_build_facts(owner, *row[3:]) for row in rows],
    )


def _build_facts(owner: int, kind: str | None, compressed: int, importance: float | None) -> Facts:
    """Return a passage's metadata; messages have no importance."""
    known: dict[str, str | int | float | bool] = {
        "owner": owner,
        "kind": kind or EPISODE,
        "compressed": bool(compressed),
    }
    return known if importance is None else {**known, "importance": importance}


def decode_vectors(stored: Sequence[bytes], dimension: int) -> Floats:
    """Decode stored vectors, masked or not, to floats."""
    if not stored:
        return np.empty((0, dimension), dtype=np.float32)
    form = np.int8 if len(stored[0]) == dimension else np.dtype("<i2")
    values = np.frombuffer(b"".join(stored), dtype=form)
    return values.reshape(len(stored), -1).astype(np.float32)
