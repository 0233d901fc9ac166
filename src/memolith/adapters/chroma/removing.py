"""Removing all that Chroma has of a store."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from memolith.adapters.chroma import ledger
from memolith.adapters.sqlite.reading import open_read_only

if TYPE_CHECKING:
    from pathlib import Path

    from memolith.adapters.chroma.collections import Chroma


def remove_collections(path: Path, busy_timeout_s: float, chroma: Chroma) -> None:
    """Remove the collections of the store in a file, which stays as it is.

    Raises:
        ServiceFailed: Chroma can't be reached.
        StoreDamaged: The file is not a store of Memolith.
    """
    with closing(open_read_only(path, busy_timeout_s)) as connection:
        store = ledger.read_store_id(connection)
    if store is not None:
        for name in chroma.names(ledger.collection_prefix(store)):
            chroma.drop(name)
