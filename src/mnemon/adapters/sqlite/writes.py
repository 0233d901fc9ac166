"""All the ways to change one owner's records in a SQLite file."""

from __future__ import annotations

from mnemon.adapters.sqlite.base_memory import BaseMemoryChanges
from mnemon.adapters.sqlite.memory_changes import MemoryChanges
from mnemon.adapters.sqlite.purging import Purging
from mnemon.adapters.sqlite.upkeep import Upkeep
from mnemon.adapters.sqlite.work_changes import WorkChanges


class Writer(MemoryChanges, BaseMemoryChanges, Purging, Upkeep, WorkChanges):
    """The changing half of a transaction."""
