"""The base memory: one living document of an owner, in versions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from memolith.domain.memories import Source


@dataclass(frozen=True, slots=True)
class BaseMemory:
    """What is known of an owner in one text, at one version.

    Attributes:
        content: The text.
        version: From 1.
        valid_from: From when it stood so.
        valid_to: Until when; None: it does.
        sources: What it was made from: summaries and facts, or messages.
    """

    content: str
    version: int
    valid_from: datetime
    valid_to: datetime | None = None
    sources: tuple[Source, ...] = ()
