"""Everything of an owner, out and in."""

from __future__ import annotations

from io import BytesIO
from typing import Annotated

from fastapi import APIRouter, Body
from fastapi.responses import StreamingResponse

from memolith.entrypoints.http.callers import ClockDep, MemoryDep
from memolith.entrypoints.http.once import IdempotencyDep, IdempotentRoute
from memolith.entrypoints.http.wire import answers
from memolith.errors import InvalidInput
from memolith.exchange import backup

transfer_router = APIRouter(prefix="/v1", tags=["transfer"], route_class=IdempotentRoute)

NDJSON = "application/x-ndjson"

_EXPORT_EXAMPLE = (
    '{"type":"memolith","version":1,"owner":"alice","exported_at":"2026-03-01T13:00:00Z"}\n'
    '{"type":"message","id":"019ca935-9700-7234-b007-e7c4b37cd053","session":"s1","sequence":1,'
    '"role":"user","at":"2026-03-01T12:00:00Z","content":"I live in Oslo"}\n'
)


@transfer_router.get(
    "/export",
    response_class=StreamingResponse,
    responses={200: {"content": {NDJSON: {"schema": {"type": "string"}}}}},
)
def export(memory: MemoryDep, clock: ClockDep) -> StreamingResponse:
    """Return all messages and memories as JSON lines, as `memolith export` writes them."""
    lines = backup.write_export(memory.export(), memory.owner_id, clock.now())
    return StreamingResponse(lines, media_type=NDJSON)


@transfer_router.post("/import", dependencies=[IdempotencyDep])
def import_(
    memory: MemoryDep, body: Annotated[bytes, Body(media_type=NDJSON, examples=[_EXPORT_EXAMPLE])]
) -> answers.ImportOut:
    """Store what an export gave, unchanged: all or nothing. What is there already stays."""
    file = BytesIO(body)
    if not backup.is_export(file):
        raise InvalidInput("body", "is no export of Memolith")
    return answers.ImportOut.model_validate(
        memory.import_(list(backup.read_export(file, "body", memory.owner_id)))
    )
