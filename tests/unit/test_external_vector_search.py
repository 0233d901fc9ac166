"""How many candidates an external vector search requests until the nearest are certain."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from memolith.adapters.sql.external_vector_search import ExternalVectorSearch, VectorCandidates
from memolith.domain.recall import SearchFilter
from memolith.policies.indexing import cosines, quantise
from memolith.testing.builders import at
from support.rows import check_each

DIMENSION = 32
QUERY = quantise(np.eye(DIMENSION)[0])
NOW = SearchFilter(now=at(9))


class FakeCandidateSource:
    """Return candidates by cosine, up to the limit. Items have several passages."""

    distance_tolerance = 0.0

    def __init__(self, passages: Sequence[tuple[int, float]]) -> None:
        """Store the item and the cosine to `QUERY` of each passage."""
        self._items = np.array([item for item, _ in passages])
        aside = np.sqrt([1 - cosine**2 for _, cosine in passages])
        vectors = np.zeros((len(passages), DIMENSION))
        vectors[:, 0], vectors[:, 1] = [cosine for _, cosine in passages], aside
        self._vectors = quantise(vectors)
        self._cosines = cosines(self._vectors, QUERY)
        self.fetched: list[int] = []

    def dimension(self) -> int:
        return DIMENSION

    def decrypt_vectors(self, stored: Sequence[bytes]) -> NDArray[np.int8]:
        return np.stack([np.frombuffer(each, dtype=np.int8) for each in stored])

    def find_candidates(
        self, _query: NDArray[np.int8], limit: int, _items: object
    ) -> VectorCandidates:
        self.fetched.append(limit)
        order = np.argsort(-self._cosines, kind="stable")
        first, rest = order[:limit], order[limit:]
        beyond = 1 - float(self._cosines[rest[0]]) if len(rest) else None
        stored = [self._vectors[row].tobytes() for row in first]
        return VectorCandidates(self._items[first].tolist(), stored, beyond)


class UnfilteredSearch(ExternalVectorSearch):
    """A search whose scope allows every item."""

    def _allowed_items(self, scope: SearchFilter) -> None:
        del scope


def run_search(source: FakeCandidateSource, limit: int, at_least: float) -> list[int]:
    search = UnfilteredSearch(cast("Any", SimpleNamespace()), cast("Any", source))
    found: list[int] = search.nearest(QUERY, limit, NOW, min_cosine=at_least).tolist()
    return found


@check_each("at_least", [-np.inf, 0.5, 0.9])
def test_item_with_many_passages_does_not_hide_others(at_least: float) -> None:
    source = FakeCandidateSource([(1, 0.99)] * 900 + [(2, 0.95), (3, 0.94), (4, 0.2)])
    assert run_search(source, 3, at_least) == [1, 2, 3]
    assert source.fetched == [200, 800, 3_200]


def test_search_stops_when_rest_is_too_far() -> None:
    source = FakeCandidateSource(
        [(1, 0.99)] * 150 + [(2, 0.95)] + [(item, 0.5) for item in range(3, 900)]
    )
    assert run_search(source, 8, 0.9) == [1, 2]
    assert source.fetched == [200]


def test_fetched_candidates_below_threshold_are_dropped() -> None:
    source = FakeCandidateSource([(1, 0.99), (2, 0.5)])
    assert run_search(source, 8, 0.9) == [1]
    assert run_search(source, 8, -np.inf) == [1, 2]
    assert source.fetched == [200, 200]
