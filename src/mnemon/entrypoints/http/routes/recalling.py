"""Taking in, and finding again."""

from __future__ import annotations

from fastapi import APIRouter

from mnemon.entrypoints.http import wire
from mnemon.entrypoints.http.callers import Admin, Engine, Known, Memory, NamedOwner
from mnemon.entrypoints.http.once import Once, OnceRoute

router = APIRouter(prefix="/v1", tags=["engine"], route_class=OnceRoute)


@router.post("/recall")
def recall(memory: Memory, given: wire.RecallQuery) -> wire.RecallOut:
    """Return what is relevant to a query, best first."""
    asked = given.model_dump(exclude={"query"})
    return wire.RecallOut.model_validate(memory.recall(given.query, **asked))


@router.post("/context")
def context(memory: Memory, given: wire.ContextQuery) -> wire.ContextOut:
    """Return what is relevant as text for a system prompt, with what it shows."""
    asked = given.model_dump(exclude={"query"})
    return wire.ContextOut.model_validate(memory.context_with_results(given.query, **asked))


@router.post("/learn", status_code=201, dependencies=[Once])
def learn(memory: Memory, given: wire.Exchange) -> wire.LearnedOut:
    """Take in one exchange: two messages, and what is worth remembering of the user's."""
    learned = memory.learn(given.user, **given.model_dump(exclude={"user"}))
    return wire.LearnedOut.model_validate(learned)


@router.post("/ingest", status_code=201, dependencies=[Once])
def ingest(memory: Memory, given: wire.NewText) -> wire.IngestedOut:
    """Take in a long text, and say what was kept, what not, and why."""
    ingested = memory.ingest(given.text, **given.model_dump(exclude={"text"}))
    return wire.IngestedOut.model_validate(ingested)


@router.post("/consolidate")
def consolidate(
    caller: Known, engine: Engine, named: NamedOwner = None
) -> list[wire.ConsolidatedOut]:
    """Make an owner's memories shorter by the rules of their profile."""
    made = engine.consolidate(owner=caller.acting_for(named))
    return [wire.ConsolidatedOut.model_validate(each) for each in made]


@router.get("/base-memory")
def base_memory(memory: Memory) -> wire.BaseMemoryOut | None:
    """Return the living document about the owner; null: there is none."""
    found = memory.base_memory()
    return None if found is None else wire.BaseMemoryOut.model_validate(found)


@router.put("/base-memory")
def set_base_memory(memory: Memory, given: wire.NewBaseMemory) -> wire.BaseMemoryOut:
    """Let the base memory say this from now on; the version before is kept."""
    return wire.BaseMemoryOut.model_validate(memory.set_base_memory(given.content))


@router.get("/summaries")
def summaries(memory: Memory) -> list[wire.MemoryOut]:
    """Return the active memories that stand for others or for messages, oldest first."""
    return [wire.MemoryOut.model_validate(each) for each in memory.summaries()]


@router.delete("/owner", status_code=204)
def erase_owner(caller: Admin, engine: Engine, named: NamedOwner = None) -> None:
    """Remove everything of an owner for good, and the owner's key."""
    engine.erase(caller.acting_for(named))
