"""What is withheld, forgotten and removed, by ids of memories and of messages."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path

from memolith.domain.memories import Memory as StoredMemory
from memolith.domain.messages import Message
from memolith.entrypoints.http.callers import MemoryDep
from memolith.entrypoints.http.once import IdempotencyDep, IdempotentRoute
from memolith.entrypoints.http.wire import answers, bodies

review_router = APIRouter(prefix="/v1", tags=["review"], route_class=IdempotentRoute)

_RecordId = Annotated[str, Path(json_schema_extra={"format": "uuid"})]


@review_router.get("/review")
def review(memory: MemoryDep) -> answers.QuarantineOut:
    """Return what is withheld from recall until it is reviewed, in the order it was stored."""
    return answers.QuarantineOut(quarantined=[build_record(each) for each in memory.review()])


@review_router.post("/review/{id}/approve", dependencies=[IdempotencyDep])
def approve(memory: MemoryDep, id: _RecordId) -> answers.MemoryOut | answers.MessageOut:
    """Let a withheld memory or message be recalled."""
    return build_record(memory.approve(id))


@review_router.post("/review/{id}/reject", dependencies=[IdempotencyDep])
def reject(memory: MemoryDep, id: _RecordId) -> answers.ForgetOut:
    """Forget a withheld memory or message. `restore` undoes it."""
    return answers.ForgetOut.model_validate(memory.reject(id))


@review_router.post("/forget", dependencies=[IdempotencyDep])
def forget(memory: MemoryDep, body: bodies.RecordReference) -> answers.ForgetOut:
    """Take a memory, by id or key, or a message out of every door. `restore` undoes it."""
    return answers.ForgetOut.model_validate(memory.forget(body.id, key=body.key))


@review_router.post("/purge", dependencies=[IdempotencyDep])
def purge(memory: MemoryDep, body: bodies.RecordReference) -> answers.PurgeOut:
    """Remove a memory, by id or key, or a message for good."""
    return answers.PurgeOut.model_validate(memory.purge(body.id, key=body.key))


@review_router.get("/messages/{id}")
def message(memory: MemoryDep, id: _RecordId) -> answers.MessageOut:
    """Return a message."""
    return answers.MessageOut.model_validate(memory.message(id))


def build_record(record: StoredMemory | Message) -> answers.MemoryOut | answers.MessageOut:
    """Return a memory or a message as it is sent."""
    if isinstance(record, StoredMemory):
        return answers.MemoryOut.model_validate(record)
    return answers.MessageOut.model_validate(record)
