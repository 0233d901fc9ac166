"""The base memory of one owner."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC
from typing import TYPE_CHECKING

from memolith.adapters.inmemory.writes import RecordWriter
from memolith.adapters.sql.values import pack_id
from memolith.domain.base_memory import BaseMemory
from memolith.errors import NotFound

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from memolith.domain.memories import Source


class BaseMemoryWriter(RecordWriter):
    """The ways to change it."""

    def set_base_memory(self, content: str, *, sources: Sequence[Source], at: datetime) -> None:
        """See the port."""
        with self._change():
            for source in sources:
                pack_id(source.id, "sources")
            versions = self._state.base_memories
            since = max([at.astimezone(UTC), *(one.valid_from for one in versions[-1:])])
            closed = [replace(one, valid_to=since) for one in versions[-1:]]
            new = BaseMemory(content, len(versions) + 1, since, sources=tuple(sources))
            self._state.base_memories = (*versions[:-1], *closed, new)

    def rewrite_base_memory(self, contents: Mapping[int, str]) -> None:
        """See the port."""
        with self._change(changes=bool(contents)):
            versions = {one.version: one for one in self._state.base_memories}
            for number, content in contents.items():
                if number not in versions:
                    raise NotFound("version of the base memory", str(number))
                versions[number] = replace(versions[number], content=content)
            self._state.base_memories = tuple(versions.values())
