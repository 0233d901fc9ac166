"""Looking after one owner's memories."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from memolith.adapters.inmemory.writes import RecordWriter

if TYPE_CHECKING:
    from collections.abc import Sequence


class StrengthWriter(RecordWriter):
    """The ways to look after memories."""

    def set_strengths(self, ids: Sequence[str], strengths: Sequence[float]) -> None:
        """See the port."""
        memories = self._state.memories
        for id_, strength in zip(ids, strengths, strict=True):
            for last in memories.get(id_, ())[-1:]:
                kept = replace(last.memory, strength=float(strength))
                memories[id_] = (*memories[id_][:-1], replace(last, memory=kept))
                self._is_touched = True
