"""All the ways to change one owner's records in tables."""

from __future__ import annotations

from mnemon.adapters.sql.base_memory import BaseMemoryChanges
from mnemon.adapters.sql.memory_changes import MemoryChanges
from mnemon.adapters.sql.purging import Purging
from mnemon.adapters.sql.upkeep import Upkeep
from mnemon.adapters.sql.work_changes import WorkChanges


class Writer(MemoryChanges, BaseMemoryChanges, Purging, Upkeep, WorkChanges):
    """The changing half of a transaction."""
