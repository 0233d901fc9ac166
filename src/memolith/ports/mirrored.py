"""What a store can say whose vectors are searched by something that may be behind."""

from __future__ import annotations

from typing import Protocol, runtime_checkable


@runtime_checkable
class SupportsExternalVectors(Protocol):
    """A store whose vectors are kept somewhere else too, to be searched there."""

    def vectors_pending(self, owner_id: str) -> int:
        """Return how many vectors of an owner are not there as they are in the store.

        Recall finds them all the same.
        """
        ...
