"""What the tools are asked: one value each, which is its schema too.

Names and meaning of the first three are what agents of a keyed memory know; the descriptions are
read by language models.
"""

from __future__ import annotations

from typing import Annotated

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
