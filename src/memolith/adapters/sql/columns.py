"""The columns of a search index, and what each holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from memolith.adapters.sql.arrays import AppendOnlyArray

Column = AppendOnlyArray[Any]


@dataclass(frozen=True, slots=True)
class ItemColumns:
    """One row an item, ascending by number. Times in microseconds; `NEVER` for no end."""

    number: Column
    record: Column
    is_memory: Column
    kind: Column
    session: Column
    sequence: Column
    speaker: Column
    role: Column
    at: Column
    traits: Column
    words: Column
    tokens: Column
    valid_from: Column
    valid_to: Column
    expires_at: Column
    compressed: Column
    first_passage: Column
    passages: Column
    first_vector: Column
    vectors: Column
    importance: Column
    access_count: Column
    used_at: Column
    updated_at: Column
    dormant: Column


ITEM_TYPES: dict[str, str] = {
    "number": "i8",
    "record": "u1",
    "is_memory": "?",
    "kind": "i2",
    "session": "i4",
    "sequence": "i4",
    "speaker": "i4",
    "role": "i1",
    "at": "i8",
    "traits": "i4",
    "words": "i4",
    "tokens": "i4",
    "valid_from": "i8",
    "valid_to": "i8",
    "expires_at": "i8",
    "compressed": "?",
    "first_passage": "i4",
    "passages": "i4",
    "first_vector": "i4",
    "vectors": "i4",
    "importance": "f8",
    "access_count": "i8",
    "used_at": "i8",
    "updated_at": "i8",
    "dormant": "?",
}
MUTABLE_COLUMNS = ("kind", "session", "role", "at", "valid_to", "expires_at", "compressed")


@dataclass(frozen=True, slots=True)
class PassageColumns:
    """One row a passage, ascending by id. `item` is a row of `ItemColumns`."""

    id: Column
    item: Column
    length: Column
    start: Column
    stop: Column
    tokens: Column


PASSAGE_TYPES: dict[str, str] = {
    "id": "i8",
    "item": "i4",
    "length": "i4",
    "start": "i4",
    "stop": "i4",
    "tokens": "i4",
}


@dataclass(frozen=True, slots=True)
class VectorColumns:
    """One row a vector, ascending by passage.

    Attributes:
        item: Row of `ItemColumns`.
        part: Which of its passages.
        values: int8, shape (n, dimension).
        norm: Length.
    """

    item: Column
    part: Column
    values: Column
    norm: Column

    @property
    def dimension(self) -> int:
        """The length of a vector; 0 before the first one."""
        return int(self.values.view.shape[1])


def empty_vectors(dimension: int) -> VectorColumns:
    """Return columns for vectors of a length, without any yet."""
    return VectorColumns(
        item=AppendOnlyArray.empty("i4"),
        part=AppendOnlyArray.empty("i4"),
        values=AppendOnlyArray.empty("i1", (0, dimension)),
        norm=AppendOnlyArray.empty("f8"),
    )
