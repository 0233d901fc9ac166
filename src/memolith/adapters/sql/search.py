"""Searching one state of an owner's index."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from memolith.adapters.sql import vector_scan
from memolith.adapters.sql.codecs import NEVER, micros, translate_decode_errors, unpack_ids
from memolith.adapters.sql.index import ROLES, IndexSource, OwnerIndex, TermRows, order_keys
from memolith.domain.memories import Span, Trait
from memolith.domain.recall import SearchFilter
from memolith.policies.indexing import centroid
from memolith.ports.index import PART_BITS, Items, Postings, Similarities, UsageStats

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_NO_SESSION = -2
"""The number of a missing session; −1 is the number of memories without a session."""


def valid_items(index: OwnerIndex, scope: SearchFilter) -> Bools | None:
    """Return a mask of the items that are valid at the scope's instant.

    Without `as_of`, these are all open items, regardless of the writer's clock.
    """
    if scope.as_of is None:
        return index.current.open_items
    at = micros(scope.as_of)
    return (index.items.valid_from.view <= at) & (at < index.items.valid_to.view)


def scope_mask(index: OwnerIndex, scope: SearchFilter, source: IndexSource) -> Bools | None:
    """Return a mask of the items that a search in the scope may return."""
    mask = valid_items(index, scope)
    if mask is not None and _includes_dormant(scope):
        mask = mask | index.items.dormant.view
    for part in _condition_masks(index, scope, source):
        if not part.all():
            mask = part if mask is None else mask & part
    return mask


def _includes_dormant(scope: SearchFilter) -> bool:
    return scope.dormant and scope.as_of is None


def _condition_masks(
    index: OwnerIndex, scope: SearchFilter, source: IndexSource
) -> Iterator[Bools]:
    items = index.items
    at = micros(scope.reference_time)
    if index.current.first_expiry <= at and not _includes_dormant(scope):
        yield items.expires_at.view > at
    if scope.kinds is not None:
        yield _kind_mask(index, scope.kinds)
    if scope.session_id is not None:
        number = source.session_number(scope.session_id)
        yield items.session.view == (_NO_SESSION if number is None else number)
    for tag in scope.tags:
        yield _tag_mask(index, tag, source)
    if scope.since is not None:
        yield items.at.view >= micros(scope.since)
    if scope.until is not None:
        yield items.at.view < micros(scope.until)
    if len(index.summary_coverage[0]) and not scope.include_compressed:
        yield ~_summarised_mask(index, at, is_current=scope.as_of is None)
    if not scope.include_quarantined:
        quarantined = index.current.quarantine_mask
        if quarantined is not None:
            yield ~quarantined


def _kind_mask(index: OwnerIndex, kinds: Collection[str]) -> Bools:
    codes = index.shared.kind_codes
    indices = [codes[kind] for kind in kinds if kind in codes]
    is_requested = np.zeros(len(index.shared.kinds), dtype=np.bool_)  # kinds are added before codes
    is_requested[indices] = True
    mask: Bools = is_requested[index.items.kind.view]
    return mask


@translate_decode_errors
def _tag_mask(index: OwnerIndex, tag: str, source: IndexSource) -> Bools:
    mask = np.zeros(len(index.items.number.view), dtype=np.bool_)
    mask[index.rows(source.items_with_tag(tag))] = True
    return mask


def _summarised_mask(index: OwnerIndex, at: int, *, is_current: bool) -> Bools:
    rows, since, until = index.summary_coverage
    is_covered = until == NEVER if is_current else (since <= at) & (at < until)
    mask = np.zeros(len(index.items.number.view), dtype=np.bool_)
    mask[rows[is_covered]] = True
    return mask


# --- Substring search


def count_contained(words: Sequence[str], texts: Iterable[str]) -> int:
    """Return how many of the case-folded words occur as substrings of the texts."""
    folded = [text.casefold() for text in texts]
    return sum(any(word in text for text in folded) for word in words)


# --- Index search


_ID_BITS = 48
"""Maximum bits of a passage id: fewer than 2**32 items per owner, and the part."""

_DECRYPT_BLOCK = 1_000
"""Memories decrypted at once, to limit memory. A guess."""

_ROLE_NAMES = np.array(ROLES, dtype=object)


class IndexSearch:
    """Answers searches from one state of an index.

    It caches the masks of scopes, and the cosines of the last query.
    """

    def __init__(self, index: OwnerIndex, source: IndexSource) -> None:
        """Initialise with an index state, and the tables at the same counter for postings."""
        self.index = index
        self._source = source
        self._masks: dict[SearchFilter, Bools | None] = {}
        self._comparison: vector_scan.QueryComparison | None = None

    def nearest(
        self,
        vector: NDArray[np.int8],
        limit: int,
        scope: SearchFilter,
        *,
        min_cosine: float = -math.inf,
    ) -> Integers:
        """See `Snapshot.nearest`."""
        request = vector_scan.NearestRequest(limit, min_cosine, self._mask(scope))
        rows = vector_scan.find_nearest(self.index, self._compare_query(vector), request)
        return self.index.items.number.view[rows]

    def similarities(self, vector: NDArray[np.int8], numbers: Integers) -> Similarities:
        """See `Snapshot.similarities`."""
        items, vectors = self.index.items, self.index.vectors
        rows = self.index.rows(numbers)
        counts = items.vectors.view[rows].astype(np.int64)
        row = np.repeat(np.arange(len(rows)), counts)
        vector_rows = _expand_runs(items.first_vector.view[rows].astype(np.int64), counts)
        return Similarities(
            row=row,
            part=vectors.part.view[vector_rows].astype(np.int64),
            cosine=self._compare_query(vector).cosines(vector_rows),
        )

    def _compare_query(self, vector: NDArray[np.int8]) -> vector_scan.QueryComparison:
        """Return the comparison with a query, reusing the last one if the query is the same."""
        comparison = self._comparison
        if comparison is None or comparison.query is not vector:
            comparison = self._comparison = vector_scan.QueryComparison(self.index.vectors, vector)
        return comparison

    def centroid(self, scope: SearchFilter) -> Floats | None:
        """See `Snapshot.centroid`."""
        items, vectors = self.index.items, self.index.vectors
        mask = self._mask(scope)
        counts = items.is_memory.view if mask is None else items.is_memory.view & mask
        return centroid(vectors.values.view[counts[vectors.item.view]])

    def postings(self, terms: Sequence[str], scope: SearchFilter) -> Postings:
        """See `Snapshot.postings`."""
        index = self.index
        term_rows = self._get_term_rows(terms)
        counts = [len(term.rows) for term in term_rows]
        empty = np.empty(0, dtype=np.int32)
        rows = np.concatenate([empty, *(term.rows for term in term_rows)])
        frequency = np.concatenate([empty, *(term.frequency for term in term_rows)])
        term = np.repeat(np.arange(len(terms)), counts)
        valid, total, length = self._valid_passages(scope)
        valid_terms = term if valid is None else term[valid[rows]]
        document_frequency = np.bincount(valid_terms, minlength=len(terms)).astype(np.int64)
        mask = self._mask(scope)
        if mask is not None:
            selected = mask[index.passages.item.view[rows]]
            rows, frequency, term = rows[selected], frequency[selected], term[selected]
        passages, slot = _distinct_rows(rows, len(index.passages.id.view))
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

    def find_containing(
        self, words: Sequence[str], scope: SearchFilter
    ) -> tuple[Integers, Integers]:
        """See `Snapshot.find_containing`."""
        items = self.index.items
        mask = self._mask(scope)
        rows = np.flatnonzero(items.is_memory.view if mask is None else items.is_memory.view & mask)
        folded = [word.casefold() for word in words]
        matches = [
            (item, count)
            for start in range(0, len(rows), _DECRYPT_BLOCK)
            for block in (rows[start : start + _DECRYPT_BLOCK],)
            for item, texts in self._source.texts(
                items.record.view[block], items.number.view[block]
            )
            if (count := count_contained(folded, texts))
        ]
        numbers, counts = np.array(matches, dtype=np.int64).reshape(-1, 2).T
        return numbers, counts

    def items(self, numbers: Integers) -> Items:
        """See `Snapshot.items`."""
        columns = self.index.items
        rows = self.index.rows(numbers)

        def integers(column: str) -> Integers:
            values: Integers = getattr(columns, column).view[rows].astype(np.int64)
            return values

        return Items(
            number=integers("number"),
            is_memory=columns.is_memory.view[rows],
            record_id=unpack_ids(columns.record.view[rows]),
            kind=[self.index.shared.kinds[code] for code in columns.kind.view[rows].tolist()],
            session=integers("session"),
            sequence=integers("sequence"),
            speaker=integers("speaker"),
            role=_ROLE_NAMES[columns.role.view[rows]].tolist(),
            at=integers("at"),
            traits=integers("traits"),
            words=integers("words"),
            tokens=integers("tokens"),
        )

    def usage_stats(self, numbers: Integers) -> UsageStats:
        """See `Snapshot.usage_stats`."""
        columns = self.index.items
        rows = self.index.rows(numbers)
        return UsageStats(
            importance=columns.importance.view[rows],
            access_count=columns.access_count.view[rows],
            used_at=columns.used_at.view[rows],
            updated_at=columns.updated_at.view[rows],
        )

    @translate_decode_errors
    def item_numbers(self, record_ids: Sequence[str], scope: SearchFilter) -> Integers:
        """See `Snapshot.item_numbers`."""
        items = self._source.items_of_records(record_ids)
        mask = self._mask(scope)
        if mask is not None:
            rows = self.index.rows(np.array([item for _, item in items], dtype=np.int64))
            items = [
                pair for pair, is_in_scope in zip(items, mask[rows], strict=True) if is_in_scope
            ]
        latest = dict(items)
        return np.array([latest.get(record, -1) for record in record_ids], dtype=np.int64)

    @translate_decode_errors
    def items_with_content(self, content_key: str, limit: int, scope: SearchFilter) -> Integers:
        """See `Snapshot.items_with_content`."""
        items = self.index.items
        rows = self.index.rows(self._source.items_of_content(content_key))
        if not len(rows):  # the common case for a question
            return rows
        mask = self._mask(scope)
        rows = rows if mask is None else rows[mask[rows]]
        is_memory = items.is_memory.view[rows]
        ordered = np.concatenate([rows[is_memory], rows[~is_memory]])
        numbers: Integers = items.number.view[ordered[: max(0, limit)]]
        return numbers

    def items_with_traits(self, traits: Trait, scope: SearchFilter) -> Integers:
        """See `Snapshot.items_with_traits`."""
        has_traits = (self.index.items.traits.view & int(traits)) != 0
        mask = self._mask(scope)
        numbers: Integers = self.index.items.number.view[
            has_traits if mask is None else has_traits & mask
        ]
        return np.sort(numbers)

    def items_in_scope(self, scope: SearchFilter) -> Integers:
        """See `Snapshot.items_in_scope`."""
        mask = self._mask(scope)
        numbers = self.index.items.number.view
        return np.sort(numbers if mask is None else numbers[mask])

    def neighbours(self, numbers: Integers, step: Literal[-1, 1], scope: SearchFilter) -> Integers:
        """See `Snapshot.neighbours`."""
        items = self.index.items
        rows = self.index.rows(numbers)
        result = np.full(len(rows), -1, dtype=np.int64)
        open_ = np.flatnonzero(~items.is_memory.view[rows])
        if not len(open_):
            return result
        keys, order = self.index.message_order
        item_keys = order_keys(items.session.view[rows], items.sequence.view[rows])
        positions = np.searchsorted(keys, item_keys, side="left" if step < 0 else "right")
        positions = positions + (min(0, step))
        valid = valid_items(self.index, scope)
        while len(open_):
            open_ = open_[(positions[open_] >= 0) & (positions[open_] < len(keys))]
            neighbours = order[positions[open_]]
            same = items.session.view[neighbours] == items.session.view[rows[open_]]
            open_, neighbours = open_[same], neighbours[same]
            is_valid = (
                np.ones(len(neighbours), dtype=np.bool_) if valid is None else valid[neighbours]
            )
            result[open_[is_valid]] = items.number.view[neighbours[is_valid]]
            open_ = open_[~is_valid]
            positions[open_] += step
        return result

    def passages(self, numbers: Integers) -> list[list[tuple[Span, int]]]:
        """See `Snapshot.passages`."""
        items, passages = self.index.items, self.index.passages
        rows = self.index.rows(numbers)
        counts = items.passages.view[rows].astype(np.int64)
        passage_rows = _expand_runs(items.first_passage.view[rows].astype(np.int64), counts)
        spans = zip(
            passages.start.view[passage_rows].tolist(),
            passages.stop.view[passage_rows].tolist(),
            passages.tokens.view[passage_rows].tolist(),
            strict=True,
        )
        listed = [(Span(start, stop), tokens) for start, stop, tokens in spans]
        ends = np.cumsum(counts).tolist()
        return [listed[end - n : end] for end, n in zip(ends, counts.tolist(), strict=True)]

    def _mask(self, scope: SearchFilter) -> Bools | None:
        try:
            return self._masks[scope]
        except KeyError:
            mask = self._masks[scope] = scope_mask(self.index, scope, self._source)
            return mask

    def _valid_passages(self, scope: SearchFilter) -> tuple[Bools | None, int, int]:
        """Return a mask of the passages valid at the scope's instant, their number and terms."""
        if scope.as_of is None:
            return self.index.current.open_passages
        valid = valid_items(self.index, scope)
        lengths = self.index.passages.length.view
        if valid is None:
            return None, len(lengths), int(lengths.sum(dtype=np.int64))
        passages = valid[self.index.passages.item.view]
        return passages, int(passages.sum()), int(lengths[passages].sum(dtype=np.int64))

    def _get_term_rows(self, terms: Sequence[str]) -> list[TermRows]:
        """Return postings of terms in this state, reading only those not cached yet."""
        shared, next_item = self.index.shared, self.index.version.next_item
        cached = {term: shared.postings.get(term, _NO_ROWS) for term in terms}
        outdated = [term for term, rows in cached.items() if rows.next_item < next_item]
        if outdated:
            with shared.lock:
                cached |= self._read_postings(outdated)
        return [self._cut_to_version(cached[term]) for term in terms]

    def _cut_to_version(self, term: TermRows) -> TermRows:
        """Return the rows without those of later states."""
        if term.next_item == self.index.version.next_item:
            return term
        end = int(np.searchsorted(term.rows, len(self.index.passages.id.view)))
        return TermRows(term.rows[:end], term.frequency[:end], self.index.version.next_item)

    def _read_postings(self, terms: Sequence[str]) -> dict[str, TermRows]:
        """Read new postings of terms; the caller holds the lock of the shared buffers."""
        postings = self.index.shared.postings
        cached = {term: postings.get(term, _NO_ROWS) for term in terms}
        for first in {rows.next_item for rows in cached.values()}:
            if first < self.index.version.next_item:
                outdated = [term for term in terms if cached[term].next_item == first]
                cached |= self._read_postings_from(outdated, first, cached)
        return cached

    def _read_postings_from(
        self, terms: Sequence[str], first: int, cached: Mapping[str, TermRows]
    ) -> dict[str, TermRows]:
        """Read postings from an item on; cache and return the complete postings."""
        shared = self.index.shared
        term_indices, rows, frequency = self._fetch_postings(terms, first)
        ends = np.searchsorted(term_indices, np.arange(len(terms) + 1))
        read = {}
        for number, term in enumerate(terms):
            new = slice(ends[number], ends[number + 1])
            old = cached[term]
            read[term] = TermRows(
                np.concatenate([old.rows, rows[new]]),
                np.concatenate([old.frequency, frequency[new]]),
                self.index.version.next_item,
            )
            if len(read[term].rows):  # terms that never occur would fill the cache without bound
                before = shared.postings.get(term)
                shared.postings[term] = read[term]
                shared.postings_bytes += read[term].nbytes - (before.nbytes if before else 0)
        return read

    @translate_decode_errors
    def _fetch_postings(
        self, terms: Sequence[str], first: int
    ) -> tuple[Integers, NDArray[np.int32], NDArray[np.int32]]:
        """Return term index, passage row and frequency of postings, from an item on."""
        columns = np.array(self._source.postings(terms, first), dtype=np.int64).reshape(-1, 4)
        indices, item, part, frequency = columns.T
        passages = item << PART_BITS | part
        order = np.argsort(indices << _ID_BITS | passages, kind="stable")  # usually sorted already
        indices, passages, frequency = (
            indices[order],
            passages[order],
            frequency[order],
        )
        ids = self.index.passages.id.view
        rows = np.searchsorted(ids, passages)
        # The terms of a replaced passage remain until they are purged.
        is_present = rows < len(ids)
        is_present[is_present] = ids[rows[is_present]] == passages[is_present]
        return (
            indices[is_present],
            rows[is_present].astype(np.int32),
            frequency[is_present].astype(np.int32),
        )


_NO_ROWS = TermRows(np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int32), 1)


def _expand_runs(first: Integers, counts: Integers) -> Integers:
    """Return first, first + 1, … of each run, one run after the other."""
    ends = np.cumsum(counts)
    return np.arange(ends[-1] if len(ends) else 0) + np.repeat(first - ends + counts, counts)


def _distinct_rows(rows: NDArray[np.int32], length: int) -> tuple[Integers, Integers]:
    """Return the distinct rows, ascending, and the index of each row among them."""
    seen = np.zeros(length, dtype=np.bool_)
    seen[rows] = True
    distinct = np.flatnonzero(seen)
    slots = np.empty(length, dtype=np.int64)
    slots[distinct] = np.arange(len(distinct))
    return distinct, slots[rows]
