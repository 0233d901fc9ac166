"""Everything of an owner, out and in."""

from __future__ import annotations

from io import BytesIO
from typing import Annotated

from fastapi import APIRouter, Body
from fastapi.responses import StreamingResponse

from memolith.entrypoints.http.callers import Memory, Time
from memolith.entrypoints.http.once import Once, OnceRoute
from memolith.entrypoints.http.wire import answers
from memolith.errors import InvalidInput
from memolith.exchange import backup

router = APIRouter(prefix="/v1", tags=["transfer"], route_class=OnceRoute)

LINES = "application/x-ndjson"

_EXPORTED = (
    '{"type":"memolith","version":1,"owner":"alice","exported_at":"2026-03-01T13:00:00Z"}\n'
    '{"type":"message","id":"019ca935-9700-7234-b007-e7c4b37cd053","session":"s1","sequence":1,'
    '"role":"user","at":"2026-03-01T12:00:00Z","content":"I live in Oslo"}\n'
)


@router.get(
    "/export",
    response_class=StreamingResponse,
    responses={200: {"content": {LINES: {"schema": {"type": "string"}}}}},
)
def export(memory: Memory, clock: Time) -> StreamingResponse:
    """Return all messages and memories as JSON lines, as `memolith export` writes them."""
    lines = backup.write(memory.export(), memory.owner_id, clock.now())
    return StreamingResponse(lines, media_type=LINES)


@router.post("/import", dependencies=[Once])
def import_(
    memory: Memory, given: Annotated[bytes, Body(media_type=LINES, examples=[_EXPORTED])]
) -> answers.TakenOut:
    """Store what an export gave, unchanged: all or nothing. What is there already stays."""
    file = BytesIO(given)
    if not backup.is_backup(file):
        raise InvalidInput("body", "is no export of Memolith")
    return answers.TakenOut.model_validate(
        memory.import_(list(backup.read(file, "body", memory.owner_id)))
    )
