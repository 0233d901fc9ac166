"""Reading the base memory of one owner."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memolith.adapters.sql.message_reads import MessageReader
from memolith.adapters.sql.rows import decode_base_memory
from memolith.adapters.sql.values import micros

if TYPE_CHECKING:
    from datetime import datetime

    from memolith.domain.base_memory import BaseMemory

_BASE_MEMORY_VERSIONS = (
    "SELECT version, content, sources, valid_from, valid_to FROM base_memories WHERE owner_id = ?1"
)


class BaseMemoryReader(MessageReader):
    """The part of a snapshot that reads it."""

    def base_memory(self, *, as_of: datetime | None = None) -> BaseMemory | None:
        """See the port."""
        if as_of is None:
            row = self._connection.row(
                f"{_BASE_MEMORY_VERSIONS} AND valid_to IS NULL", (self._owner,)
            )
        else:
            row = self._connection.row(
                f"{_BASE_MEMORY_VERSIONS} AND valid_from <= ?2 AND (valid_to IS NULL OR ?2 < valid_to)"
                " ORDER BY version DESC LIMIT 1",
                (self._owner, micros(as_of)),
            )
        return decode_base_memory(self._encryption, row) if row else None

    def base_memories(self) -> list[BaseMemory]:
        """See the port."""
        rows = self._connection.rows(f"{_BASE_MEMORY_VERSIONS} ORDER BY version", (self._owner,))
        return [decode_base_memory(self._encryption, row) for row in rows]
