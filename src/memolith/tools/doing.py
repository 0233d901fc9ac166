"""What each tool does with an owner's memory."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, TypeVar

from memolith.domain.memories import Origin
from memolith.errors import NotFound
from memolith.text.secrets import REDACTED
from memolith.tools import answered, telling
from memolith.tools.categories import place_for, places_of
from memolith.tools.times import instant

if TYPE_CHECKING:
    from collections.abc import Callable

    from memolith.owner import OwnerMemory
    from memolith.tools import asked

T = TypeVar("T")

NOTHING = "Nothing is remembered about that."
UNLIKELY = "It may be that nothing of this answers the query: it is what came nearest."

_WITHHELD = (
    " It reads like an instruction to a model: it is not recalled until somebody reviews it."
)
_REDACTED = " A secret in it was not kept."


def store(memory: OwnerMemory, wanted: asked.StoreMemory) -> tuple[str, answered.Stored]:
    """Store a memory under a key, as what the assistant says."""
    place = place_for(memory, wanted.category)
    kept = memory.remember(
        wanted.content,
        key=wanted.key,
        kind=place.kind,
        tags=place.tags,
        importance=wanted.importance,
        origin=Origin.ASSISTANT,
    )
    withheld = telling.is_withheld(kept)
    key = telling.plain_key(kept)
    lost = REDACTED in kept.content and REDACTED not in wanted.content
    text = (
        f"Stored as version {kept.version} of {key or kept.id} ({kept.kind})."
        f"{_WITHHELD if withheld else ''}{_REDACTED if lost else ''}"
    )
    return text, answered.Stored(
        id=kept.id, key=key, kind=kept.kind, version=kept.version, withheld=withheld
    )


def recall(memory: OwnerMemory, wanted: asked.RecallMemories) -> tuple[str, answered.Recollection]:
    """Find what is relevant."""
    places = places_of(memory, wanted.category) if wanted.category is not None else None
    result = memory.recall(
        wanted.query,
        top_k=wanted.limit,
        kinds=places.kinds if places else None,
        tags=places.tags or None if places else None,
        since=instant(wanted.since, "since"),
        until=instant(wanted.until, "until"),
    )
    memories = [telling.found(each) for each in result.memories]
    text = telling.framed([telling.line(each) for each in memories]) if memories else NOTHING
    if memories and result.nothing_relevant:
        text = f"{UNLIKELY}\n{text}"
    return text, answered.Recollection(
        memories=memories, relevance=result.relevance, nothing_relevant=result.nothing_relevant
    )


def forget(memory: OwnerMemory, wanted: asked.ForgetMemory) -> tuple[str, answered.Forgotten]:
    """Take a memory out of every door."""
    gone = _named(wanted.key, lambda key: memory.forget(key=key), memory.forget)
    text = f"Forgotten. Memories: {len(gone.memories)}; messages changed: {len(gone.messages)}."
    return text, answered.Forgotten(memories=list(gone.memories), messages=list(gone.messages))


def context(memory: OwnerMemory, wanted: asked.MemoryContext) -> tuple[str, answered.Context]:
    """Put together what is known that matters to a question."""
    made = memory.context_with_results(wanted.query, token_budget=wanted.token_budget)
    data = answered.Context(
        text=made.text, tokens=made.tokens, memories=[each.id for each in made.results]
    )
    return made.text or NOTHING, data


def history(memory: OwnerMemory, wanted: asked.MemoryHistory) -> tuple[str, answered.Past]:
    """Tell how a memory came to be what it is."""
    known = _named(wanted.key, lambda key: memory.history(key=key), memory.history)
    past = telling.past(known)
    return telling.framed(telling.past_lines(past)), past


def _named(name: str, by_key: Callable[[str], T], by_id: Callable[[str], T]) -> T:
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
