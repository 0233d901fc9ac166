"""Routes for administrators: maintenance, health and metrics."""

from __future__ import annotations

from typing import Final, Literal

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import BaseModel, Field

from memolith.server.auth import AdminDep, AuthenticatedRoute, EngineDep
from memolith.server.problems import FieldError, Problem
from memolith.server.readiness import Readiness
from memolith.server.rest import requests, responses

# Defaults for requests without a body.
_ALL_OWNERS: Final = requests.OwnerRequest.model_validate({})
_DEFAULT_CLEANUP: Final = requests.CleanupRequest.model_validate({})
_DEFAULT_DRAIN: Final = requests.DrainRequest.model_validate({})

upkeep_router = APIRouter(prefix="/v1/upkeep", tags=["upkeep"], route_class=AuthenticatedRoute)


@upkeep_router.post("/cleanup")
def cleanup(
    caller: AdminDep, engine: EngineDep, body: requests.CleanupRequest = _DEFAULT_CLEANUP
) -> responses.CountOut:
    """Fade weak memories, restorably; return their number."""
    owner = caller.resolve_optional_owner(body.owner)
    count = engine.cleanup(owner=owner, below=body.below, dry_run=body.dry_run)
    return responses.CountOut(count=count)


@upkeep_router.post("/expire")
def expire(
    caller: AdminDep, engine: EngineDep, body: requests.OwnerRequest = _ALL_OWNERS
) -> responses.CountOut:
    """Expire memories whose time is over; return their number."""
    return responses.CountOut(count=engine.expire(owner=caller.resolve_optional_owner(body.owner)))


@upkeep_router.post("/consolidate")
def consolidate(
    caller: AdminDep, engine: EngineDep, body: requests.OwnerRequest = _ALL_OWNERS
) -> list[responses.ConsolidationOut]:
    """Consolidate memories by the rules of their owners' profiles; return the results."""
    made = engine.consolidate(owner=caller.resolve_optional_owner(body.owner))
    return [responses.ConsolidationOut.model_validate(each) for each in made]


@upkeep_router.post("/work")
def work(_: AdminDep, engine: EngineDep) -> list[responses.WorkOut]:
    """Run pending model work that no other process runs."""
    return [responses.WorkOut.model_validate(each) for each in engine.work()]


@upkeep_router.post("/drain")
def drain(
    _: AdminDep, engine: EngineDep, body: requests.DrainRequest = _DEFAULT_DRAIN
) -> responses.DrainOut:
    """Wait until the background has tried all pending work; return whether it has."""
    return responses.DrainOut(drained=engine.drain(body.timeout_s))


@upkeep_router.post("/flush", status_code=204)
def flush(_: AdminDep, engine: EngineDep) -> None:
    """Write buffered access counts to the store."""
    engine.flush()


# --- Health and metrics


operations_router = APIRouter(tags=["operations"], route_class=AuthenticatedRoute)

LIVENESS_PATH, READINESS_PATH = "/healthz", "/readyz"


class LivenessOut(BaseModel):
    """The server is running."""

    status: Literal["ok"] = "ok"


class ReadinessOut(LivenessOut):
    """The server is ready."""

    checks: dict[str, str] = Field(
        description="State of each check.",
        examples=[{"read": "ok", "write": "ok", "embedder": "ok", "worker": "ok"}],
    )


@operations_router.get(LIVENESS_PATH)
async def healthz() -> LivenessOut:
    """Report that the process is running."""
    return LivenessOut()


@operations_router.get(READINESS_PATH)
async def readyz(request: Request) -> ReadinessOut:
    """Report whether the store, the embedder and the job scheduler work.

    If not, `errors` lists the failed checks with their state: "failed", "slow" or "read-only".
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
    """Return the metrics in Prometheus' text format."""
    return Response(
        request.app.state.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8"
    )
