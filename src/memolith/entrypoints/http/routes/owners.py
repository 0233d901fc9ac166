"""An owner as a whole: profile, base memory, what waits for a model, what it cost, their end."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Path, Query

from memolith.entrypoints.http.callers import Admin, Engine, Known, Memory, NamedOwner
from memolith.entrypoints.http.once import Once, OnceRoute
from memolith.entrypoints.http.wire import answers, bodies
from memolith.errors import InvalidInput

router = APIRouter(prefix="/v1", tags=["owners"], route_class=OnceRoute)


@router.get("/profile")
def profile(memory: Memory, engine: Engine) -> answers.ProfilesOut:
    """Return the owner's profile, and those that there are."""
    known = [answers.ProfileOut.model_validate(each) for each in engine.profiles()]
    return answers.ProfilesOut(profile=memory.profile(), profiles=known)


@router.put("/profile", dependencies=[Once])
def switch_profile(memory: Memory, given: bodies.NewProfile) -> answers.SwitchedOut:
    """Let another profile hold from now on; say what that changes."""
    switched = memory.switch_profile(given.name, dry_run=given.dry_run)
    return answers.SwitchedOut.model_validate(switched)


@router.get("/profile/kind")
def kind_like(
    memory: Memory, kind: Annotated[str, Query(description="Of `standard`.", examples=["fact"])]
) -> answers.KindOut:
    """Return what the owner's profile calls a kind of `standard`."""
    return answers.KindOut(kind=memory.kind_like(kind))


@router.get("/profiles")
def profiles(caller: Known, engine: Engine, named: NamedOwner = None) -> list[answers.ProfileOut]:
    """Return the profiles that an owner can have; no owner needs to be named."""
    caller.meaning(named)
    return [answers.ProfileOut.model_validate(each) for each in engine.profiles()]


@router.get("/base-memory")
def base_memory(
    memory: Memory,
    as_of: Annotated[datetime | None, Query(description="As it stood then.")] = None,
) -> answers.BaseMemoryOut | None:
    """Return the living document about the owner; null: there is none."""
    found = memory.base_memory(as_of=as_of)
    return None if found is None else answers.BaseMemoryOut.model_validate(found)


@router.put("/base-memory", dependencies=[Once])
def set_base_memory(memory: Memory, given: bodies.NewBaseMemory) -> answers.BaseMemoryOut:
    """Let the base memory say this from now on; the version before is kept."""
    return answers.BaseMemoryOut.model_validate(memory.set_base_memory(given.content))


@router.get("/base-memory/versions")
def base_memory_versions(memory: Memory) -> answers.BaseMemoriesOut:
    """Return all versions of the base memory, oldest first."""
    versions = [
        answers.BaseMemoryOut.model_validate(each) for each in memory.base_memory_versions()
    ]
    return answers.BaseMemoriesOut(versions=versions)


@router.post("/base-memory/roll-back", dependencies=[Once])
def roll_back_base_memory(memory: Memory, given: bodies.RollBack) -> answers.BaseMemoryOut:
    """Let the base memory say again what it said in an earlier version."""
    return answers.BaseMemoryOut.model_validate(memory.roll_back_base_memory(given.version))


@router.get("/summaries")
def summaries(memory: Memory) -> list[answers.MemoryOut]:
    """Return the active memories that stand for others or for messages, oldest first."""
    return [answers.MemoryOut.model_validate(each) for each in memory.summaries()]


@router.post("/summaries/{id}/undo", dependencies=[Once])
def undo_consolidation(
    memory: Memory, id: Annotated[str, Path(json_schema_extra={"format": "uuid"})]
) -> answers.MemoryOut:
    """Take a summary back: what it stands for is recalled as before."""
    return answers.MemoryOut.model_validate(memory.undo_consolidation(id))


@router.get("/backlog")
def backlog(memory: Memory) -> answers.BacklogOut:
    """Return what waits to be learned from with a model, and what failed too often."""
    return answers.BacklogOut.model_validate(memory.backlog())


@router.post("/retry", status_code=204, dependencies=[Once])
def retry(memory: Memory) -> None:
    """Let work that failed be tried again at once."""
    memory.retry()


@router.get("/usage")
def usage(
    memory: Memory,
    since: Annotated[datetime | None, Query(description="None: in this hour.")] = None,
) -> answers.SpendingOut:
    """Return what language models were asked for the owner, and what it cost."""
    return answers.SpendingOut.model_validate(memory.usage(since=since))


@router.get("/owners")
def owners(_: Admin, engine: Engine) -> answers.OwnersOut:
    """Return the ids of all who have something stored."""
    return answers.OwnersOut(owners=engine.owners())


@router.delete("/owner")
def erase_owner(
    caller: Admin,
    engine: Engine,
    confirm: Annotated[str, Query(description="The owner's id: nothing undoes it.")],
    named: NamedOwner = None,
) -> answers.ErasedOut:
    """Remove everything of an owner for good, and the owner's key."""
    owner = caller.acting_for(named)
    if confirm != owner:
        raise InvalidInput("confirm", "must be the id of the owner who is to be erased")
    return answers.ErasedOut.model_validate(engine.erase(owner))


@router.post("/owner/rotate-key")
def rotate_key(caller: Admin, engine: Engine, named: NamedOwner = None) -> answers.KeyVersionOut:
    """Encrypt everything of an owner with a new key, and destroy the one before."""
    return answers.KeyVersionOut(version=engine.rotate_key(caller.acting_for(named)))


@router.post("/owner/readmit", status_code=204)
def readmit_owner(caller: Admin, engine: Engine, named: NamedOwner = None) -> None:
    """Let an erased owner begin again, with nothing."""
    engine.readmit(caller.acting_for(named))
