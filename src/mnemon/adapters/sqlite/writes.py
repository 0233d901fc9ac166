"""All the ways to change one owner's records in a SQLite file."""

from __future__ import annotations

from mnemon.adapters.sqlite.memory_changes import MemoryChanges
from mnemon.adapters.sqlite.message_changes import MessageChanges


class Writer(MemoryChanges, MessageChanges):
    """The changing half of a transaction."""
