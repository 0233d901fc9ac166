"""What is asked of Chroma, in this process or as a server.

One collection an owner. A passage's id in it is its item and part, which says nothing of anybody.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Facts = Mapping[str, str | int | float | bool]

SERVICE = "Chroma"
"""As what a failure is told."""

STAMP = "stamp"
"""Under which name a collection is marked."""

CONFIGURATION = {"hnsw": {"space": "cosine", "ef_search": 200, "max_neighbors": 32}}
"""Of a new collection. Twice as many neighbours and candidates as is usual: what is found is looked
through exactly, so that more is better than sooner (see docs/decisions/0034-vector-backends.md)."""


class CollectionNotFound(Exception):
    """There is no collection of that name."""


class Points(NamedTuple):
    """Vectors of a collection.

    Attributes:
        ids: A passage's each.
        vectors: Shape (n, d).
        facts: What is known of each besides.
    """

    ids: Sequence[str]
    vectors: Floats
    facts: Sequence[Facts]


class NearestPoints(NamedTuple):
    """What is near: ids, and cosine distances, ascending."""

    ids: Sequence[str]
    distances: Sequence[float]


class Chroma(Protocol):
    """Collections of vectors. Thread-safe.

    All methods raise `ServiceFailed` where it can't be reached, takes too long, or answers what
    can't be read; those that are about what a collection holds, `NoCollection`.
    """

    def stamp(self, name: str) -> str | None:
        """Return what a collection is marked with, "" for no mark; None: there is none."""
        ...

    def make(self, name: str, facts: Facts) -> None:
        """Make a collection; one that is there already stays as it is."""
        ...

    def mark(self, name: str, facts: Facts) -> None:
        """Put facts in the place of a collection's."""
        ...

    def put(self, name: str, points: Points) -> None:
        """Add vectors, or put them in the place of those that have these ids."""
        ...

    def remove(self, name: str, ids: Sequence[str]) -> None:
        """Remove vectors; what is not there is no error."""
        ...

    def drop(self, name: str) -> None:
        """Remove a collection, if there is one."""
        ...

    def nearest(self, name: str, query: Floats, most: int) -> NearestPoints:
        """Return so many of the nearest vectors, or nearly the nearest."""
        ...

    def count(self, name: str) -> int:
        """Return how many vectors a collection holds."""
        ...

    def page(self, name: str, start: int, most: int) -> Points:
        """Return vectors from one on, in an order that does not change."""
        ...

    def names(self, prefix: str) -> list[str]:
        """Return the names of collections that begin so."""
        ...

    def close(self) -> None:
        """Let go of what is held open."""
        ...
