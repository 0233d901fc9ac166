"""Build the model with 8-bit matrix products and an 8-bit embedding table.

A product rounds its input and its matrix to 8-bit integers, multiplies them exactly in 32 bits, and
scales the result back. Reasons and measurements are in docs/decisions/0003-local-embedder.md:

- Each row of the input, which is a token, has its own scale. With one scale for the whole input, as
  is usual, an embedding would depend on the other texts in the batch.
- A few channels of the residual stream have values many times larger than the others. They would
  determine the scale of their row, so they are multiplied separately in float32.
- Each column of the matrix has its own scale, chosen so that a sum of two adjacent products fits in
  16 bits. Processors with AVX2 but without VNNI add these in 16 bits with saturation. With these
  scales all processors compute the same result.
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
"""Limit for the sum of two adjacent weights, for 16-bit sums: 255 · 128 = 32,640 < 2^15."""

_ZERO: Final[dict[Kind, int]] = {"stream": 128, "heads": 128, "active": 20}
"""Zero point by kind of input. GELU's minimum is -0.17; its maximum in a row is 1 to 25."""

_APART: Final = (63, 99, 127, 157, 223, 303, 338, 363)
"""Channels with the largest values over 200 sentences: up to 30, where other channels reach 1.5.
In float32, these eight give the same accuracy as sixteen; 99 and 223 alone give most of it."""

Columns = Callable[[Floats], tuple[NDArray[np.int8], Floats]]
"""Rounds a matrix of shape (k, n) to integers; returns them and scales of shape (n,)."""


def quantised_bert(weights: Weights) -> onnx.ModelProto:
    """Return the model with 8-bit products and an 8-bit word embedding table."""
    return bert(weights, ByteProducts(), lookup)


def quantised_columns(matrix: Floats) -> tuple[NDArray[np.int8], Floats]:
    """Return a matrix as integers of shape (k, n) and scales of shape (n,)."""
    single = np.abs(matrix).max(axis=0) / _LARGEST
    # Half a step below the limit, since each of the two is rounded by up to half a step.
    pair = np.abs(matrix[0::2] + matrix[1::2]).max(axis=0) / (_LARGEST_PAIR - 0.5)
    scale = np.maximum(single, pair).astype(np.float32)
    integers = np.rint(matrix / scale).astype(np.int8)
    _require_no_saturation(integers)
    return integers, scale


def quantised_rows(table: Floats) -> tuple[NDArray[np.int8], Floats]:
    """Return a table as integers of the same shape and scales of shape (rows, 1)."""
    scale = (np.abs(table).max(axis=1, keepdims=True) / _LARGEST).astype(np.float32)
    return np.rint(table / scale).astype(np.int8), scale


@dataclass(frozen=True, slots=True)
class ByteProducts:
    """A `Product` in 8 bits.

    Attributes:
        apart: Channels multiplied in float32.
        columns: Rounds the matrix.
    """

    apart: tuple[int, ...] = _APART
    columns: Columns = quantised_columns

    def __call__(self, graph: Graph, rows: str, kind: Kind, matrix: Floats, name: str) -> str:
        """Add `rows @ matrix` to the graph."""
        if not self.apart or kind != "stream":
            return self._multiply_bytes(graph, rows, _ZERO[kind], matrix, name)
        few = list(self.apart)
        rest, others = matrix.copy(), np.ones(len(matrix), np.float32)
        rest[few] = 0
        others[few] = 0
        within = graph.add("Mul", rows, graph.constant("others", others))
        scaled = self._multiply_bytes(graph, within, _ZERO[kind], rest, name)
        taken = graph.add("Gather", rows, graph.integers(*few), axis=1)
        return graph.add("Gemm", taken, graph.constant(f"{name} apart", matrix[few]), scaled)

    def _multiply_bytes(self, graph: Graph, rows: str, zero: int, matrix: Floats, name: str) -> str:
        integers, column_scale = self.columns(matrix)
        scale = _row_scale(graph, rows, zero)
        byte = graph.constant(f"byte {zero}", np.array(zero, np.uint8))
        # One zero point per row. The number of rows is the same in every product.
        bytes_ = graph.add_once(
            "Expand", byte, graph.add_once("Shape", scale, key="rows"), key=byte
        )
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
    """Add `table[ids]` to the graph, with the table in 8 bits and one scale per row."""
    integers, scale = quantised_rows(table)
    found = graph.add("Gather", graph.constant(f"{name} integers", integers), ids)
    scales = graph.add("Gather", graph.constant(f"{name} scale", scale), ids)
    return graph.add("Mul", graph.add("Cast", found, to=TensorProto.FLOAT), scales)


def _row_scale(graph: Graph, rows: str, zero: int) -> str:
    """Add the smallest scale of each row for which all values plus `zero` fit in a byte."""
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
    assert pairs.max() <= _LARGEST_PAIR  # noqa: S101 - an error of this module, not of its input
