"""The in-memory search index of one owner: columns derived from the tables.

An `OwnerIndex` is an immutable state of the index. Updating it reads only new rows, since items and
passages are append-only by number. Changes to older items (mostly their end) are detected by the
owner's revision in their rows. Successive states share their buffers.
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
    """Columns with one row per item, ascending by number; times in microseconds, or `NEVER`."""

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
    """Columns with one row per passage, ascending by id; `item` is a row of `ItemColumns`."""

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
    """Columns with one row per vector, ascending by passage.

    Attributes:
        item: Row of `ItemColumns`.
        part: Part number of the passage.
        values: int8, shape (n, dimension).
        norm: Euclidean length.
    """

    item: Column
    part: Column
    values: Column
    norm: Column

    @property
    def dimension(self) -> int:
        """The dimension of the vectors; 0 before the first one."""
        return int(self.values.view.shape[1])


def empty_vectors(dimension: int) -> VectorColumns:
    """Return columns without rows for vectors of this dimension."""
    return VectorColumns(
        item=AppendOnlyArray.empty("i4"),
        part=AppendOnlyArray.empty("i4"),
        values=AppendOnlyArray.empty("i1", (0, dimension)),
        norm=AppendOnlyArray.empty("f8"),
    )


# --- Owner index


Row = tuple[Any, ...]

ROLES = tuple(Role)
_USER = ROLES.index(Role.USER)
_ROLE_CODES = {role.value: code for code, role in enumerate(ROLES)}
_SEQUENCE_BITS = 32
_NO_INTEGERS: Integers = np.empty(0, dtype=np.int64)


class IndexSource(Protocol):
    """Source of an index: one owner's tables in one state."""

    def new_items(self, first: int, end: int) -> list[Row]:
        """Return the items from `first` to below `end`, ascending.

        Columns: item, record id, kind (None: message), session (−1: none), sequence, speaker (−1:
        none), role, at, traits, words, tokens, valid from, valid to (`NEVER`: open), expires at
        (`NEVER`: never), compressed.
        """
        ...

    def changed_items(self, revision: int, before: int) -> list[Row]:
        """Return the items below `before` that changed after that revision, ascending."""
        ...

    def changed_usage_stats(self, revision: int) -> list[Row]:
        """Return usage stats of memories that changed after that revision.

        Columns: item (of every version), importance, access count, last use or creation, last
        update, whether it is the newest version of a dormant memory.
        """
        ...

    def new_passages(self, first: int, end: int) -> list[Row]:
        """Return item, part, start, stop, tokens, length and vector from `first` to below `end`.

        Ordered by item.
        """
        ...

    def decrypt_vectors(self, stored: Sequence[bytes]) -> NDArray[np.int8]:
        """Return vectors of passages in comparable form, shape (n, dimension)."""
        ...

    def postings(self, terms: Sequence[str], first: int) -> list[Row]:
        """Return postings from an item on: index of the term, item, part, frequency."""
        ...

    def texts(
        self, records: NDArray[np.uint8], items: Integers
    ) -> list[tuple[int, tuple[str, ...]]]:
        """Return key (if any) and content of versions of memories, decrypted, ascending by item.

        Args:
            records: The memories' packed ids, shape (n, 16).
            items: The items of the versions, shape (n,), ascending.
        """
        ...

    def summaries(self) -> list[Row]:
        """Return pairs of a summary's item and the compressed item that it covers."""
        ...

    def items_of_records(self, record_ids: Sequence[str]) -> list[tuple[str, int]]:
        """Return the items of all versions of these records, ascending by item."""
        ...

    def items_of_content(self, content_key: str) -> Integers:
        """Return the items with this `content_key`, valid or not, ascending."""
        ...

    def items_with_tag(self, tag: str) -> Integers:
        """Return the items with a tag, ascending."""
        ...

    def session_number(self, name: str) -> int | None:
        """Return a session's number; None if there is no such session."""
        ...


_ITEMS_PER_READ = 8_192
"""Number of items read at once; Python rows take several times the memory of columns. A guess."""

_TERM_OVERHEAD_BYTES = 400
"""Bytes of overhead per term: two arrays, an object, the term and its dictionary entry. Measured
with tracemalloc: 413 bytes for a term with one row, as most terms have few rows."""


@dataclass(frozen=True, slots=True)
class TermRows:
    """Postings of a term in items below `next_item`: rows of `PassageColumns`, ascending."""

    rows: NDArray[np.int32]
    frequency: NDArray[np.int32]
    next_item: int

    @property
    def nbytes(self) -> int:
        """Size in bytes, including Python's overhead."""
        return self.rows.nbytes + self.frequency.nbytes + _TERM_OVERHEAD_BYTES


@dataclass(slots=True)
class SharedBuffers:
    """Data shared by successive states of an index.

    Rows have the same positions in all of these states, so cached postings and codes serve all of
    them.
    """

    lock: threading.Lock = field(default_factory=threading.Lock)
    kinds: list[str] = field(default_factory=lambda: [EPISODE])
    kind_codes: dict[str | None, int] = field(default_factory=lambda: {None: 0, EPISODE: 0})
    postings: dict[str, TermRows] = field(default_factory=dict)
    postings_bytes: int = 0
    vector_codes: QuantisedCodes | None = None

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return self.postings_bytes + (self.vector_codes.nbytes if self.vector_codes else 0)

    def get_vector_codes(self, vectors: VectorColumns) -> QuantisedCodes:
        """Return codes of at least these vectors; there must be `TRAINING_ROWS` or more."""
        values, norm = vectors.values.view, vectors.norm.view
        codes = self.vector_codes
        if codes is None or len(codes) < len(values):
            with self.lock:
                training_rows = slice(TRAINING_ROWS)
                codes = self.vector_codes or create_codes(
                    values[training_rows], norm[training_rows]
                )
                codes = self.vector_codes = extend_codes(codes, values, norm)
        return codes

    def get_kind_code(self, kind: str | None) -> int:
        """Return a kind's code, assigning one if necessary."""
        if kind not in self.kind_codes:
            self.kinds.append(str(kind))
            self.kind_codes[kind] = len(self.kinds) - 1
        return self.kind_codes[kind]


class IndexVersion(NamedTuple):
    """The state of an owner's tables that an index represents.

    Attributes:
        generation: States of different generations share nothing.
        revision: Increases with every change, including recorded accesses; identifies the state.
        counter: Increases with every change except recorded accesses.
        next_item: Greater than every item number.
    """

    generation: int
    revision: int
    counter: int
    next_item: int

    def precedes(self, other: IndexVersion) -> bool:
        """Whether the other version is the same or a later state."""
        return self.generation == other.generation and self.revision <= other.revision


class CurrentValidity:
    """Currently valid items and passages of one state, computed on first use."""

    def __init__(self, items: ItemColumns, passages: PassageColumns) -> None:
        """Initialise with the columns of that state."""
        self._items = items
        self._passages = passages

    @cached_property
    def open_items(self) -> Bools | None:
        """Mask of the currently valid items; None for all."""
        is_open = self._items.valid_to.view == NEVER
        return None if is_open.all() else is_open

    @cached_property
    def quarantine_mask(self) -> Bools | None:
        """Mask of the quarantined items; None if there are none."""
        return find_quarantined(self._items.traits.view, self._items.role.view == _USER)

    @cached_property
    def first_expiry(self) -> int:
        """Time of the first expiry in microseconds; `NEVER` if no item expires."""
        return int(self._items.expires_at.view.min(initial=NEVER))

    @cached_property
    def open_passages(self) -> tuple[Bools | None, int, int]:
        """Mask of the currently valid passages (None for all), their number and total terms."""
        lengths = self._passages.length.view
        if self.open_items is None:
            return None, len(lengths), int(lengths.sum(dtype=np.int64))
        is_open = self.open_items[self._passages.item.view]
        return is_open, int(is_open.sum()), int(lengths[is_open].sum(dtype=np.int64))


@dataclass(frozen=True, slots=True)
class OwnerIndex:
    """One state of an owner's index.

    Attributes:
        version: The state.
        message_order: Messages by session and sequence: sorted keys and their rows.
        summary_coverage: Rows covered by summaries, with start and end of each summary's validity.
        shared: Data shared with the states it was derived from.
        current: The currently valid items and passages.
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
        """Size in bytes, including shared buffers."""
        columns = (self.items, self.passages, self.vectors)
        arrays: int = sum(getattr(part, f.name).nbytes for part in columns for f in fields(part))
        return (
            arrays
            + self.message_order[0].nbytes
            + self.message_order[1].nbytes
            + self.shared.nbytes
        )

    def rows(self, numbers: Integers) -> Integers:
        """Return the rows of items, which must exist."""
        return np.searchsorted(self.items.number.view, numbers)


def empty_index(generation: int) -> OwnerIndex:
    """Return the index of an owner without data."""
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
    """Return a later state; the caller holds the lock of the shared buffers."""
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
    """Return the index with the changes of transactions since its version."""
    changed_rows = source.changed_items(index.version.revision, index.version.next_item)
    if changed_rows:
        index = _apply_item_changes(index, changed_rows)
    for first in range(index.version.next_item, version.next_item, _ITEMS_PER_READ):
        index = _append_items(index, source, first, version.next_item)
    summary_coverage = _read_summary_coverage(index, source)
    return replace(
        index,
        summary_coverage=summary_coverage,
        current=CurrentValidity(index.items, index.passages),
    )


def _apply_usage_stats(index: OwnerIndex, rows: Sequence[Row], first_new_row: int) -> OwnerIndex:
    """Return the index with updated usage; no other state has rows from `first_new_row` on."""
    numbers, *values = zip(*rows, strict=True)
    positions = index.rows(np.array(numbers, dtype=np.int64))
    names = ("importance", "access_count", "used_at", "updated_at", "dormant")
    uses = {
        name: np.array(value, dtype=ITEM_TYPES[name])
        for name, value in zip(names, values, strict=True)
    }
    if positions.min() >= first_new_row:  # new rows only, so nothing has to be copied
        for name, use in uses.items():
            getattr(index.items, name).set_rows(positions, use)
        return index
    columns = {
        name: getattr(index.items, name).with_rows_set(positions, use) for name, use in uses.items()
    }
    return replace(index, items=replace(index.items, **columns))


def _apply_item_changes(index: OwnerIndex, rows: Sequence[Row]) -> OwnerIndex:
    columns = _item_columns(index.shared, rows)
    positions = index.rows(columns["number"])
    changes = {
        name: getattr(index.items, name).with_rows_set(positions, columns[name])
        for name in MUTABLE_COLUMNS
        if not np.array_equal(getattr(index.items, name).view[positions], columns[name])
    }
    return replace(index, items=replace(index.items, **changes))


def _append_items(index: OwnerIndex, source: IndexSource, first: int, next_item: int) -> OwnerIndex:
    """Return the index with the next `_ITEMS_PER_READ` items, reserving space up to `next_item`."""
    end = min(first + _ITEMS_PER_READ, next_item)
    reserve_factor = (next_item - end) / (end - first)
    items = _item_columns(index.shared, source.new_items(first, end))
    before = len(index.items.number.view)
    passage_rows = source.new_passages(first, end)
    passages = _passage_columns(passage_rows, items["number"], before)
    vectors = _vector_columns(passage_rows, passages["item"], source)
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
        items=_append_rows(index.items, items, reserve_factor),
        passages=_append_rows(index.passages, passages, reserve_factor),
        vectors=_append_vectors(index.vectors, vectors, reserve_factor),
        message_order=_insert_in_order(index.message_order, items, before),
    )


def _append_rows(columns: Any, rows: dict[str, NDArray[Any]], reserve_factor: float) -> Any:
    """Return columns with appended rows, reserving `reserve_factor` times as many more."""
    extended = {
        name: getattr(columns, name).append_rows(
            new_rows, reserve=round(reserve_factor * len(new_rows))
        )
        for name, new_rows in rows.items()
    }
    return type(columns)(**extended)


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
    numbers, records, kinds, sessions, sequences, speakers, roles, *others = columns
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
    values |= dict(zip((*names, "compressed"), others, strict=True))
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
    positions = [position for position, row in enumerate(rows) if row[6] is not None]
    if not positions:
        return {}
    values = source.decrypt_vectors([rows[position][6] for position in positions])
    return {
        "item": items[positions],
        "part": np.array([rows[position][1] for position in positions], dtype=np.int32),
        "values": values,
        "norm": norms(values),
    }


def _counts(rows: Integers, length: int) -> Integers:
    return np.bincount(rows, minlength=length).astype(np.int64)


def _ranges(counts: Integers, before: int) -> tuple[Integers, Integers]:
    return before + np.cumsum(counts) - counts, counts


def order_keys(session: NDArray[Any], sequence: NDArray[Any]) -> Integers:
    """Return keys that sort messages by session and sequence."""
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
    positions = np.searchsorted(message_order[0], keys, side="right")
    return (
        np.insert(message_order[0], positions, keys),
        np.insert(message_order[1], positions, rows),
    )


def _read_summary_coverage(
    index: OwnerIndex, source: IndexSource
) -> tuple[Integers, Integers, Integers]:
    if not index.items.compressed.view.any():  # the common case: nothing was summarised
        return _NO_INTEGERS, _NO_INTEGERS, _NO_INTEGERS
    numbers = np.array(source.summaries(), dtype=np.int64).reshape(-1, 2)
    summaries, targets = index.rows(numbers[:, 0]), index.rows(numbers[:, 1])
    items = index.items
    return targets, items.valid_from.view[summaries], items.valid_to.view[summaries]


# --- Index cache


_STATES_PER_OWNER = 4
"""States kept per owner, so that readers with slightly older snapshots find theirs. A guess."""


class _IndexSize(NamedTuple):
    """Size of an owner's index in bytes, when last measured.

    Attributes:
        total_bytes: Total size.
        shared_bytes: Size of the shared buffers, which grow with queries.
    """

    total_bytes: int
    shared_bytes: int


_EMPTY_SIZE = _IndexSize(0, 0)


class IndexCache:
    """Caches indexes up to a total size and updates them on demand. Thread-safe."""

    def __init__(self, limit_bytes: int) -> None:
        """Initialise with the maximum total size in bytes; the index in use may exceed it."""
        self._limit_bytes = limit_bytes
        self._lock = threading.Lock()
        self._build_locks: dict[int, threading.Lock] = {}
        self._states: OrderedDict[int, list[OwnerIndex]] = OrderedDict()
        self._sizes: dict[int, _IndexSize] = {}
        self._size = 0
        self._last_owner = 0

    def get(self, owner: int, version: IndexVersion, source: IndexSource) -> OwnerIndex:
        """Return an owner's index in exactly this state.

        Args:
            owner: The owner's number.
            version: The state.
            source: The owner's tables in that state.
        """
        cached = self._find_base(owner, version)
        if cached is not None and cached.version == version:
            return cached
        with self._build_lock(owner):
            cached = self._find_base(owner, version)
            if cached is not None and cached.version == version:
                return cached
            base = cached or empty_index(version.generation)
            with base.shared.lock:
                index = update_index(base, source, version)
            self._store_index(owner, index)
            return index

    def forget(self) -> None:
        """Remove all indexes."""
        with self._lock:
            self._states.clear()
            self._build_locks.clear()
            self._sizes.clear()
            self._size = 0

    def forget_owner(self, owner: int) -> None:
        """Remove an owner's index after its rows were permanently deleted."""
        with self._lock:
            if self._states.pop(owner, None) is not None:
                self._drop_owner(owner)

    def _build_lock(self, owner: int) -> threading.Lock:
        with self._lock:
            return self._build_locks.setdefault(owner, threading.Lock())

    def _find_base(self, owner: int, version: IndexVersion) -> OwnerIndex | None:
        """Return the newest state that is not newer than this version."""
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
            # Earlier generations share nothing with it and contain permanently deleted data.
            states = [
                state for state in states if state.version.generation == newest.version.generation
            ]
            self._states[owner] = states[-_STATES_PER_OWNER:]
            self._states.move_to_end(owner)
            self._update_size(owner, newest)

    def _recount_last_used(self, owner: int) -> None:
        """Update the size of the last used index, and remember the current one.

        An index grows with queries, since it caches postings and codes.
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
        """Remove the least recently used indexes until the size fits, but keep the last one."""
        while self._size > self._limit_bytes and len(self._states) > 1:
            owner, _ = self._states.popitem(last=False)
            self._drop_owner(owner)

    def _drop_owner(self, owner: int) -> None:
        self._size -= self._sizes.pop(owner).total_bytes
        self._build_locks.pop(owner, None)
