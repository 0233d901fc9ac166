"""An owner as a whole: profile, base memory, what waits for a model, what it cost, their end."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Path, Query

from memolith.entrypoints.http.callers import AdminDep, CallerDep, EngineDep, MemoryDep, OwnerHeader
from memolith.entrypoints.http.once import IdempotencyDep, IdempotentRoute
from memolith.entrypoints.http.wire import answers, bodies
from memolith.errors import InvalidInput

owners_router = APIRouter(prefix="/v1", tags=["owners"], route_class=IdempotentRoute)


@owners_router.get("/profile")
def profile(memory: MemoryDep, engine: EngineDep) -> answers.ProfilesOut:
    """Return the owner's profile, and those that there are."""
    known = [answers.ProfileOut.model_validate(each) for each in engine.profiles()]
    return answers.ProfilesOut(profile=memory.profile(), profiles=known)


@owners_router.put("/profile", dependencies=[IdempotencyDep])
def switch_profile(memory: MemoryDep, body: bodies.ProfileRequest) -> answers.ProfileSwitchOut:
    """Let another profile hold from now on; say what that changes."""
    switched = memory.switch_profile(body.name, dry_run=body.dry_run)
    return answers.ProfileSwitchOut.model_validate(switched)


@owners_router.get("/profile/kind")
def equivalent_kind(
    memory: MemoryDep, kind: Annotated[str, Query(description="Of `standard`.", examples=["fact"])]
) -> answers.KindOut:
    """Return what the owner's profile calls a kind of `standard`."""
    return answers.KindOut(kind=memory.equivalent_kind(kind))


@owners_router.get("/profiles")
def profiles(
    caller: CallerDep, engine: EngineDep, requested: OwnerHeader = None
) -> list[answers.ProfileOut]:
    """Return the profiles that an owner can have; no owner needs to be named."""
    caller.resolve_optional_owner(requested)
    return [answers.ProfileOut.model_validate(each) for each in engine.profiles()]


@owners_router.get("/base-memory")
def base_memory(
    memory: MemoryDep,
    as_of: Annotated[datetime | None, Query(description="As it stood then.")] = None,
) -> answers.BaseMemoryOut | None:
    """Return the living document about the owner; null: there is none."""
    found = memory.base_memory(as_of=as_of)
    return None if found is None else answers.BaseMemoryOut.model_validate(found)


@owners_router.put("/base-memory", dependencies=[IdempotencyDep])
def set_base_memory(memory: MemoryDep, body: bodies.NewBaseMemory) -> answers.BaseMemoryOut:
    """Let the base memory say this from now on; the version before is kept."""
    return answers.BaseMemoryOut.model_validate(memory.set_base_memory(body.content))


@owners_router.get("/base-memory/versions")
def base_memory_versions(memory: MemoryDep) -> answers.BaseMemoriesOut:
    """Return all versions of the base memory, oldest first."""
    versions = [
        answers.BaseMemoryOut.model_validate(each) for each in memory.base_memory_versions()
    ]
    return answers.BaseMemoriesOut(versions=versions)


@owners_router.post("/base-memory/roll-back", dependencies=[IdempotencyDep])
def roll_back_base_memory(memory: MemoryDep, body: bodies.RollBackRequest) -> answers.BaseMemoryOut:
    """Let the base memory say again what it said in an earlier version."""
    return answers.BaseMemoryOut.model_validate(memory.roll_back_base_memory(body.version))


@owners_router.get("/summaries")
def summaries(memory: MemoryDep) -> list[answers.MemoryOut]:
    """Return the active memories that stand for others or for messages, oldest first."""
    return [answers.MemoryOut.model_validate(each) for each in memory.summaries()]


@owners_router.post("/summaries/{id}/undo", dependencies=[IdempotencyDep])
def undo_consolidation(
    memory: MemoryDep, id: Annotated[str, Path(json_schema_extra={"format": "uuid"})]
) -> answers.MemoryOut:
    """Take a summary back: what it stands for is recalled as before."""
    return answers.MemoryOut.model_validate(memory.undo_consolidation(id))


@owners_router.get("/backlog")
def backlog(memory: MemoryDep) -> answers.PendingWorkOut:
    """Return what waits to be learned from with a model, and what failed too often."""
    return answers.PendingWorkOut.model_validate(memory.backlog())


@owners_router.post("/retry", status_code=204, dependencies=[IdempotencyDep])
def retry(memory: MemoryDep) -> None:
    """Let work that failed be tried again at once."""
    memory.retry()


@owners_router.get("/usage")
def usage(
    memory: MemoryDep,
    since: Annotated[datetime | None, Query(description="None: in this hour.")] = None,
) -> answers.UsageOut:
    """Return what language models were asked for the owner, and what it cost."""
    return answers.UsageOut.model_validate(memory.usage(since=since))


@owners_router.get("/owners")
def owners(_: AdminDep, engine: EngineDep) -> answers.OwnersOut:
    """Return the ids of all who have something stored."""
    return answers.OwnersOut(owners=engine.owners())


@owners_router.delete("/owner")
def erase_owner(
    caller: AdminDep,
    engine: EngineDep,
    confirm: Annotated[str, Query(description="The owner's id: nothing undoes it.")],
    requested: OwnerHeader = None,
) -> answers.EraseOut:
    """Remove everything of an owner for good, and the owner's key."""
    owner = caller.resolve_owner(requested)
    if confirm != owner:
        raise InvalidInput("confirm", "must be the id of the owner who is to be erased")
    return answers.EraseOut.model_validate(engine.erase(owner))


@owners_router.post("/owner/rotate-key")
def rotate_key(
    caller: AdminDep, engine: EngineDep, requested: OwnerHeader = None
) -> answers.KeyVersionOut:
    """Encrypt everything of an owner with a new key, and destroy the one before."""
    return answers.KeyVersionOut(version=engine.rotate_key(caller.resolve_owner(requested)))


@owners_router.post("/owner/readmit", status_code=204)
def readmit_owner(caller: AdminDep, engine: EngineDep, requested: OwnerHeader = None) -> None:
    """Let an erased owner begin again, with nothing."""
    engine.readmit(caller.resolve_owner(requested))
