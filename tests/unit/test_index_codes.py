"""Quantised codes of two bits for each component, for the first pass of vector search."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from memolith.adapters.sql.index import SharedBuffers, empty_vectors
from memolith.adapters.sql.quantised_codes import (
    TRAINING_ROWS,
    QuantisedCodes,
    approximate_scores,
    create_codes,
    extend_codes,
)
from memolith.adapters.sql.vector_scan import NearestRequest, QueryComparison, find_nearest
from memolith.policies.indexing import cosines, norms, quantise

SIZE, DIMENSION = 6_000, 96
_rng = np.random.default_rng(11)
_noise = _rng.normal(size=(SIZE, DIMENSION))
_centres = _rng.normal(size=(60, DIMENSION))[_rng.integers(0, 60, SIZE)]
_axes = _rng.normal(size=(12, DIMENSION))


def _make_sparse() -> NDArray[np.float64]:
    return np.where(_rng.random((SIZE, DIMENSION)) < 0.08, _noise, 0.0)


KINDS = {
    "random": _noise,
    "in clusters": _centres + 0.5 * _noise,
    "all much the same way": _noise + 4 * _axes[0],
    "all positive": np.abs(_noise),
    "of few dimensions": _rng.normal(size=(SIZE, 12)) @ _axes + 0.1 * _noise,
    "mostly zero": _make_sparse(),
    "of three values": np.sign(_noise) * (_rng.random((SIZE, DIMENSION)) < 0.9),
}


def build_codes(values: NDArray[np.int8]) -> QuantisedCodes:
    norm = norms(values)
    return extend_codes(create_codes(values[:TRAINING_ROWS], norm[:TRAINING_ROWS]), values, norm)


def build_index(values: NDArray[np.int8]) -> Any:
    empty = empty_vectors(DIMENSION)
    columns = {
        "item": np.arange(len(values)),
        "part": np.zeros(len(values)),
        "values": values,
        "norm": norms(values),
    }
    extended = {name: getattr(empty, name).append_rows(rows) for name, rows in columns.items()}
    return SimpleNamespace(vectors=type(empty)(**extended), shared=SharedBuffers())


def search(
    index: Any,
    query: NDArray[np.int8],
    limit: int,
    mask: NDArray[np.bool_] | None = None,
    at_least: float = -np.inf,
) -> NDArray[np.int64]:
    return find_nearest(
        index, QueryComparison(index.vectors, query), NearestRequest(limit, at_least, mask)
    )


def approximate(values: NDArray[np.int8], query: NDArray[np.int8]) -> Any:
    return approximate_scores(
        build_codes(values), query, float(norms(query[None, :])[0]), len(values)
    )


@pytest.mark.parametrize("kind", KINDS)
def test_nearest_ten_are_found_among_many(kind: str) -> None:
    values = quantise(KINDS[kind])
    index, hits = build_index(values), 0
    for query in values[:30]:
        true = np.lexsort((np.arange(SIZE), -cosines(values, query)))[:10]
        hits += len({*search(index, query, 10).tolist()} & {*true.tolist()})
    assert hits >= 297


@pytest.mark.parametrize("kind", KINDS)
def test_mask_is_applied_before_selection(kind: str) -> None:
    values = quantise(KINDS[kind])
    index, query = build_index(values), values[0]
    mask = np.arange(SIZE) % 5 > 0
    true = np.flatnonzero(mask)[np.argsort(-cosines(values[mask], query), kind="stable")[:5]]
    found = search(index, query, 5, mask)
    assert mask[found].all()
    assert len({*found.tolist()} & {*true.tolist()}) >= 4


def rotate(values: NDArray[np.int8], cosine: float) -> NDArray[np.int8]:
    """Return a vector for each input vector, at about this cosine to it."""
    # A generator of its own: the vectors must not depend on the order of the tests.
    aside = np.random.default_rng(12).normal(size=values.shape)
    aside -= values * (np.vecdot(aside, values) / np.maximum(norms(values) ** 2, 1))[:, None]
    aside *= (norms(values) / np.linalg.norm(aside, axis=1))[:, None]
    return quantise(cosine * values + np.sqrt(1 - cosine**2) * aside)


@pytest.mark.parametrize("cosine", [0.91, 0.95, 1.0])
@pytest.mark.parametrize("kind", KINDS)
def test_search_above_high_threshold_is_exact(kind: str, cosine: float) -> None:
    values = quantise(KINDS[kind])
    index, even = build_index(values), np.arange(SIZE) % 2 == 0
    for place, query in enumerate(rotate(values[:40], cosine)):
        exact = cosines(values, query)
        order = np.lexsort((np.arange(SIZE), -exact))
        true = order[exact[order] >= 0.9]
        assert place in true
        assert search(index, query, 8, at_least=0.9).tolist() == true[:8].tolist()
        allowed = true[even[true]]
        assert search(index, query, 8, even, 0.9).tolist() == allowed[:8].tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_query_of_another_distribution_finds_nearest(kind: str) -> None:
    queries = quantise(KINDS[kind])
    values = rotate(queries, 0.93)
    index = build_index(values)
    for query in queries[:40]:
        exact = cosines(values, query)
        order = np.lexsort((np.arange(SIZE), -exact))
        true = order[exact[order] >= 0.9]
        assert search(index, query, 8, at_least=0.9).tolist() == true[:8].tolist()


def test_search_above_high_threshold_compares_few_vectors() -> None:
    values = quantise(KINDS["random"])
    index = build_index(values)
    compared = []

    class CountingComparison(QueryComparison):
        def cosines(self, rows: NDArray[np.int64] | None = None) -> NDArray[np.float64]:
            compared.append(SIZE if rows is None else len(rows))
            return super().cosines(rows)

    for query in rotate(values[:20], 0.95):
        assert (
            len(
                find_nearest(
                    index, CountingComparison(index.vectors, query), NearestRequest(8, 0.9, None)
                )
            )
            == 1
        )
    assert max(compared) < SIZE // 50


@pytest.mark.parametrize("at_least", [-1.5, -1.0, -0.5, 0.1])
def test_search_above_low_threshold_equals_unfiltered_search(at_least: float) -> None:
    values = quantise(KINDS["random"])
    index = build_index(values)
    for query in values[:10]:
        any_ = search(index, query, 10)
        enough = any_[cosines(values, query)[any_] >= at_least]
        assert search(index, query, 10, at_least=at_least).tolist() == enough.tolist()


def test_vectors_below_threshold_are_not_found() -> None:
    values = quantise(np.vstack([KINDS["random"][:SIZE], -KINDS["random"][:1]]))
    index = build_index(values)
    assert SIZE in search(index, values[0], SIZE + 1)
    assert SIZE not in search(index, values[0], SIZE + 1, at_least=-0.9)


def test_zero_query_finds_first_rows() -> None:
    query = np.zeros(DIMENSION, dtype=np.int8)
    index, even = build_index(quantise(KINDS["random"])), np.arange(SIZE) % 2 == 0
    assert search(index, query, 5).tolist() == [0, 1, 2, 3, 4]
    assert search(index, query, 5, even).tolist() == [0, 2, 4, 6, 8]
    assert search(index, query, 5, at_least=0.0).tolist() == [0, 1, 2, 3, 4]
    assert search(index, query, 5, at_least=0.1).tolist() == []


def test_approximate_scores_correlate_with_cosine() -> None:
    values = quantise(KINDS["random"])
    query = values[7]
    estimate, own = approximate(values, query)
    assert estimate.dtype == np.float32
    assert np.corrcoef(estimate, cosines(values, query))[0, 1] > 0.85
    assert estimate.argmax() == 7
    assert own <= estimate[7] + 1e-6


@settings(max_examples=20)
@given(st.lists(st.integers(1, SIZE), max_size=4))
def test_codes_are_independent_of_batches(cuts: list[int]) -> None:
    values = quantise(KINDS["all much the same way"])
    norm, whole = norms(values), build_codes(values)
    pieces = create_codes(values[:TRAINING_ROWS], norm[:TRAINING_ROWS])
    for cut in [*sorted(cuts), SIZE]:
        pieces = extend_codes(pieces, values[:cut], norm[:cut])
    for name in ("high", "low", "total", "rms", "centre_product"):
        assert np.array_equal(getattr(pieces, name).view, getattr(whole, name).view)


def test_mostly_zero_vectors_have_no_discriminative_codes() -> None:
    telling = {kind: build_codes(quantise(rows)).is_discriminative for kind, rows in KINDS.items()}
    assert [kind for kind, is_telling in telling.items() if not is_telling] == ["mostly zero"]


def test_zero_vector_is_encoded() -> None:
    values = quantise(np.vstack([KINDS["random"], np.zeros((1, DIMENSION))]))
    estimate, _ = approximate(values, values[0])
    assert np.isfinite(estimate).all()
