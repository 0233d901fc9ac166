"""What concerns the whole store, for an admin: what is else done by schedule, or by hand."""

from __future__ import annotations

from fastapi import APIRouter

from mnemon.entrypoints.http import wire
from mnemon.entrypoints.http.callers import Admin, Engine

router = APIRouter(prefix="/v1/upkeep", tags=["upkeep"])


@router.post("/cleanup")
def cleanup(caller: Admin, engine: Engine, given: wire.Fading) -> wire.CountOut:
    """Let memories fade that are too weak, restorably; say how many those are."""
    owner = caller.meaning(given.owner)
    count = engine.cleanup(owner=owner, below=given.below, dry_run=given.dry_run)
    return wire.CountOut(count=count)


@router.post("/expire")
def expire(caller: Admin, engine: Engine, given: wire.Whose) -> wire.CountOut:
    """Mark the memories whose time is up as expired; say how many those are."""
    return wire.CountOut(count=engine.expire(owner=caller.meaning(given.owner)))


@router.post("/consolidate")
def consolidate(caller: Admin, engine: Engine, given: wire.Whose) -> list[wire.ConsolidatedOut]:
    """Make memories shorter by the rules of their owners' profiles; say what was made."""
    made = engine.consolidate(owner=caller.meaning(given.owner))
    return [wire.ConsolidatedOut.model_validate(each) for each in made]


@router.post("/work")
def work(_: Admin, engine: Engine) -> list[wire.WorkedOut]:
    """Do what waits for a model and nobody else does."""
    return [wire.WorkedOut.model_validate(each) for each in engine.work()]


@router.post("/drain")
def drain(_: Admin, engine: Engine, given: wire.Waiting) -> wire.DrainedOut:
    """Wait until the background has tried all that waits now; say whether it has."""
    return wire.DrainedOut(drained=engine.drain(given.timeout_s))


@router.post("/flush", status_code=204)
def flush(_: Admin, engine: Engine) -> None:
    """Write what waits to be written: access counts."""
    engine.flush()
