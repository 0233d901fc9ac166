"""Storing one memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mnemon.domain.memories import Memory, Origin
from mnemon.policies import arguments
from mnemon.services.drafts import (
    Draft,
    checked_kind,
    checked_origin,
    end_of,
    judged,
    trusted_kind,
)
from mnemon.services.screening import screened_name, screened_tags
from mnemon.services.settling import Order

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from mnemon.services.access import Access
    from mnemon.services.settling import Settling


class Remembering:
    """Stores single memories."""

    def __init__(self, access: Access, settling: Settling) -> None:
        """Use these."""
        self._access = access
        self._settling = settling

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
        """Store one memory and return it, or the one that said the same already.

        Raises:
            Disabled: Memory is switched off.
            InvalidInput: An argument can't be taken.
        """
        self._access.check_enabled()
        now = self._access.clock.now()
        profile = self._access.profile(owner_id)
        draft = Draft(
            content=content,
            kind="" if kind is None else trusted_kind(checked_kind(kind, profile), origin),
            judged=0.0,
            importance=None if importance is None else arguments.share(importance, "importance"),
            key=None if key is None else screened_name(key, "key"),
            tags=screened_tags(tags),
            expires_at=end_of(expires_in, expires_at, now),
            happened_at=None
            if happened_at is None
            else arguments.instant(happened_at, "happened_at"),
            session_id=None if session_id is None else screened_name(session_id, "session"),
            origin=checked_origin(origin),
        )
        order = Order(owner_id, profile, (judged(draft, profile),), now, by=draft.origin)
        return self._settling.settle(order)[0]
