"""What the tools answer: a text for the model, and the same as data.

All that was stored is made harmless in both, as it is in a prompt: it can't close what it stands
in, begin a line, or pass for an instruction.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool answers.

    Attributes:
        text: For the model.
        data: The same as data, by the tool's output schema; empty for an error.
        is_error: Whether the tool could not do what was asked; the text says why.
    """

    text: str
    data: Mapping[str, Any] = field(default_factory=dict)
    is_error: bool = False

    def __str__(self) -> str:
        """Return the text."""
        return self.text


class StoreOutput(Struct, kw_only=True):
    """What `memory_store` has stored.

    Attributes:
        withheld: Whether it waits for a review before it is recalled: it reads like an
            instruction to a model.
    """

    id: str
    key: str | None
    kind: str
    version: int
    quarantined: bool


class MemoryMatch(Struct, kw_only=True):
    """One memory, or one message of a conversation.

    Attributes:
        key: Its key, where it has one that can be shown as it is.
        at: When it happened, was said, or was stored.
        score: Comparable within one answer only.
    """

    id: str
    key: str | None
    kind: str
    text: str
    at: str
    score: float


class RecallOutput(Struct, kw_only=True):
    """What `memory_recall` has found, best first.

    Attributes:
        relevance: How likely it is that something in memory answers the query, 0..1; null where
            that is not known.
        nothing_relevant: Whether that is so unlikely that it is better to say that there is no
            answer.
    """

    memories: list[MemoryMatch]
    relevance: float | None = None
    likely_unanswerable: bool = False


class ForgetOutput(Struct, kw_only=True):
    """What `memory_forget` has touched: ids."""

    memories: list[str]
    messages: list[str]


class ContextOutput(Struct, kw_only=True):
    """What `memory_context` has put together; an empty text where there is nothing to say."""

    text: str
    tokens: int
    memories: list[str]


class HistoryVersion(Struct, kw_only=True):
    """One version of a memory, and when it held."""

    version: int
    kind: str
    text: str
    since: str
    until: str | None


class HistoryChange(Struct, kw_only=True):
    """One thing that was done to a memory, and by whom."""

    action: str
    at: str
    by: str
    version: int


class HistoryOutput(Struct, kw_only=True):
    """How a memory came to be what it is, oldest first."""

    id: str
    versions: list[HistoryVersion]
    changes: list[HistoryChange]
