"""An owner's own row."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class OwnerRow:
    """What a snapshot sees of the owner itself; number 0 for one never written to.

    Its last two columns are the store's: which vectors are in use, and who asks writers to wait.
    """

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
    embedding_generation: int = 0
    write_pause: str | None = None


OWNER_COLUMNS = (
    "owner_id, counter, revision, generation, next_item, next_session, next_speaker, next_event,"
    " profile, key_version,"
    " coalesce(CAST((SELECT value FROM meta WHERE name = 'space') AS BIGINT), 0),"
    " (SELECT value FROM meta WHERE name = 'hold')"
)
"""The columns of an `OwnerRow`; what it says of the store is of the same state as the row."""
