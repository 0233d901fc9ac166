"""Deleting a store's files."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from memolith.adapters.sqlite.connections import Connection
from memolith.adapters.sqlite.opening import read_cipher_info
from memolith.errors import StoreReadOnly

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_COMPANION_SUFFIXES = ("-wal", "-shm", "-journal", "-vectors", ".before-")
"""What follows the store's name in the names of files that belong to it."""


def delete_store(
    path: Path, busy_timeout_s: float, delete_keys: Callable[[bytes], None]
) -> list[Path]:
    """Delete a store, its log, and the copies made before migrations; return what was there.

    Args:
        path: The store's file; need not be there.
        busy_timeout_s: For how long to wait for another writer.
        forget: Removes the keys of the store of this id; called before anything is deleted.

    Raises:
        StoreDamaged: It is not a store of Memolith.
        StoreUnavailable: It is being written to, or can't be opened.
        StoreReadOnly: It can't be deleted.
    """
    seal = read_cipher_info(path, busy_timeout_s)
    if seal is not None:
        if not os.access(path.parent, os.W_OK):  # before the keys are gone
            raise StoreReadOnly(str(path), f"its folder {path.parent} is not writable")
        _refuse_if_written(path, busy_timeout_s)
        if seal[1]:
            delete_keys(seal[1])
    if not path.parent.is_dir():
        return []
    names = tuple(f"{path.name}{ending}" for ending in _COMPANION_SUFFIXES)
    gone = sorted(
        each
        for each in path.parent.iterdir()
        if each.is_file() and (each == path or each.name.startswith(names))
    )
    for each in gone:
        each.unlink()
    return gone


def _refuse_if_written(path: Path, busy_timeout_s: float) -> None:
    connection = Connection(path, busy_timeout_s)
    try:
        connection.begin_writing(busy_timeout_s)
        connection.roll_back()
    finally:
        connection.close()
