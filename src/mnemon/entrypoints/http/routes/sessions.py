"""Conversations: their messages, their ends, and making their history shorter."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query

from mnemon.domain.messages import Message
from mnemon.entrypoints.http import wire
from mnemon.entrypoints.http.callers import Memory
from mnemon.entrypoints.http.once import Once, OnceRoute

router = APIRouter(prefix="/v1/sessions", tags=["sessions"], route_class=OnceRoute)

_Id = Annotated[wire.Name, Path(description="The conversation's name.")]


@router.get("")
def list_sessions(memory: Memory) -> list[wire.SessionOut]:
    """List conversations, in the order in which they were first logged."""
    return [wire.SessionOut.model_validate(each) for each in memory.sessions()]


@router.get("/recent")
def recent_messages(
    memory: Memory,
    limit: Annotated[int, Query(ge=1, le=1000)] = 20,
    session: Annotated[wire.Name | None, Query(description="None: of all.")] = None,
) -> wire.MessagesOut:
    """Return the last messages, oldest first."""
    found = memory.recent(limit, session=session)
    return wire.MessagesOut(messages=[wire.MessageOut.model_validate(each) for each in found])


@router.get("/{id}/messages")
def list_messages(
    memory: Memory,
    id: _Id,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    after: Annotated[int, Query(ge=0, description="The sequence number before.")] = 0,
) -> wire.MessagesOut:
    """Return a conversation's messages, in order."""
    found = memory.messages(id, limit=limit, after=after)
    return wire.MessagesOut(messages=[wire.MessageOut.model_validate(each) for each in found])


@router.post("/{id}/messages", status_code=201, dependencies=[Once])
def log_messages(memory: Memory, id: _Id, given: wire.NewMessages) -> wire.LearnedOut:
    """Log messages of any number of speakers, in order: all of them, or none."""
    messages = [
        Message(each.speaker, each.content, each.role, each.at, each.external_id)
        for each in given.messages
    ]
    return wire.LearnedOut.model_validate(memory.log(messages, session=id))


@router.post("/{id}/end", status_code=204, dependencies=[Once])
def end_session(memory: Memory, id: _Id) -> None:
    """Mark a conversation as ended."""
    memory.end_session(id)


@router.post("/{id}/compress", dependencies=[Once])
def compress(memory: Memory, id: _Id, given: wire.NewHistory) -> wire.CompressedOut:
    """Make a history shorter, where that is due; what goes is remembered."""
    compressed = memory.compress(given.messages, session=id, context_window=given.context_window)
    return wire.CompressedOut.model_validate(compressed)
