"""All the ways to change one owner's records in tables."""

from __future__ import annotations

from memolith.adapters.sql.base_memory import BaseMemoryWriter
from memolith.adapters.sql.memory_changes import MemoryWriter
from memolith.adapters.sql.purging import PurgeWriter
from memolith.adapters.sql.upkeep import StrengthWriter
from memolith.adapters.sql.work_changes import WorkWriter


class RecordWriter(MemoryWriter, BaseMemoryWriter, PurgeWriter, StrengthWriter, WorkWriter):
    """The changing half of a transaction."""
