"""An owner's own row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mnemon.adapters.sql.connection import Connection


@dataclass(frozen=True, slots=True)
class OwnerRow:
    """What a snapshot sees of the owner itself; number 0 for one never written to."""

    number: int = 0
    counter: int = 0
    revision: int = 0
    generation: int = 0
    next_item: int = 1
    next_session: int = 1
    next_speaker: int = 1
    next_event: int = 1
    profile: str | None = None
    key_version: int = 0


OWNER_COLUMNS = (
    "owner_id, counter, revision, generation, next_item, next_session, next_speaker, next_event,"
    " profile, key_version"
)
"""The columns of an `OwnerRow`."""


def stored_dimension(connection: Connection) -> int | None:
    """Return the length of the store's vectors; None before a model was adopted."""
    row = connection.row("SELECT value FROM meta WHERE name = 'dimension'")
    return int(row[0]) if row else None
