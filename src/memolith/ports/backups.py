"""Copying a store while it is in use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    ProgressCallback = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class RestoreResult:
    """What a backup has brought back.

    Attributes:
        store: The store that it is now: a file or, in words, a place in a database.
        kept: Where the store that was there is now; None: there was none.
        owners: How many owners it holds.
        erased: How many owners of the backup were erased since and so are not in it.
        remembers_erased: Whether it is known who was erased: False where the store that was
            there is too damaged to tell.
    """

    store: Path | str
    previous_store: Path | str | None
    owners: int
    erased_owners: int
    erasures_known: bool = True


@runtime_checkable
class SupportsBackup(Protocol):
    """A store that can be copied to a file."""

    def back_up(
        self, target: Path, *, overwrite: bool = False, advance: ProgressCallback | None = None
    ) -> int:
        """Write a copy as of one instant, while others read and write; it holds no key.

        The file is there whole and durably, or not at all; only its owner may read it.

        Args:
            target: The file to write.
            overwrite: Whether it may take the place of another.
            advance: Called with a number of pages or rows as they are copied.

        Returns:
            Its size in bytes.

        Raises:
            Conflict: There is a file already, or it is the store itself.
            StoreUnavailable: The store can't be read, or the file not be written.
        """
        ...
