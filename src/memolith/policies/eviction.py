"""Which memories go where there are too many (the profile `facts`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def select_weakest(
    strength: NDArray[np.float64],
    importance: NDArray[np.float64],
    created_at: NDArray[np.int64],
    count: int,
) -> NDArray[np.int64]:
    """Return the rows that go first: least strength, then least importance, then oldest."""
    rows: NDArray[np.int64] = np.lexsort((created_at, importance, strength))[:count]
    return rows
