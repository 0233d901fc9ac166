"""Searching one state of an owner's index."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from mnemon.adapters.sql import nearness
from mnemon.adapters.sql.index import ROLES, TermRows, order_keys
from mnemon.adapters.sql.scopes import in_scope, valid_at
from mnemon.adapters.sql.values import unpack_ids
from mnemon.domain.items import Span
from mnemon.ports.store import PART_BITS, Items, Postings, Similarities, Uses

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from mnemon.adapters.sql.index import IndexSource, OwnerIndex
    from mnemon.domain.recall import Scope

    Bools = NDArray[np.bool_]
    Integers = NDArray[np.int64]

_ROLE_NAMES = np.array(ROLES, dtype=object)


class Search:
    """Answers from one state of an index, and keeps the masks of the scopes it was asked for."""

    def __init__(self, index: OwnerIndex, source: IndexSource) -> None:
        """Take a state, and the tables at the same counter to read postings from."""
        self.index = index
        self._source = source
        self._masks: dict[Scope, Bools | None] = {}

    def nearest(self, vector: NDArray[np.int8], limit: int, scope: Scope) -> Integers:
        """See the port."""
        rows = nearness.nearest(self.index.vectors, vector, limit, self._mask(scope))
        return self.index.items.number.view[rows]

    def similarities(self, vector: NDArray[np.int8], numbers: Integers) -> Similarities:
        """See the port."""
        items, vectors = self.index.items, self.index.vectors
        rows = self.index.rows(numbers)
        counts = items.vectors.view[rows].astype(np.int64)
        row = np.repeat(np.arange(len(rows)), counts)
        places = _runs(items.first_vector.view[rows].astype(np.int64), counts)
        return Similarities(
            row=row,
            part=vectors.part.view[places].astype(np.int64),
            cosine=nearness.cosines_of(vectors, places, vector),
        )

    def postings(self, terms: Sequence[str], scope: Scope) -> Postings:
        """See the port."""
        index = self.index
        found = [self._term(term) for term in terms]
        counts = [len(term.rows) for term in found]
        nothing = np.empty(0, dtype=np.int32)
        rows = np.concatenate([nothing, *(term.rows for term in found)])
        frequency = np.concatenate([nothing, *(term.frequency for term in found)])
        term = np.repeat(np.arange(len(terms)), counts)
        valid, total, length = self._valid_passages(scope)
        holds = term if valid is None else term[valid[rows]]
        document_frequency = np.bincount(holds, minlength=len(terms)).astype(np.int64)
        mask = self._mask(scope)
        if mask is not None:
            kept = mask[index.passages.item.view[rows]]
            rows, frequency, term = rows[kept], frequency[kept], term[kept]
        passages, slot = _distinct(rows, len(index.passages.id.view))
        return Postings(
            passages=index.passages.id.view[passages],
            lengths=index.passages.length.view[passages].astype(np.float64),
            term=term,
            slot=slot,
            frequency=frequency.astype(np.float64),
            document_frequency=document_frequency,
            total=total,
            mean_length=length / total if total else 0.0,
        )

    def items(self, numbers: Integers) -> Items:
        """See the port."""
        columns = self.index.items
        rows = self.index.rows(numbers)

        def integers(column: str) -> Integers:
            values: Integers = getattr(columns, column).view[rows].astype(np.int64)
            return values

        return Items(
            number=integers("number"),
            is_memory=columns.is_memory.view[rows],
            record_id=unpack_ids(columns.record.view[rows]),
            kind=[self.index.lineage.kinds[code] for code in columns.kind.view[rows].tolist()],
            session=integers("session"),
            sequence=integers("sequence"),
            speaker=integers("speaker"),
            role=_ROLE_NAMES[columns.role.view[rows]].tolist(),
            at=integers("at"),
            traits=integers("traits"),
            words=integers("words"),
            tokens=integers("tokens"),
        )

    def uses(self, numbers: Integers) -> Uses:
        """See the port."""
        columns = self.index.items
        rows = self.index.rows(numbers)
        importance = np.ones(len(rows))
        access_count = np.zeros(len(rows), dtype=np.int64)
        used_at = columns.at.view[rows].astype(np.int64)
        memories = np.flatnonzero(columns.is_memory.view[rows])
        records = [record.tobytes() for record in columns.record.view[rows[memories]]]
        for place, use in zip(memories, self._source.uses(records), strict=True):
            importance[place], access_count[place], used_at[place] = use
        return Uses(importance, access_count, used_at)

    def numbers(self, record_ids: Sequence[str], scope: Scope) -> Integers:
        """See the port."""
        items = self._source.items_of(record_ids)
        mask = self._mask(scope)
        if mask is not None:
            rows = self.index.rows(np.array([item for _, item in items], dtype=np.int64))
            items = [pair for pair, kept in zip(items, mask[rows], strict=True) if kept]
        latest = dict(items)
        return np.array([latest.get(record, -1) for record in record_ids], dtype=np.int64)

    def neighbours(self, numbers: Integers, step: Literal[-1, 1], scope: Scope) -> Integers:
        """See the port."""
        items = self.index.items
        keys, order = self.index.order
        rows = self.index.rows(numbers)
        own = order_keys(items.session.view[rows], items.sequence.view[rows])
        places = np.searchsorted(keys, own, side="left" if step < 0 else "right")
        places = places + (min(0, step))
        valid = valid_at(self.index, scope)
        found = np.full(len(rows), -1, dtype=np.int64)
        open_ = np.flatnonzero(~items.is_memory.view[rows])
        while len(open_):
            open_ = open_[(places[open_] >= 0) & (places[open_] < len(keys))]
            there = order[places[open_]]
            same = items.session.view[there] == items.session.view[rows[open_]]
            open_, there = open_[same], there[same]
            is_valid = np.ones(len(there), dtype=np.bool_) if valid is None else valid[there]
            found[open_[is_valid]] = items.number.view[there[is_valid]]
            open_ = open_[~is_valid]
            places[open_] += step
        return found

    def passages(self, numbers: Integers) -> list[list[tuple[Span, int]]]:
        """See the port."""
        items, passages = self.index.items, self.index.passages
        rows = self.index.rows(numbers)
        counts = items.passages.view[rows].astype(np.int64)
        places = _runs(items.first_passage.view[rows].astype(np.int64), counts)
        spans = zip(
            passages.start.view[places].tolist(),
            passages.stop.view[places].tolist(),
            passages.tokens.view[places].tolist(),
            strict=True,
        )
        listed = [(Span(start, stop), tokens) for start, stop, tokens in spans]
        ends = np.cumsum(counts).tolist()
        return [listed[end - n : end] for end, n in zip(ends, counts.tolist(), strict=True)]

    def _mask(self, scope: Scope) -> Bools | None:
        if scope not in self._masks:
            self._masks[scope] = in_scope(self.index, scope, self._source)
        return self._masks[scope]

    def _valid_passages(self, scope: Scope) -> tuple[Bools | None, int, int]:
        """Return which passages are valid at the scope's instant, how many, and their terms."""
        if scope.as_of is None:
            return self.index.open_passages
        valid = valid_at(self.index, scope)
        lengths = self.index.passages.length.view
        if valid is None:
            return None, len(lengths), int(lengths.sum(dtype=np.int64))
        passages = valid[self.index.passages.item.view]
        return passages, int(passages.sum()), int(lengths[passages].sum(dtype=np.int64))

    def _term(self, term: str) -> TermRows:
        """Return where a term stands in this state, reading only what no state has read yet."""
        lineage = self.index.lineage
        known = lineage.postings.get(term)
        if known is None or known.next_item < self.index.next_item:
            with lineage.lock:
                known = self._read_term(term)
        if known.next_item == self.index.next_item:
            return known
        end = int(np.searchsorted(known.rows, len(self.index.passages.id.view)))
        return TermRows(known.rows[:end], known.frequency[:end], self.index.next_item)

    def _read_term(self, term: str) -> TermRows:
        lineage, ids = self.index.lineage, self.index.passages.id.view
        known = lineage.postings.get(term, _NO_ROWS)
        if known.next_item >= self.index.next_item:
            return known
        found = np.array(self._source.postings(term, known.next_item), dtype=np.int64)
        item, part, frequency = found.reshape(-1, 3).T
        sought = item << PART_BITS | part
        rows = np.searchsorted(ids, sought)
        # The terms of a passage that was replaced stay until they are purged.
        there = rows < len(ids)
        there[there] = ids[rows[there]] == sought[there]
        read = TermRows(
            np.concatenate([known.rows, rows[there].astype(np.int32)]),
            np.concatenate([known.frequency, frequency[there].astype(np.int32)]),
            self.index.next_item,
        )
        if len(read.rows):  # what never occurs is not worth remembering, and has no bound
            lineage.postings[term] = read
            lineage.postings_bytes += read.nbytes - known.nbytes
        return read


_NO_ROWS = TermRows(np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int32), 1)


def _runs(first: Integers, counts: Integers) -> Integers:
    """Return first, first + 1, … of each run, one run after the other."""
    ends = np.cumsum(counts)
    return np.arange(ends[-1] if len(ends) else 0) + np.repeat(first - ends + counts, counts)


def _distinct(rows: NDArray[np.int32], length: int) -> tuple[Integers, Integers]:
    """Return the different rows, ascending, and which of them each row is."""
    seen = np.zeros(length, dtype=np.bool_)
    seen[rows] = True
    different = np.flatnonzero(seen)
    slots = np.empty(length, dtype=np.int64)
    slots[different] = np.arange(len(different))
    return different, slots[rows]
