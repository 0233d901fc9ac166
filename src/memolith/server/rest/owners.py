"""Conversations: their messages, their ends, and making their history shorter."""

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

_SessionName = Annotated[requests.Name, Path(description="The conversation's name.")]


@sessions_router.get("")
def list_sessions(memory: MemoryDep) -> list[responses.SessionOut]:
    """List conversations, in the order in which they were first logged."""
    return [responses.SessionOut.model_validate(each) for each in memory.sessions()]


@sessions_router.get("/recent")
def recent_messages(
    memory: MemoryDep,
    limit: Annotated[int, Query(ge=0, description="Over 1,000 is cut to 1,000.")] = 20,
    session: Annotated[requests.Name | None, Query(description="None: of all.")] = None,
) -> responses.MessagesOut:
    """Return the last messages, oldest first."""
    found = memory.recent(limit, session=session)
    return responses.MessagesOut(
        messages=[responses.MessageOut.model_validate(each) for each in found]
    )


@sessions_router.get("/{session:path}/messages")
def list_messages(
    memory: MemoryDep,
    session: _SessionName,
    limit: Annotated[int, Query(ge=0, le=1000)] = 100,
    after: Annotated[int, Query(ge=0, description="The sequence number before.")] = 0,
) -> responses.MessagesOut:
    """Return a conversation's messages, in order."""
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
    """Log messages of any number of speakers, in order: all of them, or none."""
    messages = [
        Message(each.speaker, each.content, each.role, each.at, each.external_id, learn=each.learn)
        for each in body.messages
    ]
    return responses.LearnOut.model_validate(memory.log(tag_messages(messages), session=session))


@sessions_router.post("/{session:path}/end", status_code=204, dependencies=[IdempotencyDep])
def end_session(memory: MemoryDep, session: _SessionName) -> None:
    """Mark a conversation as ended."""
    memory.end_session(session)


@sessions_router.post("/{session:path}/compress", dependencies=[IdempotencyDep])
def compress(
    memory: MemoryDep, session: _SessionName, body: requests.CompressRequest
) -> responses.CompressionOut:
    """Make a history shorter, where that is due; what goes is remembered."""
    window = body.context_window
    compressed = memory.compress(body.messages, session=session, context_window=window)
    return responses.CompressionOut.model_validate(compressed)


# --- An owner as a whole: profile, base memory, what waits for a model, what it cost, their end


owners_router = APIRouter(prefix="/v1", tags=["owners"], route_class=IdempotentRoute)


@owners_router.get("/profile")
def profile(memory: MemoryDep, engine: EngineDep) -> responses.ProfilesOut:
    """Return the owner's profile, and those that there are."""
    known = [responses.ProfileInfoOut.model_validate(each) for each in engine.profiles()]
    return responses.ProfilesOut(profile=memory.profile(), profiles=known)


@owners_router.put("/profile", dependencies=[IdempotencyDep])
def switch_profile(memory: MemoryDep, body: requests.ProfileRequest) -> responses.ProfileSwitchOut:
    """Let another profile hold from now on; say what that changes."""
    switched = memory.switch_profile(body.name, dry_run=body.dry_run)
    return responses.ProfileSwitchOut.model_validate(switched)


@owners_router.get("/profile/kind")
def equivalent_kind(
    memory: MemoryDep, kind: Annotated[str, Query(description="Of `standard`.", examples=["fact"])]
) -> responses.KindOut:
    """Return what the owner's profile calls a kind of `standard`."""
    return responses.KindOut(kind=memory.equivalent_kind(kind))


@owners_router.get("/profiles")
def profiles(
    caller: CallerDep, engine: EngineDep, requested: OwnerHeader = None
) -> list[responses.ProfileInfoOut]:
    """Return the profiles that an owner can have; no owner needs to be named."""
    caller.resolve_optional_owner(requested)
    return [responses.ProfileInfoOut.model_validate(each) for each in engine.profiles()]


@owners_router.get("/base-memory")
def base_memory(
    memory: MemoryDep,
    as_of: Annotated[datetime | None, Query(description="As it stood then.")] = None,
) -> responses.BaseMemoryOut | None:
    """Return the living document about the owner; null: there is none."""
    found = memory.base_memory(as_of=as_of)
    return None if found is None else responses.BaseMemoryOut.model_validate(found)


@owners_router.put("/base-memory", dependencies=[IdempotencyDep])
def set_base_memory(memory: MemoryDep, body: requests.NewBaseMemory) -> responses.BaseMemoryOut:
    """Let the base memory say this from now on; the version before is kept."""
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
    """Let the base memory say again what it said in an earlier version."""
    return responses.BaseMemoryOut.model_validate(memory.roll_back_base_memory(body.version))


@owners_router.get("/summaries")
def summaries(memory: MemoryDep) -> list[responses.MemoryOut]:
    """Return the active memories that stand for others or for messages, oldest first."""
    return [responses.MemoryOut.model_validate(each) for each in memory.summaries()]


@owners_router.post("/summaries/{id}/undo", dependencies=[IdempotencyDep])
def undo_consolidation(
    memory: MemoryDep, id: Annotated[str, Path(json_schema_extra={"format": "uuid"})]
) -> responses.MemoryOut:
    """Take a summary back: what it stands for is recalled as before."""
    return responses.MemoryOut.model_validate(memory.undo_consolidation(id))


@owners_router.get("/backlog")
def backlog(memory: MemoryDep) -> responses.PendingWorkOut:
    """Return what waits to be learned from with a model, and what failed too often."""
    return responses.PendingWorkOut.model_validate(memory.backlog())


@owners_router.post("/retry", status_code=204, dependencies=[IdempotencyDep])
def retry(memory: MemoryDep) -> None:
    """Let work that failed be tried again at once."""
    memory.retry()


@owners_router.get("/usage")
def usage(
    memory: MemoryDep,
    since: Annotated[datetime | None, Query(description="None: in this hour.")] = None,
) -> responses.UsageReportOut:
    """Return what language models were asked for the owner, and what it cost."""
    return responses.UsageReportOut.model_validate(memory.usage(since=since))


@owners_router.get("/owners")
def owners(_: AdminDep, engine: EngineDep) -> responses.OwnersOut:
    """Return the ids of all who have something stored."""
    return responses.OwnersOut(owners=engine.owners())


@owners_router.delete("/owner")
def erase_owner(
    caller: AdminDep,
    engine: EngineDep,
    confirm: Annotated[str, Query(description="The owner's id: nothing undoes it.")],
    requested: OwnerHeader = None,
) -> responses.EraseOut:
    """Remove everything of an owner for good, and the owner's key."""
    owner = caller.resolve_owner(requested)
    if confirm != owner:
        raise InvalidInput("confirm", "must be the id of the owner who is to be erased")
    return responses.EraseOut.model_validate(engine.erase(owner))


@owners_router.post("/owner/rotate-key")
def rotate_key(
    caller: AdminDep, engine: EngineDep, requested: OwnerHeader = None
) -> responses.KeyVersionOut:
    """Encrypt everything of an owner with a new key, and destroy the one before."""
    return responses.KeyVersionOut(version=engine.rotate_key(caller.resolve_owner(requested)))


@owners_router.post("/owner/readmit", status_code=204)
def readmit_owner(caller: AdminDep, engine: EngineDep, requested: OwnerHeader = None) -> None:
    """Let an erased owner begin again, with nothing."""
    engine.readmit(caller.resolve_owner(requested))


# --- Everything of an owner, out and in


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
    lines = jsonl.write_export(memory.export(), memory.owner_id, clock.now())
    return StreamingResponse(lines, media_type=NDJSON)


@transfer_router.post("/import", dependencies=[IdempotencyDep])
def import_(
    memory: MemoryDep, body: Annotated[bytes, Body(media_type=NDJSON, examples=[_EXPORT_EXAMPLE])]
) -> responses.ImportOut:
    """Store what an export gave, unchanged: all or nothing. What is there already stays."""
    file = BytesIO(body)
    if not jsonl.is_export(file):
        raise InvalidInput("body", "is no export of Memolith")
    return responses.ImportOut.model_validate(
        memory.import_(list(jsonl.read_export(file, "body", memory.owner_id)))
    )
