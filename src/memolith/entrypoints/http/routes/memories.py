"""One memory's life, and many at a time."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query

from memolith.domain.memories import Memory as StoredMemory
from memolith.domain.memories import State
from memolith.entrypoints.http.callers import AdminDep, EngineDep, MemoryDep, OwnerQuery
from memolith.entrypoints.http.once import IdempotencyDep, IdempotentRoute
from memolith.entrypoints.http.wire import answers, bodies, fields
from memolith.errors import InvalidInput
from memolith.policies.arguments import DEFAULT_AUDIT_EXAMPLES

memories_router = APIRouter(prefix="/v1/memories", tags=["memories"], route_class=IdempotentRoute)

_MemoryId = Annotated[
    str, Path(description="The memory's id.", json_schema_extra={"format": "uuid"})
]


@memories_router.get("")
def list_memories(  # noqa: PLR0913, PLR0917 - what can be asked, each by its name
    memory: MemoryDep,
    kind: str | None = None,
    state: Annotated[State | Literal["all"] | None, Query(description="None: active.")] = None,
    tags: Annotated[list[fields.Name] | None, Query()] = None,
    limit: Annotated[int, Query(ge=0, description="Over 1,000 is cut to 1,000.")] = 50,
    cursor: Annotated[str | None, Query(description="Of the page before.")] = None,
    offset: Annotated[int, Query(ge=0)] = 0,
) -> answers.PageOut:
    """List memories, newest first."""
    page = memory.list(
        kind=kind, state=state, tags=tags or (), limit=limit, cursor=cursor, offset=offset
    )
    return answers.PageOut.model_validate(page)


@memories_router.post("", status_code=201, dependencies=[IdempotencyDep])
def create_memory(memory: MemoryDep, body: bodies.NewMemory) -> answers.MemoryOut:
    """Store a memory; or return the active one that says the same."""
    stored = memory.remember(body.content, **body.model_dump(exclude={"content"}))
    return answers.MemoryOut.model_validate(stored)


@memories_router.get("/search")
def search_memories(
    memory: MemoryDep,
    q: Annotated[fields.Text, Query()],
    limit: Annotated[int | None, Query(ge=1, le=100)] = None,
    mode: fields.Mode = "hybrid",
) -> answers.RecallOut:
    """Find what is relevant to a question, best first."""
    return answers.RecallOut.model_validate(memory.recall(q, top_k=limit, mode=mode))


@memories_router.get("/keyed")
def keyed_memory(
    memory: MemoryDep, key: Annotated[str, Query(description="Its name.", examples=["units"])]
) -> answers.MemoryOut:
    """Return the active memory of a key."""
    return answers.MemoryOut.model_validate(memory.get(key=key))


@memories_router.get("/stats")
def statistics(memory: MemoryDep) -> answers.StatisticsOut:
    """Say how much is stored."""
    return answers.StatisticsOut.model_validate(memory.stats())


@memories_router.get("/audit")
def audit(
    memory: MemoryDep,
    examples: Annotated[
        int, Query(ge=0, description="Over 1,000 is cut to 1,000.")
    ] = DEFAULT_AUDIT_EXAMPLES,
    *,
    near: Annotated[bool, Query(description="Whether to compare them by meaning, too.")] = True,
) -> answers.AuditOut:
    """Say how many memories are not worth keeping, and which."""
    return answers.AuditOut.model_validate(memory.audit(examples=examples, near=near))


@memories_router.get("/keyed/history")
def keyed_history(
    memory: MemoryDep, key: Annotated[str, Query(description="Its name.", examples=["units"])]
) -> answers.HistoryOut:
    """Return the versions of the active memory of a key, and what happened to it, oldest first."""
    return answers.HistoryOut.model_validate(memory.history(key=key))


@memories_router.post("/decay")
def decay(caller: AdminDep, engine: EngineDep, owner: OwnerQuery = None) -> answers.DecayOut:
    """Store how strong memories are by now; say which got weaker."""
    ids = engine.apply_decay(owner=caller.resolve_optional_owner(owner))
    return answers.DecayOut(memories=list(ids), count=len(ids))


@memories_router.delete("")
def forget_all(
    memory: MemoryDep, confirm: Annotated[Literal["all"], Query(description="That all is meant.")]
) -> answers.ForgetOut:
    """Forget every memory of the owner. `restore` undoes each."""
    del confirm
    memories: dict[str, None] = {}
    messages: set[str] = set()
    while page := memory.list(limit=1000).memories:
        for each in page:
            if each.id not in memories:
                gone = memory.forget(each.id)
                memories |= dict.fromkeys(gone.memories)
                messages.update(gone.messages)
    return answers.ForgetOut(memories=list(memories), messages=sorted(messages))


@memories_router.get("/{id}")
def get_memory(memory: MemoryDep, id: _MemoryId) -> answers.MemoryOut:
    """Return a memory, in any state."""
    return answers.MemoryOut.model_validate(memory.get(id))


@memories_router.patch("/{id}", dependencies=[IdempotencyDep])
def change_memory(memory: MemoryDep, id: _MemoryId, body: bodies.MemoryChange) -> answers.MemoryOut:
    """Change an active memory; another content is a new version."""
    changed = memory.update(id, **body.model_dump())
    return answers.MemoryOut.model_validate(changed)


@memories_router.delete("/{id}")
def forget_memory(memory: MemoryDep, id: _MemoryId) -> answers.ForgetOut:
    """Take a memory, and the sentences it came from, out of every door."""
    return answers.ForgetOut.model_validate(memory.forget(id))


@memories_router.get("/{id}/history")
def memory_history(memory: MemoryDep, id: _MemoryId) -> answers.HistoryOut:
    """Return its versions and what happened to it, oldest first."""
    return answers.HistoryOut.model_validate(memory.history(id))


@memories_router.post("/{id}/restore", dependencies=[IdempotencyDep])
def restore_memory(memory: MemoryDep, id: _MemoryId) -> answers.MemoryOut | answers.MessageOut:
    """Undo a forgetting or a supersession."""
    restored = memory.restore(id)
    is_memory = isinstance(restored, StoredMemory)
    return (answers.MemoryOut if is_memory else answers.MessageOut).model_validate(restored)


@memories_router.post("/{id}/supersede", dependencies=[IdempotencyDep])
def supersede_memory(
    memory: MemoryDep, id: _MemoryId, body: bodies.SupersedeRequest
) -> answers.MemoryOut:
    """Retire a memory in favour of another; return the retired one."""
    try:
        return answers.MemoryOut.model_validate(memory.supersede(id, body.by))
    except InvalidInput as error:
        named = {"old": "id", "new": "by"}.get(error.field, error.field)
        raise InvalidInput(named, error.problem) from None
