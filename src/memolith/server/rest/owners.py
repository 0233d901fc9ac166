"""Routes for sessions and owners: profile, base memory, usage, erasure, export and import."""

from __future__ import annotations

from datetime import datetime
from io import BytesIO
from typing import Annotated

from fastapi import APIRouter, Body, Path, Query
from fastapi.responses import StreamingResponse

from memolith.domain.messages import Message
from memolith.errors import InvalidInput
from memolith.import_export import jsonl
from memolith.server.auth import AdminDep, CallerDep, ClockDep, EngineDep, MemoryDep, OwnerHeader
from memolith.server.idempotency import IdempotencyDep, IdempotentRoute, MessageTaggerDep
from memolith.server.rest import requests, responses

sessions_router = APIRouter(prefix="/v1/sessions", tags=["sessions"], route_class=IdempotentRoute)

_SessionName = Annotated[requests.Name, Path(description="Name of the session.")]


@sessions_router.get("")
def list_sessions(memory: MemoryDep) -> list[responses.SessionOut]:
    """List sessions, oldest first."""
    return [responses.SessionOut.model_validate(each) for each in memory.sessions()]


@sessions_router.get("/recent")
def recent_messages(
    memory: MemoryDep,
    limit: Annotated[int, Query(ge=0, description="At most 1,000.")] = 20,
    session: Annotated[requests.Name | None, Query(description="Default: all sessions.")] = None,
) -> responses.MessagesOut:
    """Return the latest messages, oldest first."""
    found = memory.recent(limit, session=session)
    return responses.MessagesOut(
        messages=[responses.MessageOut.model_validate(each) for each in found]
    )


@sessions_router.get("/{session:path}/messages")
def list_messages(
    memory: MemoryDep,
    session: _SessionName,
    limit: Annotated[int, Query(ge=0, le=1000)] = 100,
    after: Annotated[int, Query(ge=0, description="Sequence number of the previous message.")] = 0,
) -> responses.MessagesOut:
    """Return a session's messages, in order."""
    found = memory.messages(session, limit=limit, after=after)
    return responses.MessagesOut(
        messages=[responses.MessageOut.model_validate(each) for each in found]
    )


@sessions_router.post("/{session:path}/messages", status_code=201, dependencies=[IdempotencyDep])
def log_messages(
    memory: MemoryDep,
    session: _SessionName,
    tag_messages: MessageTaggerDep,
    body: requests.NewMessages,
) -> responses.LearnOut:
    """Log messages of any speakers in order: all of them or none."""
    messages = [
        Message(each.speaker, each.content, each.role, each.at, each.external_id, learn=each.learn)
        for each in body.messages
    ]
    return responses.LearnOut.model_validate(memory.log(tag_messages(messages), session=session))


@sessions_router.post("/{session:path}/end", status_code=204, dependencies=[IdempotencyDep])
def end_session(memory: MemoryDep, session: _SessionName) -> None:
    """Mark a session as ended."""
    memory.end_session(session)


@sessions_router.post("/{session:path}/compress", dependencies=[IdempotencyDep])
def compress(
    memory: MemoryDep, session: _SessionName, body: requests.CompressRequest
) -> responses.CompressionOut:
    """Compress a chat history if it is too long; the removed part is remembered."""
    window = body.context_window
    compressed = memory.compress(body.messages, session=session, context_window=window)
    return responses.CompressionOut.model_validate(compressed)


# --- Owners


owners_router = APIRouter(prefix="/v1", tags=["owners"], route_class=IdempotentRoute)


@owners_router.get("/profile")
def profile(memory: MemoryDep, engine: EngineDep) -> responses.ProfilesOut:
    """Return the owner's profile and the available profiles."""
    known = [responses.ProfileInfoOut.model_validate(each) for each in engine.profiles()]
    return responses.ProfilesOut(profile=memory.profile(), profiles=known)


@owners_router.put("/profile", dependencies=[IdempotencyDep])
def switch_profile(memory: MemoryDep, body: requests.ProfileRequest) -> responses.ProfileSwitchOut:
    """Switch to another profile; return the changes."""
    switched = memory.switch_profile(body.name, dry_run=body.dry_run)
    return responses.ProfileSwitchOut.model_validate(switched)


@owners_router.get("/profile/kind")
def equivalent_kind(
    memory: MemoryDep, kind: Annotated[str, Query(description="Of `standard`.", examples=["fact"])]
) -> responses.KindOut:
    """Return the kind of the owner's profile that corresponds to a kind of `standard`."""
    return responses.KindOut(kind=memory.equivalent_kind(kind))


@owners_router.get("/profiles")
def profiles(
    caller: CallerDep, engine: EngineDep, requested: OwnerHeader = None
) -> list[responses.ProfileInfoOut]:
    """Return the available profiles; no owner is needed."""
    caller.resolve_optional_owner(requested)
    return [responses.ProfileInfoOut.model_validate(each) for each in engine.profiles()]


@owners_router.get("/base-memory")
def base_memory(
    memory: MemoryDep,
    as_of: Annotated[
        datetime | None, Query(description="Return the version valid at this time.")
    ] = None,
) -> responses.BaseMemoryOut | None:
    """Return the owner's base memory; null if there is none."""
    found = memory.base_memory(as_of=as_of)
    return None if found is None else responses.BaseMemoryOut.model_validate(found)


@owners_router.put("/base-memory", dependencies=[IdempotencyDep])
def set_base_memory(memory: MemoryDep, body: requests.NewBaseMemory) -> responses.BaseMemoryOut:
    """Replace the base memory's content by a new version."""
    return responses.BaseMemoryOut.model_validate(memory.set_base_memory(body.content))


@owners_router.get("/base-memory/versions")
def base_memory_versions(memory: MemoryDep) -> responses.BaseMemoriesOut:
    """Return all versions of the base memory, oldest first."""
    versions = [
        responses.BaseMemoryOut.model_validate(each) for each in memory.base_memory_versions()
    ]
    return responses.BaseMemoriesOut(versions=versions)


@owners_router.post("/base-memory/roll-back", dependencies=[IdempotencyDep])
def roll_back_base_memory(
    memory: MemoryDep, body: requests.RollBackRequest
) -> responses.BaseMemoryOut:
    """Restore the base memory's content of an earlier version."""
    return responses.BaseMemoryOut.model_validate(memory.roll_back_base_memory(body.version))


@owners_router.get("/summaries")
def summaries(memory: MemoryDep) -> list[responses.MemoryOut]:
    """Return the active summaries, oldest first."""
    return [responses.MemoryOut.model_validate(each) for each in memory.summaries()]


@owners_router.post("/summaries/{id}/undo", dependencies=[IdempotencyDep])
def undo_consolidation(
    memory: MemoryDep, id: Annotated[str, Path(json_schema_extra={"format": "uuid"})]
) -> responses.MemoryOut:
    """Undo a consolidation: forget the summary and restore its sources."""
    return responses.MemoryOut.model_validate(memory.undo_consolidation(id))


@owners_router.get("/backlog")
def backlog(memory: MemoryDep) -> responses.PendingWorkOut:
    """Return the pending and the failed model work."""
    return responses.PendingWorkOut.model_validate(memory.backlog())


@owners_router.post("/retry", status_code=204, dependencies=[IdempotencyDep])
def retry(memory: MemoryDep) -> None:
    """Retry failed work now."""
    memory.retry()


@owners_router.get("/usage")
def usage(
    memory: MemoryDep,
    since: Annotated[datetime | None, Query(description="Default: the current hour.")] = None,
) -> responses.UsageReportOut:
    """Return the owner's use of language models, and its cost."""
    return responses.UsageReportOut.model_validate(memory.usage(since=since))


@owners_router.get("/owners")
def owners(_: AdminDep, engine: EngineDep) -> responses.OwnersOut:
    """Return the ids of all owners with stored data."""
    return responses.OwnersOut(owners=engine.owners())


@owners_router.delete("/owner")
def erase_owner(
    caller: AdminDep,
    engine: EngineDep,
    confirm: Annotated[
        str, Query(description="Id of the owner, to confirm. Erasure cannot be undone.")
    ],
    requested: OwnerHeader = None,
) -> responses.EraseOut:
    """Erase an owner: delete all data and the encryption key permanently."""
    owner = caller.resolve_owner(requested)
    if confirm != owner:
        raise InvalidInput("confirm", "must be the id of the owner to erase")
    return responses.EraseOut.model_validate(engine.erase(owner))


@owners_router.post("/owner/rotate-key")
def rotate_key(
    caller: AdminDep, engine: EngineDep, requested: OwnerHeader = None
) -> responses.KeyVersionOut:
    """Reencrypt an owner's data with a new key and destroy the old key."""
    return responses.KeyVersionOut(version=engine.rotate_key(caller.resolve_owner(requested)))


@owners_router.post("/owner/readmit", status_code=204)
def readmit_owner(caller: AdminDep, engine: EngineDep, requested: OwnerHeader = None) -> None:
    """Allow an erased owner to store data again."""
    engine.readmit(caller.resolve_owner(requested))


# --- Export and import


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
    """Export all messages and memories as JSON lines, as `memolith export` does."""
    lines = jsonl.write_export(memory.export(), memory.owner_id, clock.now())
    return StreamingResponse(lines, media_type=NDJSON)


@transfer_router.post("/import", dependencies=[IdempotencyDep])
def import_(
    memory: MemoryDep, body: Annotated[bytes, Body(media_type=NDJSON, examples=[_EXPORT_EXAMPLE])]
) -> responses.ImportOut:
    """Import an export unchanged: all or nothing. Existing records are skipped."""
    file = BytesIO(body)
    if not jsonl.is_export(file):
        raise InvalidInput("body", "is not a Memolith export")
    return responses.ImportOut.model_validate(
        memory.import_(list(jsonl.read_export(file, "body", memory.owner_id)))
    )
