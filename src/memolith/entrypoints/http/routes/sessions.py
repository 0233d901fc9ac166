"""Conversations: their messages, their ends, and making their history shorter."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query

from memolith.domain.messages import Message
from memolith.entrypoints.http.callers import Memory
from memolith.entrypoints.http.once import Once, OnceRoute, ToldOnce
from memolith.entrypoints.http.wire import answers, bodies, fields

router = APIRouter(prefix="/v1/sessions", tags=["sessions"], route_class=OnceRoute)

_Name = Annotated[fields.Name, Path(description="The conversation's name.")]


@router.get("")
def list_sessions(memory: Memory) -> list[answers.SessionOut]:
    """List conversations, in the order in which they were first logged."""
    return [answers.SessionOut.model_validate(each) for each in memory.sessions()]


@router.get("/recent")
def recent_messages(
    memory: Memory,
    limit: Annotated[int, Query(ge=0, description="Over 1,000 is cut to 1,000.")] = 20,
    session: Annotated[fields.Name | None, Query(description="None: of all.")] = None,
) -> answers.MessagesOut:
    """Return the last messages, oldest first."""
    found = memory.recent(limit, session=session)
    return answers.MessagesOut(messages=[answers.MessageOut.model_validate(each) for each in found])


@router.get("/{session:path}/messages")
def list_messages(
    memory: Memory,
    session: _Name,
    limit: Annotated[int, Query(ge=0, le=1000)] = 100,
    after: Annotated[int, Query(ge=0, description="The sequence number before.")] = 0,
) -> answers.MessagesOut:
    """Return a conversation's messages, in order."""
    found = memory.messages(session, limit=limit, after=after)
    return answers.MessagesOut(messages=[answers.MessageOut.model_validate(each) for each in found])


@router.post("/{session:path}/messages", status_code=201, dependencies=[Once])
def log_messages(
    memory: Memory, session: _Name, once: ToldOnce, given: bodies.NewMessages
) -> answers.LearnedOut:
    """Log messages of any number of speakers, in order: all of them, or none."""
    messages = [
        Message(each.speaker, each.content, each.role, each.at, each.external_id, learn=each.learn)
        for each in given.messages
    ]
    return answers.LearnedOut.model_validate(memory.log(once(messages), session=session))


@router.post("/{session:path}/end", status_code=204, dependencies=[Once])
def end_session(memory: Memory, session: _Name) -> None:
    """Mark a conversation as ended."""
    memory.end_session(session)


@router.post("/{session:path}/compress", dependencies=[Once])
def compress(memory: Memory, session: _Name, given: bodies.NewHistory) -> answers.CompressedOut:
    """Make a history shorter, where that is due; what goes is remembered."""
    window = given.context_window
    compressed = memory.compress(given.messages, session=session, context_window=window)
    return answers.CompressedOut.model_validate(compressed)
