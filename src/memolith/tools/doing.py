"""What each tool does with an owner's memory."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, TypeVar

from memolith.domain.memories import Origin
from memolith.errors import NotFound
from memolith.text.secrets import REDACTED
from memolith.tools import answered, telling
from memolith.tools.categories import get_search_target, get_storage_target
from memolith.tools.times import parse_instant

if TYPE_CHECKING:
    from collections.abc import Callable

    from memolith.owner import OwnerMemory
    from memolith.tools import asked

T = TypeVar("T")

NO_RESULTS = "Nothing is remembered about that."
LIKELY_UNANSWERABLE_NOTE = (
    "It may be that nothing of this answers the query: it is what came nearest."
)

_QUARANTINE_NOTE = (
    " It reads like an instruction to a model: it is not recalled until somebody reviews it."
)
_REDACTION_NOTE = " A secret in it was not kept."


def store(memory: OwnerMemory, arguments: asked.StoreMemory) -> tuple[str, answered.StoreOutput]:
    """Store a memory under a key, as what the assistant says."""
    place = get_storage_target(memory, arguments.category)
    kept = memory.remember(
        arguments.content,
        key=arguments.key,
        kind=place.kind,
        tags=place.tags,
        importance=arguments.importance,
        origin=Origin.ASSISTANT,
    )
    withheld = telling.is_quarantined(kept)
    key = telling.get_displayable_key(kept)
    lost = REDACTED in kept.content and REDACTED not in arguments.content
    text = (
        f"Stored as version {kept.version} of {key or kept.id} ({kept.kind})."
        f"{_QUARANTINE_NOTE if withheld else ''}{_REDACTION_NOTE if lost else ''}"
    )
    return text, answered.StoreOutput(
        id=kept.id, key=key, kind=kept.kind, version=kept.version, quarantined=withheld
    )


def recall(
    memory: OwnerMemory, arguments: asked.RecallMemories
) -> tuple[str, answered.RecallOutput]:
    """Find what is relevant."""
    places = (
        get_search_target(memory, arguments.category) if arguments.category is not None else None
    )
    result = memory.recall(
        arguments.query,
        top_k=arguments.limit,
        kinds=places.kinds if places else None,
        tags=places.tags or None if places else None,
        since=parse_instant(arguments.since, "since"),
        until=parse_instant(arguments.until, "until"),
    )
    memories = [telling.build_match(each) for each in result.memories]
    text = (
        telling.frame_lines([telling.format_match(each) for each in memories])
        if memories
        else NO_RESULTS
    )
    if memories and result.likely_unanswerable:
        text = f"{LIKELY_UNANSWERABLE_NOTE}\n{text}"
    return text, answered.RecallOutput(
        memories=memories,
        relevance=result.relevance,
        likely_unanswerable=result.likely_unanswerable,
    )


def forget(memory: OwnerMemory, arguments: asked.ForgetMemory) -> tuple[str, answered.ForgetOutput]:
    """Take a memory out of every door."""
    gone = _find_by_key_or_id(arguments.key, lambda key: memory.forget(key=key), memory.forget)
    text = f"Forgotten. Memories: {len(gone.memories)}; messages changed: {len(gone.messages)}."
    return text, answered.ForgetOutput(memories=list(gone.memories), messages=list(gone.messages))


def context(
    memory: OwnerMemory, arguments: asked.MemoryContext
) -> tuple[str, answered.ContextOutput]:
    """Put together what is known that matters to a question."""
    made = memory.context_with_results(arguments.query, token_budget=arguments.token_budget)
    data = answered.ContextOutput(
        text=made.text, tokens=made.tokens, memories=[each.id for each in made.results]
    )
    return made.text or NO_RESULTS, data


def history(
    memory: OwnerMemory, arguments: asked.MemoryHistory
) -> tuple[str, answered.HistoryOutput]:
    """Tell how a memory came to be what it is."""
    known = _find_by_key_or_id(arguments.key, lambda key: memory.history(key=key), memory.history)
    past = telling.build_history(known)
    return telling.frame_lines(telling.format_history(past)), past


def _find_by_key_or_id(name: str, by_key: Callable[[str], T], by_id: Callable[[str], T]) -> T:
    """Return what is of that key, or else of that id.

    Raises:
        NotFound: There is nothing of either.
    """
    try:
        return by_key(name)
    except NotFound:
        if not _is_id(name):
            raise
    return by_id(name)


def _is_id(name: str) -> bool:
    try:
        uuid.UUID(name)
    except ValueError:
        return False
    return True
