"""8-bit matrix products and tables, and the model made with them.

A product rounds its input and its matrix to 8-bit integers, multiplies these exactly in 32 bits,
and scales the result back. What is special here, and why, with what was measured, stands in
docs/decisions/0003-local-embedder.md:

- The input's scale is taken for each row, which is a token. The usual way takes one scale for the
  whole input, and a text's vector then depends on what else is in the batch.
- A few channels of the stream between layers carry values many times as large as all others. They
  would set the scale of their row, so they are multiplied in float32, apart.
- The matrix's scale is taken for each column, and is just so large that no sum of two adjacent
  products leaves 16 bits. Processors with AVX2 and without VNNI add these in 16 bits and saturate;
  so every processor computes the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto

from conversion.bert import Floats, Kind, bert
from conversion.graph import RUNTIME, Graph
from conversion.source import Weights

_LARGEST: Final = 127

_LARGEST_PAIR: Final = 128
"""What two weights that meet in a 16-bit sum may add up to: 255 · 128 = 32,640 < 2^15."""

_ZERO: Final[dict[Kind, int]] = {"stream": 128, "heads": 128, "active": 20}
"""The byte that stands for 0. GELU's least value is -0.17, its greatest in a row 1 to 25."""

_APART: Final = (63, 99, 127, 157, 223, 303, 338, 363)
"""Channels of the stream with the largest values over 200 sentences: up to 30 where others reach
1.5. Kept in float32 these eight bring what sixteen bring; 99 and 223 alone bring most of it."""

Columns = Callable[[Floats], tuple[NDArray[np.int8], Floats]]
"""Rounds a matrix of shape (k, n) to integers, and gives their scales, of shape (n,)."""


def quantised_bert(weights: Weights) -> onnx.ModelProto:
    """Return the model with 8-bit products and an 8-bit table of words."""
    return bert(weights, ByteProducts(), lookup)


def quantised_columns(matrix: Floats) -> tuple[NDArray[np.int8], Floats]:
    """Return integers of shape (k, n) and scales of shape (n,) that together make up the matrix."""
    single = np.abs(matrix).max(axis=0) / _LARGEST
    # Half a step less than the limit: each of the two is rounded by up to half a step.
    pair = np.abs(matrix[0::2] + matrix[1::2]).max(axis=0) / (_LARGEST_PAIR - 0.5)
    scale = np.maximum(single, pair).astype(np.float32)
    integers = np.rint(matrix / scale).astype(np.int8)
    _require_no_saturation(integers)
    return integers, scale


def quantised_rows(table: Floats) -> tuple[NDArray[np.int8], Floats]:
    """Return integers of the table's shape and scales of shape (rows, 1)."""
    scale = (np.abs(table).max(axis=1, keepdims=True) / _LARGEST).astype(np.float32)
    return np.rint(table / scale).astype(np.int8), scale


@dataclass(frozen=True, slots=True)
class ByteProducts:
    """Adds products in 8 bits to a graph; a `Product`.

    Attributes:
        apart: Channels of the stream that are multiplied in float32.
        columns: Rounds the matrix.
    """

    apart: tuple[int, ...] = _APART
    columns: Columns = quantised_columns

    def __call__(self, graph: Graph, rows: str, kind: Kind, matrix: Floats, name: str) -> str:
        """Add `rows @ matrix`."""
        if not self.apart or kind != "stream":
            return self._in_bytes(graph, rows, _ZERO[kind], matrix, name)
        few = list(self.apart)
        rest, others = matrix.copy(), np.ones(len(matrix), np.float32)
        rest[few] = 0
        others[few] = 0
        within = graph.add("Mul", rows, graph.constant("others", others))
        scaled = self._in_bytes(graph, within, _ZERO[kind], rest, name)
        taken = graph.add("Gather", rows, graph.integers(*few), axis=1)
        return graph.add("Gemm", taken, graph.constant(f"{name} apart", matrix[few]), scaled)

    def _in_bytes(self, graph: Graph, rows: str, zero: int, matrix: Floats, name: str) -> str:
        integers, column_scale = self.columns(matrix)
        scale = _row_scale(graph, rows, zero)
        byte = graph.constant(f"byte {zero}", np.array(zero, np.uint8))
        # As many as there are rows, and that is the same in every product.
        bytes_ = graph.once("Expand", byte, graph.once("Shape", scale, key="rows"), key=byte)
        raw = graph.add(
            "MatMulIntegerToFloat",
            graph.add("QuantizeLinear", rows, scale, bytes_, axis=0),
            graph.constant(f"{name} integers", integers),
            graph.number(1.0),
            graph.constant(f"{name} scale", column_scale),
            byte,
            domain=RUNTIME,
        )
        return graph.add("Mul", raw, graph.add("Unsqueeze", scale, graph.integers(-1)))


def lookup(graph: Graph, ids: str, table: Floats, name: str) -> str:
    """Add `table[ids]`, the table being kept in 8 bits with a scale for each row."""
    integers, scale = quantised_rows(table)
    found = graph.add("Gather", graph.constant(f"{name} integers", integers), ids)
    scales = graph.add("Gather", graph.constant(f"{name} scale", scale), ids)
    return graph.add("Mul", graph.add("Cast", found, to=TensorProto.FLOAT), scales)


def _row_scale(graph: Graph, rows: str, zero: int) -> str:
    """Add the least scale of each row by which all its values, `zero` added, fit a byte."""
    above = graph.add("ReduceMax", rows, graph.integers(-1), keepdims=0)
    below = graph.add("ReduceMin", rows, graph.integers(-1), keepdims=0)
    return graph.add(
        "Max",
        graph.add("Mul", above, graph.number(1 / (255 - zero))),
        graph.add("Mul", below, graph.number(-1 / zero)),
    )


def _require_no_saturation(integers: NDArray[np.int8]) -> None:
    wide = integers.astype(np.int16)
    pairs = np.abs(wide[0::2] + wide[1::2])
    assert pairs.max() <= _LARGEST_PAIR  # noqa: S101 - a fault of this module, not of its input
