"""Looking after one owner's memories, without opening what they say."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from memolith.adapters.sql.changes import WriterBase
from memolith.adapters.sql.values import pack_id_or_none

if TYPE_CHECKING:
    from collections.abc import Sequence

SET_STRENGTHS = (
    "WITH w (id, strength) AS MATERIALIZED (SELECT unhex(key), value FROM json_each(?1))"
    " UPDATE memories SET strength = w.strength FROM w"
    # By this list SQLite finds its way to the memories; by the comparison alone it would not.
    " WHERE owner_id = ?2 AND memories.id IN (SELECT id FROM w)"
    " AND memories.id = w.id AND memories.strength <> w.strength"
)


class StrengthWriter(WriterBase):
    """The ways to look after memories."""

    def set_strengths(self, ids: Sequence[str], strengths: Sequence[float]) -> None:
        """See the port."""
        packed = (
            (pack_id_or_none(id_), strength) for id_, strength in zip(ids, strengths, strict=True)
        )
        wanted = {id_.hex(): float(strength) for id_, strength in packed if id_}
        with self._guard_change():
            values = (msgspec.json.encode(wanted).decode(), self._owner)
            self._is_touched |= bool(self._connection.run(SET_STRENGTHS, values))
