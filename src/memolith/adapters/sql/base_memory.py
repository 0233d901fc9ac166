"""The base memory of one owner in tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memolith.adapters.sql.changes import WriterBase
from memolith.adapters.sql.rows import encrypt_base_memory, pack_sources
from memolith.adapters.sql.values import micros
from memolith.errors import NotFound

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from memolith.domain.memories import Source


class BaseMemoryWriter(WriterBase):
    """The ways to change it."""

    def set_base_memory(self, content: str, *, sources: Sequence[Source], at: datetime) -> None:
        """See the port."""
        with self._guard_change():
            last, began = self._connection.row(
                "SELECT coalesce(max(version), 0), max(valid_from)"
                " FROM base_memories WHERE owner_id = ?",
                (self._owner,),
            ) or (0, None)
            version = last + 1
            since = micros(at) if began is None else max(micros(at), began)
            self._connection.run(
                "UPDATE base_memories SET valid_to = ? WHERE owner_id = ? AND valid_to IS NULL",
                (since, self._owner),
            )
            self._connection.run(
                "INSERT INTO base_memories (owner_id, version, content, sources, valid_from)"
                " VALUES (?, ?, ?, ?, ?)",
                (
                    self._owner,
                    version,
                    encrypt_base_memory(self._encryption, content, version),
                    pack_sources(self._encryption, sources),
                    since,
                ),
            )
            self._is_changed = True

    def rewrite_base_memory(self, contents: Mapping[int, str]) -> None:
        """See the port."""
        with self._guard_change():
            for version, content in contents.items():
                changed = self._connection.run(
                    "UPDATE base_memories SET content = ? WHERE owner_id = ? AND version = ?",
                    (
                        encrypt_base_memory(self._encryption, content, version),
                        self._owner,
                        version,
                    ),
                )
                if not changed:
                    raise NotFound("version of the base memory", str(version))
                self._is_changed = True
