"""What the store says that Chroma has, and what it does not have yet.

Of each owner whose vectors are sent, a row tells up to which item they were, and what is marked as
due is what has changed since (see the triggers in `adapters.sqlite.schema`). Both are of the
transaction that changed the vectors: nothing that was committed can be forgotten.
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
"""Passages sent at once: some 2 MB of JSON. A guess."""

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
    """What Chroma has of one owner; see the schema."""

    owner: int
    next_item: int
    sending_to: int
    model: str
    stamp: str | None
    sending: str | None
    is_dropping: int


class VectorModel(NamedTuple):
    """What the store's vectors are of; without a name while there is none.

    Attributes:
        name: Of the embedder.
        dimension: Of a vector.
        space: Which of the store's vectors are in use.
    """

    name: str = ""
    dimension: int = 0
    space: int = 0

    @property
    def prefix(self) -> str:
        """What an owner's model begins with; the version of the owner's key follows."""
        return f"{self.space}/{self.name}/{self.dimension}/"

    @property
    def column(self) -> str:
        """The column of passages that they are in."""
        return EmbeddingGeneration(self.space).column


class PendingChanges(NamedTuple):
    """What is to be sent.

    Attributes:
        points: What to put.
        gone: Ids of what to remove.
        marks: Item, part and number of changes of what was due.
    """

    points: Points
    removed_ids: Sequence[str]
    marks: Sequence[tuple[int, int, int]]


def read_model(connection: Connection) -> VectorModel:
    """Return what the store's vectors are of."""
    facts = VectorFacts.read(connection)
    if facts.model is None:
        return VectorModel(space=facts.embedding_generation)
    return VectorModel(facts.model.name, facts.model.dimension, facts.embedding_generation)


def read_store_id(connection: Connection) -> str | None:
    """Return what the store's collections are named by; None before the first."""
    row = connection.row("SELECT value FROM meta WHERE name = 'vectors_id'")
    return row[0] if row else None


def ensure_store_id(connection: Connection) -> str:
    """Return what the store's collections are named by, drawn where it is not yet."""
    connection.run(
        "INSERT INTO meta (name, value) VALUES ('vectors_id', ?) ON CONFLICT DO NOTHING",
        (secrets.token_hex(8),),
    )
    return read_store_id(connection) or ""


def collection_prefix(store: str) -> str:
    """Return what the names of a store's collections begin with."""
    return f"memolith-{store}-"


def collection_name(store: str, owner: int) -> str:
    """Return the name of an owner's collection."""
    return f"{collection_prefix(store)}{owner}"


def collection_facts(store: str, owner: int, stamp: str) -> Facts:
    """Return what a collection says of itself."""
    return {"memolith": store, "owner": owner, STAMP: stamp}


def read_key_version(connection: Connection, owner: int) -> int | None:
    """Return the version of an owner's key; None where there is no such owner."""
    row = connection.row("SELECT key_version FROM owners WHERE owner_id = ?", (owner,))
    return row[0] if row else None


def read_next_item(connection: Connection, owner: int) -> int:
    """Return the number above all items of an owner."""
    row = connection.row("SELECT next_item FROM owners WHERE owner_id = ?", (owner,))
    return row[0] if row else 1


def read_sent(connection: Connection, owner: int) -> SentVectors | None:
    """Return what Chroma has of an owner; None: nothing."""
    row = connection.row(f"SELECT {_SENT_COLUMNS} FROM vectors_sent WHERE owner_id = ?", (owner,))
    return SentVectors(*row) if row else None


def list_sent(connection: Connection) -> list[SentVectors]:
    """Return what Chroma has of all owners."""
    rows = connection.rows(f"SELECT {_SENT_COLUMNS} FROM vectors_sent ORDER BY owner_id")
    return [SentVectors(*row) for row in rows]


def lagging_owners(connection: Connection, in_memory: int) -> list[int]:
    """Return the owners of whom Chroma lacks something, or has what it should not."""
    model = read_model(connection)
    if not model.name:
        return owners_with_changes(connection)
    return [owner for (owner,) in connection.rows(_LAGGING_OWNERS, (in_memory + 1, model.prefix))]


def owners_with_changes(connection: Connection) -> list[int]:
    """Return the owners of whom Chroma has what has changed, or was removed."""
    return [owner for (owner,) in connection.rows(_OWNERS_WITH_CHANGES)]


def has_pending(connection: Connection, owner: int) -> bool:
    """Return whether something of what Chroma has of an owner has changed."""
    return bool(connection.row("SELECT 1 FROM vectors_due WHERE owner_id = ?", (owner,)))


def record_intent(
    connection: Connection, owner: int, values: tuple[int, str, str | None, str]
) -> None:
    """Tell that vectors of items below one are about to be sent.

    Args:
        connection: In a transaction that writes.
        owner: Whose; one who is gone meanwhile gets no row.
        values: That item, the model, what the collection is marked with, and will be.
    """
    connection.run(
        "INSERT INTO vectors_sent (owner_id, next_item, sending_to, model, stamp, sending)"
        " SELECT owner_id, 1, ?2, ?3, ?4, ?5 FROM owners WHERE owner_id = ?1"
        " ON CONFLICT (owner_id) DO UPDATE SET stamp = excluded.stamp,"
        " sending = excluded.sending, sending_to = max(sending_to, excluded.sending_to)",
        (owner, *values),
    )


def acknowledge(connection: Connection, owner: int, values: tuple[str | None, int, str]) -> None:
    """Tell that Chroma has what was intended: its mark, the item below which all is there."""
    connection.run(
        "UPDATE vectors_sent SET stamp = ?2, sending = NULL, next_item = max(next_item, ?3)"
        " WHERE owner_id = ?1 AND sending = ?4",
        (owner, *values),
    )


def clear_pending(
    connection: Connection, owner: int, marks: Sequence[tuple[int, int, int]]
) -> None:
    """Tell that changes reached Chroma; what has changed again since is still due."""
    connection.run_many(
        "DELETE FROM vectors_due WHERE owner_id = ? AND item = ? AND part = ? AND changes = ?",
        [(owner, *mark) for mark in marks],
    )


def count_pending(connection: Connection, owner: int) -> int:
    """Return how many vectors of an owner Chroma does not have as they are."""
    known = read_sent(connection, owner)
    counted = _COUNT_PENDING.format(vector=read_model(connection).column)
    row = connection.row(
        counted, (owner, known.next_item if known and not known.is_dropping else 1)
    )
    return row[0] if row else 0


def find_batch_end(connection: Connection, owner: int, start: int, column: str) -> int:
    """Return the item before which the next batch of new items ends."""
    row = connection.row(_BATCH_END.format(vector=column), (owner, start))
    if row is None:
        return read_next_item(connection, owner)
    return row[0] if row[0] > start else start + 1


def read_pending_changes(
    connection: Connection, owner: int, between: tuple[int, int], model: VectorModel
) -> PendingChanges:
    """Return what is due of an owner, some of it, and the items from one to before another."""
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
    """Return the ids of what Chroma may have otherwise than the store."""
    rows = connection.rows("SELECT item, part FROM vectors_due WHERE owner_id = ?", (owner,))
    return {format_point_id(*row) for row in rows}


def iterate_expected(connection: Connection, sent: SentVectors) -> Iterator[Points]:
    """Yield what Chroma should have of an owner, whether it is due or not, some at a time."""
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
    """Return the item of a passage's id.

    Raises:
        ValueError: It is none.
    """
    return int(id_.partition(".")[0])


def _build_points(rows: Sequence[Row], owner: int, dimension: int) -> Points:
    return Points(
        [format_point_id(*row[:2]) for row in rows],
        decode_vectors([row[2] for row in rows], dimension),
        [_build_facts(owner, *row[3:]) for row in rows],
    )


def _build_facts(owner: int, kind: str | None, compressed: int, importance: float | None) -> Facts:
    """Return what is known of a passage; a message has no importance."""
    known: dict[str, str | int | float | bool] = {
        "owner": owner,
        "kind": kind or EPISODE,
        "compressed": bool(compressed),
    }
    return known if importance is None else {**known, "importance": importance}


def decode_vectors(stored: Sequence[bytes], dimension: int) -> Floats:
    """Return vectors as the store holds them, hidden or not, as numbers."""
    if not stored:
        return np.empty((0, dimension), dtype=np.float32)
    form = np.int8 if len(stored[0]) == dimension else np.dtype("<i2")
    values = np.frombuffer(b"".join(stored), dtype=form)
    return values.reshape(len(stored), -1).astype(np.float32)
