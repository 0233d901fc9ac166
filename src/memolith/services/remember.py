"""Stores single memories."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from memolith.domain.memories import Memory, Origin
from memolith.services.access import Access
from memolith.services.planning import WriteRequest
from memolith.services.validation import build_new_memory
from memolith.services.write import WritePipeline


class MemoryWriter:
    """Stores single memories."""

    def __init__(self, access: Access, write_pipeline: WritePipeline) -> None:
        """Configure the writer."""
        self._access = access
        self._write_pipeline = write_pipeline

    def remember(
        self,
        owner_id: str,
        content: str,
        *,
        kind: str | None = None,
        importance: float | None = None,
        key: str | None = None,
        tags: Iterable[str] = (),
        expires_in: str = "",
        expires_at: datetime | None = None,
        happened_at: datetime | None = None,
        session_id: str | None = None,
        origin: str = Origin.USER,
    ) -> Memory:
        """Store a memory and return it, or the existing memory that it restates.

        Raises:
            Disabled: Memory is switched off.
            InvalidInput: An argument is not valid.
            Conflict: A more trusted memory has the key; see `policies.trust`.
        """
        self._access.check_enabled()
        now = self._access.clock.now()
        profile = self._access.get_profile(owner_id)
        new_memory = build_new_memory(
            content,
            profile,
            now,
            kind=kind,
            importance=importance,
            key=key,
            tags=tags,
            expires_in=expires_in,
            expires_at=expires_at,
            happened_at=happened_at,
            session_id=session_id,
            origin=origin,
        )
        request = WriteRequest(owner_id, profile, (new_memory,), now, actor=new_memory.origin)
        return self._write_pipeline.write_memories(request)[0]
