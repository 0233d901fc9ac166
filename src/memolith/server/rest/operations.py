"""What concerns the whole store, for an admin: what is else done by schedule, or by hand."""

from __future__ import annotations

from typing import Final, Literal

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import BaseModel, Field

from memolith.server.auth import AdminDep, AuthenticatedRoute, EngineDep
from memolith.server.problems import FieldError, Problem
from memolith.server.readiness import Readiness
from memolith.server.rest import requests, responses

# What is meant where no body comes.
_ALL_OWNERS: Final = requests.OwnerRequest.model_validate({})
_DEFAULT_CLEANUP: Final = requests.CleanupRequest.model_validate({})
_DEFAULT_DRAIN: Final = requests.DrainRequest.model_validate({})

upkeep_router = APIRouter(prefix="/v1/upkeep", tags=["upkeep"], route_class=AuthenticatedRoute)


@upkeep_router.post("/cleanup")
def cleanup(
    caller: AdminDep, engine: EngineDep, body: requests.CleanupRequest = _DEFAULT_CLEANUP
) -> responses.CountOut:
    """Let memories fade that are too weak, restorably; say how many those are."""
    owner = caller.resolve_optional_owner(body.owner)
    count = engine.cleanup(owner=owner, below=body.below, dry_run=body.dry_run)
    return responses.CountOut(count=count)


@upkeep_router.post("/expire")
def expire(
    caller: AdminDep, engine: EngineDep, body: requests.OwnerRequest = _ALL_OWNERS
) -> responses.CountOut:
    """Mark the memories whose time is up as expired; say how many those are."""
    return responses.CountOut(count=engine.expire(owner=caller.resolve_optional_owner(body.owner)))


@upkeep_router.post("/consolidate")
def consolidate(
    caller: AdminDep, engine: EngineDep, body: requests.OwnerRequest = _ALL_OWNERS
) -> list[responses.ConsolidationOut]:
    """Make memories shorter by the rules of their owners' profiles; say what was made."""
    made = engine.consolidate(owner=caller.resolve_optional_owner(body.owner))
    return [responses.ConsolidationOut.model_validate(each) for each in made]


@upkeep_router.post("/work")
def work(_: AdminDep, engine: EngineDep) -> list[responses.WorkOut]:
    """Do what waits for a model and nobody else does."""
    return [responses.WorkOut.model_validate(each) for each in engine.work()]


@upkeep_router.post("/drain")
def drain(
    _: AdminDep, engine: EngineDep, body: requests.DrainRequest = _DEFAULT_DRAIN
) -> responses.DrainOut:
    """Wait until the background has tried all that waits now; say whether it has."""
    return responses.DrainOut(drained=engine.drain(body.timeout_s))


@upkeep_router.post("/flush", status_code=204)
def flush(_: AdminDep, engine: EngineDep) -> None:
    """Write what waits to be written: access counts."""
    engine.flush()


# --- Whether the server is well, and what it has counted


operations_router = APIRouter(tags=["operations"], route_class=AuthenticatedRoute)

LIVENESS_PATH, READINESS_PATH = "/healthz", "/readyz"


class LivenessOut(BaseModel):
    """The server is well."""

    status: Literal["ok"] = "ok"


class ReadinessOut(LivenessOut):
    """The server can do what it is there for."""

    checks: dict[str, str] = Field(
        description="How each thing is that was looked at.",
        examples=[{"read": "ok", "write": "ok", "embedder": "ok", "worker": "ok"}],
    )


@operations_router.get(LIVENESS_PATH)
async def healthz() -> LivenessOut:
    """Say that the process answers."""
    return LivenessOut()


@operations_router.get(READINESS_PATH)
async def readyz(request: Request) -> ReadinessOut:
    """Say that the store can be read and written, the embedder answers, and the worker works.

    A problem names what is not so in `errors`: "failed", "slow", or "read-only".
    """
    readiness: Readiness = request.app.state.readiness
    states = await readiness.get_states()
    unwell = readiness.find_unhealthy(states)
    if unwell:
        wrong = [FieldError(field=name, problem=states[name]) for name in unwell]
        raise Problem(503, f"not ready: {', '.join(unwell)}", {"Retry-After": "1"}, wrong)
    return ReadinessOut(checks=dict(states))


@operations_router.get("/metrics", response_class=Response)
def metrics(_: AdminDep, request: Request) -> Response:
    """Return what was counted, as Prometheus reads it."""
    return Response(
        request.app.state.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8"
    )
