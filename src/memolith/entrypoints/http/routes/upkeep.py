"""What concerns the whole store, for an admin: what is else done by schedule, or by hand."""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter

from memolith.entrypoints.http.callers import Admin, Engine, KeyedRoute
from memolith.entrypoints.http.wire import answers, bodies

# What is meant where no body comes.
_ALL: Final = bodies.Whose.model_validate({})
_FADING: Final = bodies.Fading.model_validate({})
_WAITING: Final = bodies.Waiting.model_validate({})

router = APIRouter(prefix="/v1/upkeep", tags=["upkeep"], route_class=KeyedRoute)


@router.post("/cleanup")
def cleanup(caller: Admin, engine: Engine, given: bodies.Fading = _FADING) -> answers.CountOut:
    """Let memories fade that are too weak, restorably; say how many those are."""
    owner = caller.meaning(given.owner)
    count = engine.cleanup(owner=owner, below=given.below, dry_run=given.dry_run)
    return answers.CountOut(count=count)


@router.post("/expire")
def expire(caller: Admin, engine: Engine, given: bodies.Whose = _ALL) -> answers.CountOut:
    """Mark the memories whose time is up as expired; say how many those are."""
    return answers.CountOut(count=engine.expire(owner=caller.meaning(given.owner)))


@router.post("/consolidate")
def consolidate(
    caller: Admin, engine: Engine, given: bodies.Whose = _ALL
) -> list[answers.ConsolidatedOut]:
    """Make memories shorter by the rules of their owners' profiles; say what was made."""
    made = engine.consolidate(owner=caller.meaning(given.owner))
    return [answers.ConsolidatedOut.model_validate(each) for each in made]


@router.post("/work")
def work(_: Admin, engine: Engine) -> list[answers.WorkedOut]:
    """Do what waits for a model and nobody else does."""
    return [answers.WorkedOut.model_validate(each) for each in engine.work()]


@router.post("/drain")
def drain(_: Admin, engine: Engine, given: bodies.Waiting = _WAITING) -> answers.DrainedOut:
    """Wait until the background has tried all that waits now; say whether it has."""
    return answers.DrainedOut(drained=engine.drain(given.timeout_s))


@router.post("/flush", status_code=204)
def flush(_: Admin, engine: Engine) -> None:
    """Write what waits to be written: access counts."""
    engine.flush()
