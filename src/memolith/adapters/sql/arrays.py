"""Arrays that grow at their end while older, shorter views of them stand still."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

Scalar = TypeVar("Scalar", bound=np.generic)

_SLACK = 64


class AppendOnlyArray(Generic[Scalar]):
    """A buffer and the view of its beginning that holds rows.

    `extended` gives a longer one on the same buffer where that has room and nobody has written
    there yet, else on a new buffer. Views already given out never change. Callers see to it
    that two threads do not extend at once.
    """

    __slots__ = ("_buffer", "_used", "axis", "view")

    def __init__(
        self, buffer: NDArray[Scalar], length: int, used: list[int], axis: int = 0
    ) -> None:
        """Take a buffer, how much of it this one holds, and how much of it anyone does."""
        self._buffer = buffer
        self._used = used
        self.axis = axis
        self.view: NDArray[Scalar] = _slice_axis(buffer, 0, length, axis)

    @classmethod
    def empty(
        cls, dtype: DTypeLike, shape: tuple[int, ...] = (0,), axis: int = 0
    ) -> AppendOnlyArray[Scalar]:
        """Return one without rows; `shape` gives the other axes."""
        return cls(np.empty(shape, dtype=dtype), 0, [0], axis)

    @property
    def nbytes(self) -> int:
        """The size of the whole buffer."""
        return self._buffer.nbytes

    def append_rows(self, rows: NDArray[Scalar], *, reserve: int = 0) -> AppendOnlyArray[Scalar]:
        """Return one that holds these rows too, with room for about so many that are to come."""
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
        """Set rows that were appended just now, and that nobody has been given yet."""
        self.view[rows] = values

    def with_rows_set(
        self, rows: NDArray[np.int64], values: NDArray[Scalar]
    ) -> AppendOnlyArray[Scalar]:
        """Return a copy with other values in these rows; of the first axis only."""
        buffer = self._buffer.copy()
        buffer[rows] = values
        length = self.view.shape[self.axis]
        return AppendOnlyArray(buffer, length, [length], self.axis)

    def _grow_buffer(self, length: int, reserve: int) -> NDArray[Scalar]:
        old = self.view.shape[self.axis]
        known = length + reserve
        room = known + (known // 2 if old and not reserve else known // 16) + _SLACK
        shape = list(self._buffer.shape)
        shape[self.axis] = room
        buffer = np.empty(shape, dtype=self._buffer.dtype)
        _slice_axis(buffer, 0, old, self.axis)[...] = self.view
        return buffer


def _slice_axis(buffer: NDArray[Scalar], first: int, end: int, axis: int) -> NDArray[Scalar]:
    return buffer[first:end] if axis == 0 else buffer[:, first:end]
