"""What is withheld, forgotten and removed, by ids of memories and of messages."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path

from memolith.domain.memories import Memory as StoredMemory
from memolith.domain.messages import Message
from memolith.entrypoints.http.callers import Memory
from memolith.entrypoints.http.once import Once, OnceRoute
from memolith.entrypoints.http.wire import answers, bodies

router = APIRouter(prefix="/v1", tags=["review"], route_class=OnceRoute)

_Id = Annotated[str, Path(json_schema_extra={"format": "uuid"})]


@router.get("/review")
def review(memory: Memory) -> answers.WithheldOut:
    """Return what is withheld from recall until it is reviewed, in the order it was stored."""
    return answers.WithheldOut(withheld=[shown(each) for each in memory.review()])


@router.post("/review/{id}/approve", dependencies=[Once])
def approve(memory: Memory, id: _Id) -> answers.MemoryOut | answers.MessageOut:
    """Let a withheld memory or message be recalled."""
    return shown(memory.approve(id))


@router.post("/review/{id}/reject", dependencies=[Once])
def reject(memory: Memory, id: _Id) -> answers.ForgottenOut:
    """Forget a withheld memory or message. `restore` undoes it."""
    return answers.ForgottenOut.model_validate(memory.reject(id))


@router.post("/forget", dependencies=[Once])
def forget(memory: Memory, given: bodies.Named) -> answers.ForgottenOut:
    """Take a memory, by id or key, or a message out of every door. `restore` undoes it."""
    return answers.ForgottenOut.model_validate(memory.forget(given.id, key=given.key))


@router.post("/purge", dependencies=[Once])
def purge(memory: Memory, given: bodies.Named) -> answers.PurgedOut:
    """Remove a memory, by id or key, or a message for good."""
    return answers.PurgedOut.model_validate(memory.purge(given.id, key=given.key))


@router.get("/messages/{id}")
def message(memory: Memory, id: _Id) -> answers.MessageOut:
    """Return a message."""
    return answers.MessageOut.model_validate(memory.message(id))


def shown(record: StoredMemory | Message) -> answers.MemoryOut | answers.MessageOut:
    """Return a memory or a message as it is sent."""
    if isinstance(record, StoredMemory):
        return answers.MemoryOut.model_validate(record)
    return answers.MessageOut.model_validate(record)
