"""The vectors of memories that are being written, for those that come after them at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from memolith.policies.vectors import norms, row_products

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_INITIAL_ROWS = 64


class PlannedVectors:
    """Passages' vectors by memory, in one array that grows."""

    def __init__(self) -> None:
        """Begin with none."""
        self._rows: NDArray[np.int8] = np.empty((0, 0), dtype=np.int8)
        self._norms: NDArray[np.float64] = np.empty(0)
        self._row_positions: NDArray[np.int64] = np.empty(0, dtype=np.int64)
        self._used = 0
        self._ids: list[str] = []
        self._positions: dict[str, int] = {}
        self._pending: list[tuple[str, Sequence[NDArray[np.int8]]]] = []

    def put(self, id_: str, vectors: Sequence[NDArray[np.int8]]) -> None:
        """Note a memory's vectors, shape (d,) each, in the place of those it had."""
        self._pending.append((id_, vectors))  # mostly the last: nothing is compared with it

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
        """Return the memories nearest to a text of these vectors, nearest first.

        Of each how near it is to the vector that it is farthest from.
        """
        for id_, noted in self._pending:
            self._append(id_, noted)
        self._pending.clear()
        held = self._row_positions[: self._used] >= 0
        if not held.any():
            return []
        owners = self._row_positions[: self._used][held]
        least = np.full(len(self._ids), 1.0)
        for vector in vectors:
            best = np.full(len(self._ids), -1.0)
            np.maximum.at(best, owners, self._cosines(vector)[held])
            least = np.minimum(least, best)
        places = np.unique(owners)
        order = places[np.argsort(-least[places], kind="stable")][:limit]
        return [(self._ids[place], float(least[place])) for place in order.tolist()]

    def _cosines(self, vector: NDArray[np.int8]) -> NDArray[np.float64]:
        rows = self._rows[: self._used]
        products = row_products(rows, vector).astype(np.float64)
        lengths = self._norms[: self._used] * norms(vector[None, :])[0]
        found: NDArray[np.float64] = np.divide(
            products, lengths, out=np.zeros_like(products), where=lengths > 0
        )
        return found

    def _reserve(self, more: int, dimension: int) -> None:
        size = len(self._row_positions)
        if self._used + more <= size:
            return
        grown = max(2 * size, _INITIAL_ROWS, self._used + more)
        rows = np.zeros((grown, dimension), dtype=np.int8)
        if self._used:
            rows[: self._used] = self._rows[: self._used]
        self._rows = rows
        self._norms = np.concatenate([self._norms, np.zeros(grown - size)])
        self._row_positions = np.concatenate([self._row_positions, np.full(grown - size, -1)])
