"""Routes for memories: storage, recall, learning, quarantine and deletion."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query

from memolith.domain.memories import Memory as StoredMemory
from memolith.domain.memories import State
from memolith.domain.messages import Message
from memolith.errors import InvalidInput
from memolith.policies.arguments import DEFAULT_AUDIT_EXAMPLES
from memolith.policies.learning import build_messages
from memolith.server.auth import AdminDep, CallerDep, EngineDep, MemoryDep, OwnerHeader, OwnerQuery
from memolith.server.idempotency import IdempotencyDep, IdempotentRoute, MessageTaggerDep
from memolith.server.rest import requests, responses
from memolith.services.lifecycle import ForgetResult

memories_router = APIRouter(prefix="/v1/memories", tags=["memories"], route_class=IdempotentRoute)

_MemoryId = Annotated[
    str, Path(description="Id of the memory.", json_schema_extra={"format": "uuid"})
]


@memories_router.get("")
def list_memories(  # noqa: PLR0913, PLR0917 - query parameters
    memory: MemoryDep,
    kind: str | None = None,
    state: Annotated[State | Literal["all"] | None, Query(description="Default: active.")] = None,
    tags: Annotated[list[requests.Name] | None, Query()] = None,
    limit: Annotated[int, Query(ge=0, description="At most 1,000.")] = 50,
    cursor: Annotated[str | None, Query(description="Cursor of the previous page.")] = None,
    offset: Annotated[int, Query(ge=0)] = 0,
) -> responses.PageOut:
    """List memories, newest first."""
    page = memory.list(
        kind=kind, state=state, tags=tags or (), limit=limit, cursor=cursor, offset=offset
    )
    return responses.PageOut.model_validate(page)


@memories_router.post("", status_code=201, dependencies=[IdempotencyDep])
def create_memory(memory: MemoryDep, body: requests.NewMemory) -> responses.MemoryOut:
    """Store a memory; return the existing one if an active memory says the same."""
    stored = memory.remember(body.content, **body.model_dump(exclude={"content"}))
    return responses.MemoryOut.model_validate(stored)


@memories_router.get("/search")
def search_memories(
    memory: MemoryDep,
    q: Annotated[requests.Text, Query()],
    limit: Annotated[int | None, Query(ge=1, le=100)] = None,
    mode: requests.Mode = "hybrid",
) -> responses.RecallOut:
    """Search memories and messages, best first."""
    return responses.RecallOut.model_validate(memory.recall(q, top_k=limit, mode=mode))


@memories_router.get("/keyed")
def keyed_memory(
    memory: MemoryDep,
    key: Annotated[str, Query(description="Key of the memory.", examples=["units"])],
) -> responses.MemoryOut:
    """Return the active memory with a key."""
    return responses.MemoryOut.model_validate(memory.get(key=key))


@memories_router.get("/stats")
def statistics(memory: MemoryDep) -> responses.StatisticsOut:
    """Return statistics of the stored memories."""
    return responses.StatisticsOut.model_validate(memory.stats())


@memories_router.get("/audit")
def audit(
    memory: MemoryDep,
    examples: Annotated[int, Query(ge=0, description="At most 1,000.")] = DEFAULT_AUDIT_EXAMPLES,
    *,
    near: Annotated[bool, Query(description="Whether to find near-duplicates by meaning.")] = True,
) -> responses.AuditOut:
    """Audit the memories: count and list those of low quality."""
    return responses.AuditOut.model_validate(memory.audit(examples=examples, near=near))


@memories_router.get("/keyed/history")
def keyed_history(
    memory: MemoryDep,
    key: Annotated[str, Query(description="Key of the memory.", examples=["units"])],
) -> responses.HistoryOut:
    """Return versions and events of the active memory with a key, oldest first."""
    return responses.HistoryOut.model_validate(memory.history(key=key))


@memories_router.post("/decay")
def decay(caller: AdminDep, engine: EngineDep, owner: OwnerQuery = None) -> responses.DecayOut:
    """Update the stored strength of memories; return the ids of weaker ones."""
    ids = engine.apply_decay(owner=caller.resolve_optional_owner(owner))
    return responses.DecayOut(memories=list(ids), count=len(ids))


@memories_router.delete("")
def forget_all(
    memory: MemoryDep,
    confirm: Annotated[
        Literal["all"], Query(description="Confirms that all memories are forgotten.")
    ],
) -> responses.ForgetOut:
    """Forget all memories of the owner. `restore` undoes each."""
    del confirm
    memories: dict[str, None] = {}
    messages: set[str] = set()
    while page := memory.list(limit=1000).memories:
        for each in page:
            if each.id not in memories:
                gone = memory.forget(each.id)
                memories |= dict.fromkeys(gone.memories)
                messages.update(gone.messages)
    return responses.ForgetOut.model_validate(
        ForgetResult(tuple(memories), tuple(sorted(messages)))
    )


@memories_router.get("/{id}")
def get_memory(memory: MemoryDep, id: _MemoryId) -> responses.MemoryOut:
    """Return a memory in any state."""
    return responses.MemoryOut.model_validate(memory.get(id))


@memories_router.patch("/{id}", dependencies=[IdempotencyDep])
def change_memory(
    memory: MemoryDep, id: _MemoryId, body: requests.MemoryChange
) -> responses.MemoryOut:
    """Update an active memory; new content creates a new version."""
    changed = memory.update(id, **body.model_dump())
    return responses.MemoryOut.model_validate(changed)


@memories_router.delete("/{id}")
def forget_memory(memory: MemoryDep, id: _MemoryId) -> responses.ForgetOut:
    """Forget a memory and the sentences it was learned from. `restore` undoes it."""
    return responses.ForgetOut.model_validate(memory.forget(id))


@memories_router.get("/{id}/history")
def memory_history(memory: MemoryDep, id: _MemoryId) -> responses.HistoryOut:
    """Return versions and events of a memory, oldest first."""
    return responses.HistoryOut.model_validate(memory.history(id))


@memories_router.post("/{id}/restore", dependencies=[IdempotencyDep])
def restore_memory(memory: MemoryDep, id: _MemoryId) -> responses.MemoryOut | responses.MessageOut:
    """Restore a forgotten or superseded memory or message."""
    restored = memory.restore(id)
    is_memory = isinstance(restored, StoredMemory)
    return (responses.MemoryOut if is_memory else responses.MessageOut).model_validate(restored)


@memories_router.post("/{id}/supersede", dependencies=[IdempotencyDep])
def supersede_memory(
    memory: MemoryDep, id: _MemoryId, body: requests.SupersedeRequest
) -> responses.MemoryOut:
    """Supersede a memory by another; return the superseded one."""
    try:
        return responses.MemoryOut.model_validate(memory.supersede(id, body.by))
    except InvalidInput as error:
        named = {"old": "id", "new": "by"}.get(error.field, error.field)
        raise InvalidInput(named, error.problem) from None


# --- Learning and recall


recall_router = APIRouter(prefix="/v1", tags=["engine"], route_class=IdempotentRoute)


@recall_router.post("/recall")
def recall(memory: MemoryDep, body: requests.RecallQuery) -> responses.RecallOut:
    """Return memories and messages relevant to a query, best first."""
    asked = body.model_dump(exclude={"query"})
    return responses.RecallOut.model_validate(memory.recall(body.query, **asked))


@recall_router.post("/context")
def context(memory: MemoryDep, body: requests.ContextQuery) -> responses.ContextOut:
    """Return relevant memories as text for a system prompt, with the results in it."""
    asked = body.model_dump(exclude={"query"})
    return responses.ContextOut.model_validate(memory.context_with_results(body.query, **asked))


@recall_router.post("/learn", status_code=201, dependencies=[IdempotencyDep])
def learn(
    memory: MemoryDep, tag_messages: MessageTaggerDep, body: requests.Exchange
) -> responses.LearnOut:
    """Learn from an exchange: log its messages and store the user's facts."""
    said = build_messages(
        body.user, body.assistant, body.at, body.action, is_truncated=body.is_truncated
    )
    return responses.LearnOut.model_validate(memory.log(tag_messages(said), session=body.session))


@recall_router.post("/ingest", status_code=201, dependencies=[IdempotencyDep])
def ingest(memory: MemoryDep, body: requests.IngestRequest) -> responses.IngestOut:
    """Ingest a long text; return the status of each chunk and the reason."""
    ingested = memory.ingest(body.text, **body.model_dump(exclude={"text"}))
    return responses.IngestOut.model_validate(ingested)


@recall_router.post("/consolidate", dependencies=[IdempotencyDep])
def consolidate(
    caller: CallerDep, engine: EngineDep, requested: OwnerHeader = None
) -> list[responses.ConsolidationOut]:
    """Consolidate an owner's memories by the rules of their profile."""
    made = engine.consolidate(owner=caller.resolve_owner(requested))
    return [responses.ConsolidationOut.model_validate(each) for each in made]


# --- Quarantine, forget and purge, by ids of memories and messages


review_router = APIRouter(prefix="/v1", tags=["review"], route_class=IdempotentRoute)

_RecordId = Annotated[str, Path(json_schema_extra={"format": "uuid"})]


@review_router.get("/review")
def review(memory: MemoryDep) -> responses.QuarantineOut:
    """Return quarantined memories and messages, oldest first."""
    return responses.QuarantineOut(quarantined=[build_record(each) for each in memory.review()])


@review_router.post("/review/{id}/approve", dependencies=[IdempotencyDep])
def approve(memory: MemoryDep, id: _RecordId) -> responses.MemoryOut | responses.MessageOut:
    """Release a memory or message from quarantine."""
    return build_record(memory.approve(id))


@review_router.post("/review/{id}/reject", dependencies=[IdempotencyDep])
def reject(memory: MemoryDep, id: _RecordId) -> responses.ForgetOut:
    """Forget a quarantined memory or message. `restore` undoes it."""
    return responses.ForgetOut.model_validate(memory.reject(id))


@review_router.post("/forget", dependencies=[IdempotencyDep])
def forget(memory: MemoryDep, body: requests.RecordReference) -> responses.ForgetOut:
    """Forget a memory, by id or key, or a message. `restore` undoes it."""
    return responses.ForgetOut.model_validate(memory.forget(body.id, key=body.key))


@review_router.post("/purge", dependencies=[IdempotencyDep])
def purge(memory: MemoryDep, body: requests.RecordReference) -> responses.PurgeOut:
    """Delete a memory, by id or key, or a message permanently."""
    return responses.PurgeOut.model_validate(memory.purge(body.id, key=body.key))


@review_router.get("/messages/{id}")
def message(memory: MemoryDep, id: _RecordId) -> responses.MessageOut:
    """Return a message."""
    return responses.MessageOut.model_validate(memory.message(id))


def build_record(record: StoredMemory | Message) -> responses.MemoryOut | responses.MessageOut:
    """Return the response model of a memory or a message."""
    if isinstance(record, StoredMemory):
        return responses.MemoryOut.model_validate(record)
    return responses.MessageOut.model_validate(record)
