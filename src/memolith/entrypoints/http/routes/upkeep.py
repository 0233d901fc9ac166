"""What concerns the whole store, for an admin: what is else done by schedule, or by hand."""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter

from memolith.entrypoints.http.callers import AdminDep, AuthenticatedRoute, EngineDep
from memolith.entrypoints.http.wire import answers, bodies

# What is meant where no body comes.
_ALL_OWNERS: Final = bodies.OwnerRequest.model_validate({})
_DEFAULT_CLEANUP: Final = bodies.CleanupRequest.model_validate({})
_DEFAULT_DRAIN: Final = bodies.DrainRequest.model_validate({})

upkeep_router = APIRouter(prefix="/v1/upkeep", tags=["upkeep"], route_class=AuthenticatedRoute)


@upkeep_router.post("/cleanup")
def cleanup(
    caller: AdminDep, engine: EngineDep, body: bodies.CleanupRequest = _DEFAULT_CLEANUP
) -> answers.CountOut:
    """Let memories fade that are too weak, restorably; say how many those are."""
    owner = caller.resolve_optional_owner(body.owner)
    count = engine.cleanup(owner=owner, below=body.below, dry_run=body.dry_run)
    return answers.CountOut(count=count)


@upkeep_router.post("/expire")
def expire(
    caller: AdminDep, engine: EngineDep, body: bodies.OwnerRequest = _ALL_OWNERS
) -> answers.CountOut:
    """Mark the memories whose time is up as expired; say how many those are."""
    return answers.CountOut(count=engine.expire(owner=caller.resolve_optional_owner(body.owner)))


@upkeep_router.post("/consolidate")
def consolidate(
    caller: AdminDep, engine: EngineDep, body: bodies.OwnerRequest = _ALL_OWNERS
) -> list[answers.ConsolidationOut]:
    """Make memories shorter by the rules of their owners' profiles; say what was made."""
    made = engine.consolidate(owner=caller.resolve_optional_owner(body.owner))
    return [answers.ConsolidationOut.model_validate(each) for each in made]


@upkeep_router.post("/work")
def work(_: AdminDep, engine: EngineDep) -> list[answers.WorkOut]:
    """Do what waits for a model and nobody else does."""
    return [answers.WorkOut.model_validate(each) for each in engine.work()]


@upkeep_router.post("/drain")
def drain(
    _: AdminDep, engine: EngineDep, body: bodies.DrainRequest = _DEFAULT_DRAIN
) -> answers.DrainOut:
    """Wait until the background has tried all that waits now; say whether it has."""
    return answers.DrainOut(drained=engine.drain(body.timeout_s))


@upkeep_router.post("/flush", status_code=204)
def flush(_: AdminDep, engine: EngineDep) -> None:
    """Write what waits to be written: access counts."""
    engine.flush()
