"""The base memory in a store: what a snapshot and a transaction can do with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from memolith.domain.base_memory import BaseMemory
    from memolith.domain.memories import Source


class BaseMemoryReader(Protocol):
    """The part of a `Snapshot` that reads the base memory."""

    def base_memory(self, *, as_of: datetime | None = None) -> BaseMemory | None:
        """Return the base memory; None where there is none.

        With `as_of`, in the version that was valid then.
        """
        ...

    def base_memories(self) -> list[BaseMemory]:
        """Return all its versions, oldest first."""
        ...


class BaseMemoryWriter(Protocol):
    """The part of a `Transaction` that changes the base memory.

    What is purged is no longer among the sources of any version.
    """

    def set_base_memory(self, content: str, *, sources: Sequence[Source], at: datetime) -> None:
        """Close the open version, if any, and open the next.

        Valid from `at`, but never from before the last version's beginning. The old ones stay.

        Raises:
            InvalidInput: A source's id is not a UUID.
        """
        ...

    def rewrite_base_memory(self, contents: Mapping[int, str]) -> None:
        """Replace for good what versions say, by their numbers; times and sources stay.

        Raises:
            NotFound: There is no such version.
        """
        ...
