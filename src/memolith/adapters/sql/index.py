"""The search index of one owner, in memory: columns derived from the tables.

An `OwnerIndex` is one state of it, and never changes. The next state is made by reading only
what is new: items and passages are append-only by number, and what may change of an older item
(its end, mostly) is found by the owner's revision kept in its row. States share their buffers.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from memolith.adapters.sql.codecs import NEVER, translate_decode_errors
from memolith.adapters.sql.quantised_codes import (
    TRAINING_ROWS,
    AppendOnlyArray,
    QuantisedCodes,
    create_codes,
    extend_codes,
)
from memolith.domain.memories import EPISODE
from memolith.domain.messages import Role
from memolith.policies.indexing import norms
from memolith.policies.trust import find_quarantined
from memolith.ports.index import PART_BITS

Bools = NDArray[np.bool_]
Integers = NDArray[np.int64]

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


# --- The search index of one owner, in memory: columns derived from the tables


Row = tuple[Any, ...]

ROLES = tuple(Role)
_USER = ROLES.index(Role.USER)
_ROLE_CODES = {role.value: code for code, role in enumerate(ROLES)}
_SEQUENCE_BITS = 32
_NO_INTEGERS: Integers = np.empty(0, dtype=np.int64)


class IndexSource(Protocol):
    """What an index is made from: one owner's tables in one state."""

    def new_items(self, first: int, end: int) -> list[Row]:
        """Return the items from a number on, below another, ascending.

        Columns: item, record id, kind (None: message), session (−1: none), sequence, speaker
        (−1: none), role, at, traits, words, tokens, valid from, valid to (`NEVER`: open),
        expires at (`NEVER`: not), compressed.
        """
        ...

    def changed_items(self, revision: int, before: int) -> list[Row]:
        """Return the items below a number that changed after that revision, ascending."""
        ...

    def changed_usage_stats(self, revision: int) -> list[Row]:
        """Return how memories that changed after that revision have been used.

        Columns: item (of every version), importance, access count, last use or creation, last
        update, whether it is the newest version of a dormant memory.
        """
        ...

    def new_passages(self, first: int, end: int) -> list[Row]:
        """Return item, part, start, stop, tokens, length and vector of such items, by item."""
        ...

    def decrypt_vectors(self, stored: Sequence[bytes]) -> NDArray[np.int8]:
        """Return vectors of passages as they are compared, shape (n, dimension)."""
        ...

    def postings(self, terms: Sequence[str], first: int) -> list[Row]:
        """Return where terms stand, from an item on: which of the terms, item, part, frequency."""
        ...

    def texts(
        self, records: NDArray[np.uint8], items: Integers
    ) -> list[tuple[int, tuple[str, ...]]]:
        """Return key, if any, and content of versions of memories, opened, ascending by item.

        Args:
            records: The memories' packed ids, shape (n, 16).
            items: The items of the versions, shape (n,), ascending.
        """
        ...

    def summaries(self) -> list[Row]:
        """Return pairs of a summary's item and the compressed item it stands for, if any."""
        ...

    def items_of_records(self, record_ids: Sequence[str]) -> list[tuple[str, int]]:
        """Return the items of all versions of these records, ascending by item."""
        ...

    def items_of_content(self, content_key: str) -> Integers:
        """Return the items of this `content_key`, valid or not, ascending."""
        ...

    def items_with_tag(self, tag: str) -> Integers:
        """Return the items that have a tag, ascending."""
        ...

    def session_number(self, name: str) -> int | None:
        """Return a session's number."""
        ...


_ITEMS_PER_READ = 8_192
"""How many items are read at once: as rows of Python they take several times what they do as
columns. A guess."""

_TERM_OVERHEAD_BYTES = 400
"""What it takes to hold a term that stands in one row, beside the row (413 bytes, by tracemalloc):
two arrays, an object, the term, and its place in a dictionary. Most terms stand in few rows."""


@dataclass(frozen=True, slots=True)
class TermRows:
    """Where a term stands, in items below `next_item`: rows of `PassageColumns`, ascending."""

    rows: NDArray[np.int32]
    frequency: NDArray[np.int32]
    next_item: int

    @property
    def nbytes(self) -> int:
        """Its size, with what Python takes to hold it."""
        return self.rows.nbytes + self.frequency.nbytes + _TERM_OVERHEAD_BYTES


@dataclass(slots=True)
class SharedBuffers:
    """What the states of an index that were made from each other have in common.

    Their rows have the same places, so that postings and codes, once made, serve all of them.
    """

    lock: threading.Lock = field(default_factory=threading.Lock)
    kinds: list[str] = field(default_factory=lambda: [EPISODE])
    kind_codes: dict[str | None, int] = field(default_factory=lambda: {None: 0, EPISODE: 0})
    postings: dict[str, TermRows] = field(default_factory=dict)
    postings_bytes: int = 0
    vector_codes: QuantisedCodes | None = None

    @property
    def nbytes(self) -> int:
        """How much memory it takes."""
        return self.postings_bytes + (self.vector_codes.nbytes if self.vector_codes else 0)

    def get_vector_codes(self, vectors: VectorColumns) -> QuantisedCodes:
        """Return codes of these vectors, and perhaps of more; there must be `LEARNED_FROM`."""
        values, norm = vectors.values.view, vectors.norm.view
        codes = self.vector_codes
        if codes is None or len(codes) < len(values):
            with self.lock:
                learned = slice(TRAINING_ROWS)
                codes = self.vector_codes or create_codes(values[learned], norm[learned])
                codes = self.vector_codes = extend_codes(codes, values, norm)
        return codes

    def get_kind_code(self, kind: str | None) -> int:
        """Return a kind's code, giving it one if it has none."""
        if kind not in self.kind_codes:
            self.kinds.append(str(kind))
            self.kind_codes[kind] = len(self.kinds) - 1
        return self.kind_codes[kind]


class IndexVersion(NamedTuple):
    """Which state of an owner's tables an index stands for.

    Attributes:
        generation: States of different ones have nothing to do with each other.
        revision: Grows with every change, touches too: it names the state.
        counter: Grows with every change but touches.
        next_item: Above every item's number.
    """

    generation: int
    revision: int
    counter: int
    next_item: int

    def precedes(self, other: IndexVersion) -> bool:
        """Whether the other is the same state or a later one."""
        return self.generation == other.generation and self.revision <= other.revision


class CurrentValidity:
    """What is valid and believed now in one state, worked out when first asked for."""

    def __init__(self, items: ItemColumns, passages: PassageColumns) -> None:
        """Take the columns of that state."""
        self._items = items
        self._passages = passages

    @cached_property
    def open_items(self) -> Bools | None:
        """Which items are valid now; None for all."""
        is_open = self._items.valid_to.view == NEVER
        return None if is_open.all() else is_open

    @cached_property
    def quarantined(self) -> Bools | None:
        """Which items wait for a review; None: not one."""
        return find_quarantined(self._items.traits.view, self._items.role.view == _USER)

    @cached_property
    def first_expiry(self) -> int:
        """When the first item expires, in microseconds; `NEVER` if none does."""
        return int(self._items.expires_at.view.min(initial=NEVER))

    @cached_property
    def open_passages(self) -> tuple[Bools | None, int, int]:
        """Which passages are valid now (None for all), how many, and their terms together."""
        lengths = self._passages.length.view
        if self.open_items is None:
            return None, len(lengths), int(lengths.sum(dtype=np.int64))
        is_open = self.open_items[self._passages.item.view]
        return is_open, int(is_open.sum()), int(lengths[is_open].sum(dtype=np.int64))


@dataclass(frozen=True, slots=True)
class OwnerIndex:
    """One state of an owner's index.

    Attributes:
        stamp: Which one.
        now: What is valid and believed now.
        order: Messages by session and place: sorted keys, and the rows they stand for.
        hides: What summaries stand for: rows, and from when to when the summary was valid.
        lineage: What it shares with the states it was made from.
    """

    version: IndexVersion
    items: ItemColumns
    passages: PassageColumns
    vectors: VectorColumns
    message_order: tuple[Integers, NDArray[np.int32]]
    summary_coverage: tuple[Integers, Integers, Integers]
    shared: SharedBuffers
    current: CurrentValidity

    @property
    def nbytes(self) -> int:
        """How much memory it takes, shared or not."""
        columns = (self.items, self.passages, self.vectors)
        arrays: int = sum(getattr(part, f.name).nbytes for part in columns for f in fields(part))
        return (
            arrays
            + self.message_order[0].nbytes
            + self.message_order[1].nbytes
            + self.shared.nbytes
        )

    def rows(self, numbers: Integers) -> Integers:
        """Return the rows of items that must exist."""
        return np.searchsorted(self.items.number.view, numbers)


def empty_index(generation: int) -> OwnerIndex:
    """Return the index of an owner who has nothing."""
    shapes = {"record": (0, 16)}
    items = ItemColumns(
        **{n: AppendOnlyArray.empty(t, shapes.get(n, (0,))) for n, t in ITEM_TYPES.items()}
    )
    passages = PassageColumns(**{n: AppendOnlyArray.empty(t) for n, t in PASSAGE_TYPES.items()})
    return OwnerIndex(
        version=IndexVersion(generation, 0, 0, 1),
        items=items,
        passages=passages,
        vectors=empty_vectors(0),
        message_order=(_NO_INTEGERS, _NO_INTEGERS.astype(np.int32)),
        summary_coverage=(_NO_INTEGERS, _NO_INTEGERS, _NO_INTEGERS),
        shared=SharedBuffers(),
        current=CurrentValidity(items, passages),
    )


@translate_decode_errors
def update_index(base: OwnerIndex, source: IndexSource, version: IndexVersion) -> OwnerIndex:
    """Return a later state; the caller holds the lineage's lock."""
    index = base
    if version.counter != base.version.counter:
        index = _apply_transactions(base, source, version)
    uses = source.changed_usage_stats(base.version.revision)
    if uses:
        index = _apply_usage_stats(index, uses, len(base.items.number.view))
    return replace(index, version=version)


def _apply_transactions(
    index: OwnerIndex, source: IndexSource, version: IndexVersion
) -> OwnerIndex:
    """Return the index with what transactions have changed since."""
    changed = source.changed_items(index.version.revision, index.version.next_item)
    if changed:
        index = _apply_item_changes(index, changed)
    for first in range(index.version.next_item, version.next_item, _ITEMS_PER_READ):
        index = _append_items(index, source, first, version.next_item)
    hides = _read_summary_coverage(index, source)
    return replace(
        index, summary_coverage=hides, current=CurrentValidity(index.items, index.passages)
    )


def _apply_usage_stats(index: OwnerIndex, rows: Sequence[Row], first_new_row: int) -> OwnerIndex:
    """Return the index with how items are used; no other state has the rows of `new_from` on."""
    numbers, *values = zip(*rows, strict=True)
    places = index.rows(np.array(numbers, dtype=np.int64))
    names = ("importance", "access_count", "used_at", "updated_at", "dormant")
    uses = {
        name: np.array(value, dtype=ITEM_TYPES[name])
        for name, value in zip(names, values, strict=True)
    }
    if places.min() >= first_new_row:  # what was just written: nothing is copied for it
        for name, use in uses.items():
            getattr(index.items, name).set_rows(places, use)
        return index
    columns = {
        name: getattr(index.items, name).with_rows_set(places, use) for name, use in uses.items()
    }
    return replace(index, items=replace(index.items, **columns))


def _apply_item_changes(index: OwnerIndex, rows: Sequence[Row]) -> OwnerIndex:
    columns = _item_columns(index.shared, rows)
    places = index.rows(columns["number"])
    changes = {
        name: getattr(index.items, name).with_rows_set(places, columns[name])
        for name in MUTABLE_COLUMNS
        if not np.array_equal(getattr(index.items, name).view[places], columns[name])
    }
    return replace(index, items=replace(index.items, **changes))


def _append_items(index: OwnerIndex, source: IndexSource, first: int, next_item: int) -> OwnerIndex:
    """Return the index with the next `_AT_ONCE` items, and room for those up to another."""
    end = min(first + _ITEMS_PER_READ, next_item)
    share = (next_item - end) / (end - first)
    items = _item_columns(index.shared, source.new_items(first, end))
    before = len(index.items.number.view)
    found = source.new_passages(first, end)
    passages = _passage_columns(found, items["number"], before)
    vectors = _vector_columns(found, passages["item"], source)
    counts = _counts(passages["item"] - before, len(items["number"]))
    items["first_passage"], items["passages"] = _ranges(counts, len(index.passages.id.view))
    items["importance"] = np.ones(len(items["number"]))
    items["access_count"] = np.zeros(len(items["number"]), dtype=np.int64)
    items["used_at"] = items["updated_at"] = items["at"]
    items["dormant"] = np.zeros(len(items["number"]), dtype=np.bool_)
    with_vector = vectors["item"] - before if vectors else np.empty(0, dtype=np.int64)
    counts = _counts(with_vector, len(items["number"]))
    items["first_vector"], items["vectors"] = _ranges(counts, len(index.vectors.item.view))
    return replace(
        index,
        items=_append_rows(index.items, items, share),
        passages=_append_rows(index.passages, passages, share),
        vectors=_append_vectors(index.vectors, vectors, share),
        message_order=_insert_in_order(index.message_order, items, before),
    )


def _append_rows(columns: Any, rows: dict[str, NDArray[Any]], reserve_factor: float) -> Any:
    """Return columns with more rows of each; so many times as many are still to come."""
    longer = {
        name: getattr(columns, name).append_rows(more, reserve=round(reserve_factor * len(more)))
        for name, more in rows.items()
    }
    return type(columns)(**longer)


def _append_vectors(
    vectors: VectorColumns, rows: dict[str, NDArray[Any]], reserve_factor: float
) -> VectorColumns:
    if not rows:
        return vectors
    if vectors.dimension == 0:
        vectors = empty_vectors(rows["values"].shape[1])
    extended_columns: VectorColumns = _append_rows(vectors, rows, reserve_factor)
    return extended_columns


def _item_columns(shared: SharedBuffers, rows: Sequence[Row]) -> dict[str, NDArray[Any]]:
    columns = list(zip(*rows, strict=True)) if rows else [()] * 15
    numbers, records, kinds, sessions, sequences, speakers, roles, *rest = columns
    values: dict[str, Any] = {
        "number": numbers,
        "is_memory": [kind is not None for kind in kinds],
        "kind": [shared.get_kind_code(kind) for kind in kinds],
        "session": sessions,
        "sequence": sequences,
        "speaker": speakers,
        "role": [_ROLE_CODES[role] for role in roles],
    }
    names = ("at", "traits", "words", "tokens", "valid_from", "valid_to", "expires_at")
    values |= dict(zip((*names, "compressed"), rest, strict=True))
    arrays = {name: np.array(v, dtype=ITEM_TYPES[name]) for name, v in values.items()}
    arrays["record"] = np.frombuffer(b"".join(records), dtype=np.uint8).reshape(-1, 16)
    return arrays


def _passage_columns(
    rows: Sequence[Row], numbers: Integers, before: int
) -> dict[str, NDArray[Any]]:
    columns = list(zip(*rows, strict=True)) if rows else [()] * 7
    items, parts, starts, stops, tokens, lengths, _ = columns
    number = np.array(items, dtype=np.int64)
    return {
        "id": number << PART_BITS | np.array(parts, dtype=np.int64),
        "item": before + np.searchsorted(numbers, number),
        "length": np.array(lengths, dtype=np.int32),
        "start": np.array(starts, dtype=np.int32),
        "stop": np.array(stops, dtype=np.int32),
        "tokens": np.array(tokens, dtype=np.int32),
    }


def _vector_columns(
    rows: Sequence[Row], items: Integers, source: IndexSource
) -> dict[str, NDArray[Any]]:
    places = [place for place, row in enumerate(rows) if row[6] is not None]
    if not places:
        return {}
    values = source.decrypt_vectors([rows[place][6] for place in places])
    return {
        "item": items[places],
        "part": np.array([rows[place][1] for place in places], dtype=np.int32),
        "values": values,
        "norm": norms(values),
    }


def _counts(rows: Integers, length: int) -> Integers:
    return np.bincount(rows, minlength=length).astype(np.int64)


def _ranges(counts: Integers, before: int) -> tuple[Integers, Integers]:
    return before + np.cumsum(counts) - counts, counts


def order_keys(session: NDArray[Any], sequence: NDArray[Any]) -> Integers:
    """Return numbers that sort messages by session and place."""
    return session.astype(np.int64) << _SEQUENCE_BITS | sequence.astype(np.int64)


def _insert_in_order(
    message_order: tuple[Integers, NDArray[np.int32]], items: dict[str, NDArray[Any]], before: int
) -> tuple[Integers, NDArray[np.int32]]:
    if items["is_memory"].all():
        return message_order
    messages = np.flatnonzero(~items["is_memory"])
    keys = order_keys(items["session"][messages], items["sequence"][messages])
    ascending = np.argsort(keys, kind="stable")
    keys, rows = keys[ascending], (before + messages[ascending]).astype(np.int32)
    places = np.searchsorted(message_order[0], keys, side="right")
    return np.insert(message_order[0], places, keys), np.insert(message_order[1], places, rows)


def _read_summary_coverage(
    index: OwnerIndex, source: IndexSource
) -> tuple[Integers, Integers, Integers]:
    if not index.items.compressed.view.any():  # mostly: nothing has been summed up
        return _NO_INTEGERS, _NO_INTEGERS, _NO_INTEGERS
    numbers = np.array(source.summaries(), dtype=np.int64).reshape(-1, 2)
    summaries, targets = index.rows(numbers[:, 0]), index.rows(numbers[:, 1])
    items = index.items
    return targets, items.valid_from.view[summaries], items.valid_to.view[summaries]


# --- The indexes of the owners that were asked about lately


_STATES_PER_OWNER = 4
"""States an owner: readers whose snapshots are a few writes old find theirs (a guess)."""


class _IndexSize(NamedTuple):
    """How much memory an owner's index took when that was counted.

    Attributes:
        in_all: All of it.
        of_lineage: What its lineage took of that, which grows with what is asked.
    """

    total_bytes: int
    shared_bytes: int


_EMPTY_SIZE = _IndexSize(0, 0)


class IndexCache:
    """Keeps indexes up to a size, and brings them to the counter asked for. Thread-safe."""

    def __init__(self, limit_bytes: int) -> None:
        """Take how much memory all indexes together may have; the one in use may exceed it."""
        self._limit_bytes = limit_bytes
        self._lock = threading.Lock()
        self._building: dict[int, threading.Lock] = {}
        self._states: OrderedDict[int, list[OwnerIndex]] = OrderedDict()
        self._sizes: dict[int, _IndexSize] = {}
        self._size = 0
        self._last_owner = 0

    def get(self, owner: int, version: IndexVersion, source: IndexSource) -> OwnerIndex:
        """Return an owner's index in exactly this state.

        Args:
            owner: The owner's number.
            stamp: The state.
            source: The owner's tables in that state.
        """
        found = self._find_base(owner, version)
        if found is not None and found.version == version:
            return found
        with self._build_lock(owner):
            found = self._find_base(owner, version)
            if found is not None and found.version == version:
                return found
            base = found or empty_index(version.generation)
            with base.shared.lock:
                index = update_index(base, source, version)
            self._store_index(owner, index)
            return index

    def forget(self) -> None:
        """Let go of all indexes."""
        with self._lock:
            self._states.clear()
            self._building.clear()
            self._sizes.clear()
            self._size = 0

    def forget_owner(self, owner: int) -> None:
        """Let go of an owner's index: the rows that it is made of were removed for good."""
        with self._lock:
            if self._states.pop(owner, None) is not None:
                self._drop_owner(owner)

    def _build_lock(self, owner: int) -> threading.Lock:
        with self._lock:
            return self._building.setdefault(owner, threading.Lock())

    def _find_base(self, owner: int, version: IndexVersion) -> OwnerIndex | None:
        """Return the newest state that is not newer than this one."""
        with self._lock:
            states = self._states.get(owner, [])
            if states:
                self._states.move_to_end(owner)
            self._recount_last_used(owner)
            fitting = [state for state in states if state.version.precedes(version)]
            return max(fitting, key=lambda state: state.version, default=None)

    def _store_index(self, owner: int, index: OwnerIndex) -> None:
        with self._lock:
            states = [*self._states.get(owner, []), index]
            states.sort(key=lambda state: state.version)
            newest = states[-1]
            # Earlier generations share nothing with it, and hold what was removed for good.
            states = [
                state for state in states if state.version.generation == newest.version.generation
            ]
            self._states[owner] = states[-_STATES_PER_OWNER:]
            self._states.move_to_end(owner)
            self._update_size(owner, newest)

    def _recount_last_used(self, owner: int) -> None:
        """Count the index that was asked last anew, and note whose is asked now.

        An index grows while it is asked: it keeps the postings that it has read, and its codes.
        """
        before, self._last_owner = self._last_owner, owner
        states = self._states.get(before)
        if states and states[-1].shared.nbytes != self._sizes[before].shared_bytes:
            self._update_size(before, states[-1])

    def _update_size(self, owner: int, index: OwnerIndex) -> None:
        size = _IndexSize(index.nbytes, index.shared.nbytes)
        self._size += size.total_bytes - self._sizes.get(owner, _EMPTY_SIZE).total_bytes
        self._sizes[owner] = size
        self._shrink()

    def _shrink(self) -> None:
        """Let the owners go who were not asked about for longest, but not the last."""
        while self._size > self._limit_bytes and len(self._states) > 1:
            owner, _ = self._states.popitem(last=False)
            self._drop_owner(owner)

    def _drop_owner(self, owner: int) -> None:
        self._size -= self._sizes.pop(owner).total_bytes
        self._building.pop(owner, None)
