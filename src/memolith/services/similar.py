"""Finds existing memories similar to new ones, including those of the write in progress."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from memolith.domain.memories import Memory, Origin, State
from memolith.domain.recall import SearchFilter
from memolith.policies.indexing import norms, row_products
from memolith.policies.merging import SimilarMemory
from memolith.policies.ranking.scoring import max_by_row
from memolith.ports.index import PART_BITS
from memolith.ports.store import IndexEntry, Snapshot
from memolith.profiles.model import Profile

TermGroups = Sequence[tuple[frozenset[str], ...]]

_INITIAL_ROWS = 64


class PlannedVectors:
    """Vectors of memories in the write in progress, in one growing array."""

    def __init__(self) -> None:
        self._rows: NDArray[np.int8] = np.empty((0, 0), dtype=np.int8)
        self._norms: NDArray[np.float64] = np.empty(0)
        self._row_positions: NDArray[np.int64] = np.empty(0, dtype=np.int64)
        self._used = 0
        self._ids: list[str] = []
        self._positions: dict[str, int] = {}
        self._pending: list[tuple[str, Sequence[NDArray[np.int8]]]] = []

    def put(self, id_: str, vectors: Sequence[NDArray[np.int8]]) -> None:
        """Set a memory's vectors, shape (d,) each, replacing earlier ones."""
        self._pending.append((id_, vectors))  # added lazily: often nothing is compared afterwards

    def _append(self, id_: str, vectors: Sequence[NDArray[np.int8]]) -> None:
        if id_ in self._positions:
            self._row_positions[: self._used][
                self._row_positions[: self._used] == self._positions[id_]
            ] = -1
        place = self._positions[id_] = len(self._ids)
        self._ids.append(id_)
        if vectors:
            rows = np.stack(vectors)
            self._reserve(len(rows), rows.shape[1])
            end = self._used + len(rows)
            self._rows[self._used : end] = rows
            self._norms[self._used : end] = norms(rows)
            self._row_positions[self._used : end] = place
            self._used = end

    def nearest(self, vectors: Sequence[NDArray[np.int8]], limit: int) -> list[tuple[str, float]]:
        """Return the memories nearest to a text with these vectors, nearest first.

        A memory's similarity is the smallest one among the text's vectors.
        """
        for id_, pending in self._pending:
            self._append(id_, pending)
        self._pending.clear()
        is_used = self._row_positions[: self._used] >= 0
        if not is_used.any():
            return []
        owners = self._row_positions[: self._used][is_used]
        least = np.full(len(self._ids), 1.0)
        for vector in vectors:
            best = np.full(len(self._ids), -1.0)
            np.maximum.at(best, owners, self._cosines(vector)[is_used])
            least = np.minimum(least, best)
        places = np.unique(owners)
        ranked = places[np.argsort(-least[places], kind="stable")][:limit]
        return [(self._ids[place], float(least[place])) for place in ranked.tolist()]

    def _cosines(self, vector: NDArray[np.int8]) -> NDArray[np.float64]:
        rows = self._rows[: self._used]
        products = row_products(rows, vector).astype(np.float64)
        lengths = self._norms[: self._used] * norms(vector[None, :])[0]
        cosines: NDArray[np.float64] = np.divide(
            products, lengths, out=np.zeros_like(products), where=lengths > 0
        )
        return cosines

    def _reserve(self, count: int, dimension: int) -> None:
        size = len(self._row_positions)
        if self._used + count <= size:
            return
        capacity = max(2 * size, _INITIAL_ROWS, self._used + count)
        rows = np.zeros((capacity, dimension), dtype=np.int8)
        if self._used:
            rows[: self._used] = self._rows[: self._used]
        self._rows = rows
        self._norms = np.concatenate([self._norms, np.zeros(capacity - size)])
        self._row_positions = np.concatenate([self._row_positions, np.full(capacity - size, -1)])


# --- Similar memories


LINK_SIMILARITY = 0.9
"""The cosine similarity from which memories are linked as near-duplicates. A guess: restatements
reach 0.95 with the local embedder, and only the display of links depends on it."""

_NEIGHBOUR_LIMIT = 8
"""Nearest memories examined for a duplicate. A guess: memories with another key and summaries are
not eligible."""

_MAX_LINKS = 3

_CANDIDATE_LIMIT = 64
"""Memories read, the shortest first, as supersession candidates. A guess: simple statements are
short. An old one is missed only if more texts of the same length contain the same words."""

_MAX_CANDIDATE_TERMS = 24
"""The longest passage, in terms, that may be a simple statement: far more than a sentence of
`text.statements.reading.MAX_CHARS` contains."""

_DORMANT_STATES = frozenset({State.EXPIRED, State.FADED, State.EVICTED})


class SimilarMemories:
    """An owner's memories as they will be after the write in progress."""

    def __init__(self, snapshot: Snapshot, profile: Profile, now: datetime) -> None:
        """Start with the stored memories."""
        self._snapshot = snapshot
        self._now = now
        self._revives = profile.merging.revives
        self._folds = profile.merges_duplicates
        self._scope = SearchFilter(now=now, kinds=frozenset(profile.kinds), dormant=self._revives)
        self._planned: dict[str, Memory] = {}
        self._entries: dict[str, IndexEntry] = {}
        self._vectors = PlannedVectors()
        self._stored: dict[str, Memory] = {}
        self._arbitrates = profile.supersession is not None
        self._by_term: dict[str, dict[str, None]] = {}
        self._last: tuple[IndexEntry, float, list[tuple[str, float]]] | None = None

    def add_planned(self, memory: Memory, entry: IndexEntry | None) -> None:
        """Add a planned memory, with its index entry if that changes."""
        self._planned[memory.id] = memory
        self._last = None
        if entry is not None:
            self._entries[memory.id] = entry
            self._vectors.put(memory.id, _entry_vectors(entry))
            for term in _entry_terms(entry) if self._arbitrates else ():
                self._by_term.setdefault(term, {})[memory.id] = None

    def get_memory(self, id_: str) -> Memory:
        """Return a memory that another method has returned, in its planned state."""
        return self._planned.get(id_) or self._stored[id_]

    def find_by_key(self, key: str | None) -> Memory | None:
        """Return the active memory with the key."""
        if key is None:
            return None
        for memory in self._planned.values():
            if memory.key == key and memory.state is State.ACTIVE:
                return memory
        found = self._snapshot.find_by_key(key)
        return None if found is None or found.id in self._planned else found

    def find_exact_duplicates(self, entry: IndexEntry, key: str | None) -> list[Memory]:
        """Return the memories with the same words that the new one may restate, oldest first."""
        stored = [
            self._cache_stored(record)
            for record in self._snapshot.find_by_content(entry.content_key, dormant=self._revives)
            if isinstance(record, Memory) and record.id not in self._entries
        ]
        planned = [
            self._planned[id_]
            for id_, other in self._entries.items()
            if other.content_key == entry.content_key
        ]
        return [memory for memory in (*stored, *planned) if self._is_eligible(memory, key)]

    def find_nearest(self, entry: IndexEntry, key: str | None) -> SimilarMemory | None:
        """Return the nearest memory that the new one may restate."""
        neighbours = self._find_neighbours(entry)
        self._load([id_ for id_, _ in neighbours])
        for id_, similarity in neighbours:
            memory = self.get_memory(id_)
            if self._is_eligible(memory, key) and memory.origin is not Origin.SUMMARY:
                return SimilarMemory(memory, similarity)
        return None

    def find_supersession_candidates(self, term_groups: TermGroups) -> list[Memory]:
        """Return short active memories without a key that contain the terms, the shortest ones.

        Args:
            term_groups: Alternatives; a memory must contain one term of each group of one
                alternative.
        """
        stored = [id_ for id_ in self._find_containing(term_groups) if id_ not in self._entries]
        self._load(stored)
        memories = (
            self.get_memory(id_) for id_ in (*stored, *self._find_planned_containing(term_groups))
        )
        return [memory for memory in memories if self._is_eligible(memory, None)]

    def find_near_duplicates(self, entry: IndexEntry) -> tuple[str, ...]:
        """Return the ids of memories to link with a text as near-duplicates."""
        if not self._folds:
            return ()
        neighbours = self._find_neighbours(entry, LINK_SIMILARITY)
        return tuple(id_ for id_, similarity in neighbours if similarity >= LINK_SIMILARITY)[
            :_MAX_LINKS
        ]

    def _find_containing(self, term_groups: TermGroups) -> Sequence[str]:
        terms = sorted(
            {term for alternative in term_groups for group in alternative for term in group}
        )
        postings = self._snapshot.postings(terms, self._scope)
        place = {term: at for at, term in enumerate(terms)}
        contains = np.zeros((len(terms), len(postings.passages)), dtype=np.bool_)
        contains[postings.term, postings.slot] = True
        is_match = np.zeros(len(postings.passages), dtype=np.bool_)
        for alternative in term_groups:
            groups = [
                contains[[place[term] for term in group]].any(axis=0) for group in alternative
            ]
            is_match |= np.logical_and.reduce(groups)
        rows = np.flatnonzero(is_match & (postings.lengths <= _MAX_CANDIDATE_TERMS))
        numbers = postings.passages[rows] >> PART_BITS
        shortest = numbers[np.lexsort((-numbers, postings.lengths[rows]))][:_CANDIDATE_LIMIT]
        return self._snapshot.items(shortest).record_id if len(shortest) else ()

    def _find_planned_containing(self, term_groups: TermGroups) -> list[str]:
        ids: dict[str, None] = {}
        for alternative in term_groups:
            groups = [
                _merge_ids(self._by_term.get(term, {}) for term in group) for group in alternative
            ]
            first, *rest = sorted(groups, key=len)
            ids |= {id_: None for id_ in first if all(id_ in group for group in rest)}
        return list(ids)[-_CANDIDATE_LIMIT:]

    def _is_eligible(self, memory: Memory, key: str | None) -> bool:
        ended = memory.expires_at is not None and memory.expires_at <= self._now
        is_searchable = memory.state is State.ACTIVE or (
            self._revives and memory.state in _DORMANT_STATES
        )
        return is_searchable and (self._revives or not ended) and memory.key in (None, key)

    def _cache_stored(self, memory: Memory) -> Memory:
        self._stored.setdefault(memory.id, memory)
        return self.get_memory(memory.id)

    def _load(self, ids: Sequence[str]) -> None:
        missing = [id_ for id_ in ids if id_ not in self._planned and id_ not in self._stored]
        if missing:
            self._stored |= {memory.id: memory for memory in self._snapshot.memories(missing)}

    def _find_neighbours(
        self, entry: IndexEntry, at_least: float = -np.inf
    ) -> list[tuple[str, float]]:
        """Return the ids and similarities of memories near to a text, nearest first.

        The similarity of a text is that of its least similar passage: a text that says more than a
        memory is no duplicate. Memories below `at_least` may be missing.
        """
        if self._last is None or self._last[0] is not entry or self._last[1] > at_least:
            # Linking an inserted memory reuses the search that looked for its duplicates.
            self._last = (entry, at_least, self._search(entry, at_least))
        return self._last[2]

    def _search(self, entry: IndexEntry, at_least: float) -> list[tuple[str, float]]:
        vectors = _entry_vectors(entry)
        if not vectors or len(vectors) < len(entry.passages):
            return []
        neighbours = self._search_store(vectors, at_least) + self._vectors.nearest(
            vectors, _NEIGHBOUR_LIMIT
        )
        return sorted(neighbours, key=lambda one: (-one[1], one[0]))

    def _search_store(
        self, vectors: Sequence[NDArray[np.int8]], at_least: float
    ) -> list[tuple[str, float]]:
        numbers = self._snapshot.nearest(
            vectors[0], _NEIGHBOUR_LIMIT, self._scope, min_cosine=at_least
        )
        if not len(numbers):
            return []
        least = np.ones(len(numbers))
        for vector in vectors:
            similarities = self._snapshot.similarities(vector, numbers)
            best = max_by_row(similarities.row, similarities.cosine, len(numbers), -1.0)
            least = np.minimum(least, best)
        is_near = least >= at_least
        numbers, least = numbers[is_near], least[is_near]
        if not len(numbers):
            return []
        ids = self._snapshot.items(numbers).record_id
        found_ids = zip(ids, least.tolist(), strict=True)
        return [(id_, similarity) for id_, similarity in found_ids if id_ not in self._entries]


def _entry_terms(entry: IndexEntry) -> Iterable[str]:
    return entry.passages[0].terms if len(entry.passages) == 1 else ()


def _merge_ids(ids: Iterable[dict[str, None]]) -> dict[str, None]:
    return {id_: None for each in ids for id_ in each}


def _entry_vectors(entry: IndexEntry) -> list[NDArray[np.int8]]:
    return [each.vector for each in entry.passages if each.vector is not None]
