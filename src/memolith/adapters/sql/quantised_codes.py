"""Two-bit codes of vectors, for comparing many vectors before a few are compared exactly.

A vector is scaled to length 1, and the owner's centre is subtracted. Each component of the rest is
reduced to two bits: its sign, and whether it exceeds the vector's root mean square. They represent
the four values −1½, −½, ½ and 1½ times that. The product of two such codes is four counts of common
bits. With it,

    cos(u, q) = (u − c)·(q − c) + u·c + q·c − c·c

is known to about ±0.05, enough to select the few thousand vectors that contain the nearest. Without
the centre, models whose vectors all point in similar directions would have very similar codes. With
one bit per component, one in four vectors would have to be compared exactly (see
docs/decisions/0004-sqlite-store.md).
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

Counts = NDArray[np.uint16]
Estimates = NDArray[np.float32]
Planes = NDArray[np.uint64]

Scalar = TypeVar("Scalar", bound=np.generic)

_SLACK = 64


class AppendOnlyArray(Generic[Scalar]):
    """A buffer, and a view of its first rows.

    `append_rows` returns a longer array on the same buffer if that has space and nobody has written
    there yet, else on a new buffer. Existing views never change. Callers must prevent two threads
    from appending at once.
    """

    __slots__ = ("_buffer", "_used", "axis", "view")

    def __init__(
        self, buffer: NDArray[Scalar], length: int, used: list[int], axis: int = 0
    ) -> None:
        """Initialise with a buffer, the length of this array, and the shared length in use."""
        self._buffer = buffer
        self._used = used
        self.axis = axis
        self.view: NDArray[Scalar] = _slice_axis(buffer, 0, length, axis)

    @classmethod
    def empty(
        cls, dtype: DTypeLike, shape: tuple[int, ...] = (0,), axis: int = 0
    ) -> AppendOnlyArray[Scalar]:
        """Return an array without rows; `shape` gives the other axes."""
        return cls(np.empty(shape, dtype=dtype), 0, [0], axis)

    @property
    def nbytes(self) -> int:
        """Size of the whole buffer in bytes."""
        return self._buffer.nbytes

    def append_rows(self, rows: NDArray[Scalar], *, reserve: int = 0) -> AppendOnlyArray[Scalar]:
        """Return an array with these rows appended and space reserved for about `reserve` more."""
        old = self.view.shape[self.axis]
        new = old + rows.shape[self.axis]
        buffer, used = self._buffer, self._used
        if used[0] != old or new > buffer.shape[self.axis]:
            buffer = self._grow_buffer(new, reserve)
            used = [old]
        _slice_axis(buffer, old, new, self.axis)[...] = rows
        used[0] = new
        return AppendOnlyArray(buffer, new, used, self.axis)

    def set_rows(self, rows: NDArray[np.int64], values: NDArray[Scalar]) -> None:
        """Set rows that were just appended and are not shared yet."""
        self.view[rows] = values

    def with_rows_set(
        self, rows: NDArray[np.int64], values: NDArray[Scalar]
    ) -> AppendOnlyArray[Scalar]:
        """Return a copy with other values in these rows of the first axis."""
        buffer = self._buffer.copy()
        buffer[rows] = values
        length = self.view.shape[self.axis]
        return AppendOnlyArray(buffer, length, [length], self.axis)

    def _grow_buffer(self, length: int, reserve: int) -> NDArray[Scalar]:
        old = self.view.shape[self.axis]
        expected = length + reserve
        capacity = expected + (expected // 2 if old and not reserve else expected // 16) + _SLACK
        shape = list(self._buffer.shape)
        shape[self.axis] = capacity
        buffer = np.empty(shape, dtype=self._buffer.dtype)
        _slice_axis(buffer, 0, old, self.axis)[...] = self.view
        return buffer


def _slice_axis(buffer: NDArray[Scalar], first: int, end: int, axis: int) -> NDArray[Scalar]:
    return buffer[first:end] if axis == 0 else buffer[:, first:end]


# --- Codes


TRAINING_ROWS = 4_096
"""The centre is the mean of this many vectors: the first ones, which never change."""

_MAX_ZERO_SHARE = 0.25
"""Two bits can't represent zero, so codes discriminate poorly above this share of zeros."""

_WORD_BITS = 64
_ENCODE_BLOCK = 4_096
"""Rows encoded at once, to limit memory."""

_SCAN_BLOCK = 16_384
"""Rows scanned at once, so that buffers stay in the second-level cache."""

_CODE_OFFSET = 1.5
"""Subtracted from a code of 0 to 3 to centre it; see the module docstring."""


@dataclass(frozen=True, slots=True)
class QuantisedCodes:
    """Codes of the vectors of an index, row by row.

    Attributes:
        centre: Shape (dimension,).
        is_discriminative: Whether codes can distinguish these vectors; False if most components are
            0.
        high: Sign bits, packed; shape (words, n). A word of all vectors is contiguous, so that a
            scan reads memory in order.
        low: The finer bits, likewise.
        total: The sum of a vector's codes, each 0 to 3.
        rms: The vector's root mean square after subtracting the centre.
        centre_product: The vector's dot product with the centre.
    """

    centre: NDArray[np.float32]
    is_discriminative: bool
    high: AppendOnlyArray[np.uint64]
    low: AppendOnlyArray[np.uint64]
    total: AppendOnlyArray[np.float32]
    rms: AppendOnlyArray[np.float32]
    centre_product: AppendOnlyArray[np.float32]

    def __len__(self) -> int:
        return len(self.total.view)

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        columns = (getattr(self, field.name) for field in fields(self))
        return sum(column.nbytes for column in columns if isinstance(column, AppendOnlyArray))


def has_few_zeros(values: NDArray[np.int8]) -> bool:
    """Return whether codes of these vectors, or of this vector, are accurate enough."""
    return bool((values == 0).mean() <= _MAX_ZERO_SHARE)


def create_codes(first: NDArray[np.int8], norm: NDArray[np.float64]) -> QuantisedCodes:
    """Return codes without rows, for vectors that begin with these `TRAINING_ROWS`."""
    words = -(-first.shape[1] // _WORD_BITS)
    return QuantisedCodes(
        centre=_normalise(first, norm).mean(axis=0, dtype=np.float32),
        is_discriminative=has_few_zeros(first),
        high=AppendOnlyArray.empty("u8", (words, 0), axis=1),
        low=AppendOnlyArray.empty("u8", (words, 0), axis=1),
        total=AppendOnlyArray.empty("f4"),
        rms=AppendOnlyArray.empty("f4"),
        centre_product=AppendOnlyArray.empty("f4"),
    )


def extend_codes(
    codes: QuantisedCodes, values: NDArray[np.int8], norm: NDArray[np.float64]
) -> QuantisedCodes:
    """Return codes of all these vectors, which begin with those already encoded."""
    for start in range(len(codes), len(values), _ENCODE_BLOCK):
        block = slice(start, start + _ENCODE_BLOCK)
        columns = _encode(codes, values[block], norm[block])
        reserve = max(0, len(values) - block.stop)
        codes = replace(
            codes,
            **{
                name: getattr(codes, name).append_rows(rows, reserve=reserve)
                for name, rows in columns.items()
            },
        )
    return codes


def approximate_scores(
    codes: QuantisedCodes, query: NDArray[np.int8], norm: float, length: int
) -> tuple[Estimates, float]:
    """Return a score for each of the first rows that grows with the cosine, and the query's own.

    The query's own score is the score of its code, or the score for a cosine of 1 if that is lower.
    Vectors near the query have scores near it.
    """
    encoded = _encode(codes, query[None, :], np.array([norm]))
    high, low = encoded["high"][:, 0], encoded["low"][:, 0]
    total, rms, centre_product = (
        float(encoded[name][0]) for name in ("total", "rms", "centre_product")
    )
    offset = _CODE_OFFSET * _CODE_OFFSET * len(query) - _CODE_OFFSET * total
    # (2h + l)² = 4h + 4hl + l
    square = 4 * _count_ones(high) + 4 * _count_ones(high & low) + _count_ones(low)
    self_score = (square - _CODE_OFFSET * total + offset) * rms * rms + centre_product
    self_score = min(self_score, 1.0 - centre_product + float(codes.centre @ codes.centre))
    counts = _code_products(codes, high, low, length)
    estimate = codes.total.view[:length] * np.float32(-_CODE_OFFSET)
    estimate += counts
    estimate += np.float32(offset)
    estimate *= codes.rms.view[:length]
    estimate *= np.float32(rms)
    estimate += codes.centre_product.view[:length]
    return estimate, self_score


def _normalise(values: NDArray[np.int8], norm: NDArray[np.float64]) -> NDArray[np.float32]:
    lengths = np.where(norm > 0, norm, 1.0).astype(np.float32)
    unit: NDArray[np.float32] = values.astype(np.float32) / lengths[:, None]
    return unit


def _encode(
    codes: QuantisedCodes, values: NDArray[np.int8], norm: NDArray[np.float64]
) -> dict[str, NDArray[Any]]:
    """Return columns of `QuantisedCodes`; each row is independent of the others, bit for bit."""
    unit = _normalise(values, norm)
    residual = unit - codes.centre
    rms = np.sqrt(np.einsum("nd,nd->n", residual, residual) / np.float32(residual.shape[1]))
    high = residual > 0
    low = residual > np.where(high, rms[:, None], -rms[:, None])
    return {
        "high": _pack_bits(high),
        "low": _pack_bits(low),
        "total": (2 * high.sum(axis=1) + low.sum(axis=1)).astype(np.float32),
        "rms": rms,
        "centre_product": np.einsum("nd,d->n", unit, codes.centre),
    }


def _pack_bits(bits: NDArray[np.bool_]) -> Planes:
    """Pack bits of shape (n, dimension) into words of shape (words, n)."""
    width = -(-bits.shape[1] // _WORD_BITS) * _WORD_BITS
    padded = np.zeros((len(bits), width), dtype=np.bool_)
    padded[:, : bits.shape[1]] = bits
    return np.ascontiguousarray(np.packbits(padded, axis=1).view(np.uint64).T)


def _count_ones(words: NDArray[np.uint64]) -> int:
    return int(np.bitwise_count(words).sum())


def _code_products(
    codes: QuantisedCodes, high: NDArray[np.uint64], low: NDArray[np.uint64], length: int
) -> Counts:
    """Return the products of codes of 0 to 3 with a query's."""
    products = np.zeros(length, dtype=np.uint16)
    common = np.empty(min(_SCAN_BLOCK, length), dtype=np.uint64)
    count = np.empty(len(common), dtype=np.uint8)
    # (2h + l)(2h' + l') = 2(2hh' + hl' + lh') + ll': double the result for each line
    pairs = (((codes.high, high),), ((codes.high, low), (codes.low, high)), ((codes.low, low),))
    for start in range(0, length, _SCAN_BLOCK):
        block = products[start : start + _SCAN_BLOCK]
        stop = start + len(block)
        for line in pairs:
            block *= 2
            for plane, query_plane in line:
                for word, target in zip(plane.view, query_plane, strict=True):
                    np.bitwise_and(word[start:stop], target, out=common[: len(block)])
                    np.bitwise_count(common[: len(block)], out=count[: len(block)])
                    block += count[: len(block)]
    return products
