"""Arguments and results of the memory tools; their JSON schemas derive from these structs.

Names and meaning of the first three tools are those that agents know from keyed memories. Language
models read the descriptions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from msgspec import Meta, Struct

_CATEGORY_DESCRIPTION = (
    "What kind of thing it is. Known to every memory: knowledge (facts, preferences, insights) and"
    " timeline (what happened in conversations); and the kinds of this owner's memory, such as"
    " preference. Any other word works as a label."
)
_TIME_DESCRIPTION = (
    "Unix time in seconds, or ISO 8601 such as 2026-03-01 or 2026-03-01T12:00:00Z"
    " (UTC where no zone is given)."
)

NonEmptyName = Annotated[str, Meta(min_length=1, max_length=256)]
TimeInput = int | float | str


class StoreMemory(Struct, forbid_unknown_fields=True, kw_only=True):
    """Arguments of `memory_store`."""

    key: Annotated[
        NonEmptyName,
        Meta(
            description="What it is about, as a short name in snake_case, such as user_language."
            " Storing under a key that is taken rewrites that memory."
        ),
    ]
    content: Annotated[
        str,
        Meta(
            description="What to remember, in full sentences that make sense by themselves:"
            " 1 to 8,000 characters."
        ),
    ]
    category: Annotated[NonEmptyName, Meta(description=_CATEGORY_DESCRIPTION)]
    importance: Annotated[
        Annotated[float, Meta(ge=0, le=1)] | None,
        Meta(description="How much it matters, 0 to 1; if not given, it is judged by the text."),
    ] = None


class RecallMemories(Struct, forbid_unknown_fields=True, kw_only=True):
    """Arguments of `memory_recall`."""

    query: Annotated[
        str, Meta(description="What to look for: a question or words, in any language.")
    ]
    category: Annotated[
        NonEmptyName | None,
        Meta(description=f"Only memories of this category. {_CATEGORY_DESCRIPTION}"),
    ] = None
    since: Annotated[
        TimeInput | None,
        Meta(description=f"Only what happened or was said at or after this. {_TIME_DESCRIPTION}"),
    ] = None
    until: Annotated[
        TimeInput | None,
        Meta(description=f"Only what happened or was said before this. {_TIME_DESCRIPTION}"),
    ] = None
    limit: Annotated[
        Annotated[int, Meta(ge=1)] | None,
        Meta(description="How many memories to return, at most 100; if not given, about 5."),
    ] = None


class ForgetMemory(Struct, forbid_unknown_fields=True, kw_only=True):
    """Arguments of `memory_forget`."""

    key: Annotated[NonEmptyName, Meta(description="The key of the memory, or its id.")]


class MemoryContext(Struct, forbid_unknown_fields=True, kw_only=True):
    """Arguments of `memory_context`."""

    query: Annotated[str, Meta(description="What the user said or asked.")]
    token_budget: Annotated[
        Annotated[int, Meta(ge=0)],
        Meta(description="How many tokens the text may take."),
    ] = 2000


class MemoryHistory(Struct, forbid_unknown_fields=True, kw_only=True):
    """Arguments of `memory_history`."""

    key: Annotated[NonEmptyName, Meta(description="The key of the memory, or its id.")]


# --- Results


@dataclass(frozen=True, slots=True)
class ToolResult:
    """A tool's result.

    Attributes:
        text: Text for the model.
        data: The same as data, by the tool's output schema; empty for an error.
        is_error: Whether the call failed; the text contains the reason.
    """

    text: str
    data: Mapping[str, Any] = field(default_factory=dict)
    is_error: bool = False

    def __str__(self) -> str:
        """Return the text."""
        return self.text


class StoreOutput(Struct, kw_only=True):
    """Result of `memory_store`.

    Attributes:
        quarantined: Whether the memory is quarantined because it resembles a prompt injection.
    """

    id: str
    key: str | None
    kind: str
    version: int
    quarantined: bool


class MemoryMatch(Struct, kw_only=True):
    """A recalled memory or message.

    Attributes:
        key: The key, if it can be shown unchanged.
        at: When it happened, was said, or was stored.
        score: Comparable within one result only.
    """

    id: str
    key: str | None
    kind: str
    text: str
    at: str
    score: float


class RecallOutput(Struct, kw_only=True):
    """Result of `memory_recall`, best first.

    Attributes:
        relevance: Probability that a result answers the query, 0 to 1; null if unknown.
        likely_unanswerable: Whether the results probably do not answer the query.
    """

    memories: list[MemoryMatch]
    relevance: float | None = None
    likely_unanswerable: bool = False


class ForgetOutput(Struct, kw_only=True):
    """Result of `memory_forget`: ids."""

    memories: list[str]
    messages: list[str]


class ContextOutput(Struct, kw_only=True):
    """Result of `memory_context`; the text is empty if nothing is relevant."""

    text: str
    tokens: int
    memories: list[str]


class HistoryVersion(Struct, kw_only=True):
    """A version of a memory and its validity."""

    version: int
    kind: str
    text: str
    since: str
    until: str | None


class HistoryChange(Struct, kw_only=True):
    """A change of a memory and its author."""

    action: str
    at: str
    by: str
    version: int


class HistoryOutput(Struct, kw_only=True):
    """Result of `memory_history`, oldest first."""

    id: str
    versions: list[HistoryVersion]
    changes: list[HistoryChange]
