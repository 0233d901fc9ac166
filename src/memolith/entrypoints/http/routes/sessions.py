"""Conversations: their messages, their ends, and making their history shorter."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query

from memolith.domain.messages import Message
from memolith.entrypoints.http.callers import MemoryDep
from memolith.entrypoints.http.once import IdempotencyDep, IdempotentRoute, MessageTaggerDep
from memolith.entrypoints.http.wire import answers, bodies, fields

sessions_router = APIRouter(prefix="/v1/sessions", tags=["sessions"], route_class=IdempotentRoute)

_SessionName = Annotated[fields.Name, Path(description="The conversation's name.")]


@sessions_router.get("")
def list_sessions(memory: MemoryDep) -> list[answers.SessionOut]:
    """List conversations, in the order in which they were first logged."""
    return [answers.SessionOut.model_validate(each) for each in memory.sessions()]


@sessions_router.get("/recent")
def recent_messages(
    memory: MemoryDep,
    limit: Annotated[int, Query(ge=0, description="Over 1,000 is cut to 1,000.")] = 20,
    session: Annotated[fields.Name | None, Query(description="None: of all.")] = None,
) -> answers.MessagesOut:
    """Return the last messages, oldest first."""
    found = memory.recent(limit, session=session)
    return answers.MessagesOut(messages=[answers.MessageOut.model_validate(each) for each in found])


@sessions_router.get("/{session:path}/messages")
def list_messages(
    memory: MemoryDep,
    session: _SessionName,
    limit: Annotated[int, Query(ge=0, le=1000)] = 100,
    after: Annotated[int, Query(ge=0, description="The sequence number before.")] = 0,
) -> answers.MessagesOut:
    """Return a conversation's messages, in order."""
    found = memory.messages(session, limit=limit, after=after)
    return answers.MessagesOut(messages=[answers.MessageOut.model_validate(each) for each in found])


@sessions_router.post("/{session:path}/messages", status_code=201, dependencies=[IdempotencyDep])
def log_messages(
    memory: MemoryDep,
    session: _SessionName,
    tag_messages: MessageTaggerDep,
    body: bodies.NewMessages,
) -> answers.LearnOut:
    """Log messages of any number of speakers, in order: all of them, or none."""
    messages = [
        Message(each.speaker, each.content, each.role, each.at, each.external_id, learn=each.learn)
        for each in body.messages
    ]
    return answers.LearnOut.model_validate(memory.log(tag_messages(messages), session=session))


@sessions_router.post("/{session:path}/end", status_code=204, dependencies=[IdempotencyDep])
def end_session(memory: MemoryDep, session: _SessionName) -> None:
    """Mark a conversation as ended."""
    memory.end_session(session)


@sessions_router.post("/{session:path}/compress", dependencies=[IdempotencyDep])
def compress(
    memory: MemoryDep, session: _SessionName, body: bodies.CompressRequest
) -> answers.CompressOut:
    """Make a history shorter, where that is due; what goes is remembered."""
    window = body.context_window
    compressed = memory.compress(body.messages, session=session, context_window=window)
    return answers.CompressOut.model_validate(compressed)
