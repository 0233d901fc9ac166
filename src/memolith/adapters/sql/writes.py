"""All the ways to change one owner's records in tables."""

from __future__ import annotations

from memolith.adapters.sql.base_memory import BaseMemoryChanges
from memolith.adapters.sql.memory_changes import MemoryChanges
from memolith.adapters.sql.purging import Purging
from memolith.adapters.sql.upkeep import Upkeep
from memolith.adapters.sql.work_changes import WorkChanges


class Writer(MemoryChanges, BaseMemoryChanges, Purging, Upkeep, WorkChanges):
    """The changing half of a transaction."""
