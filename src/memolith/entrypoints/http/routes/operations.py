"""Whether the server is well, and what it has counted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import BaseModel, Field

from memolith.entrypoints.http.callers import AdminDep, AuthenticatedRoute
from memolith.entrypoints.http.problems import FieldError, Problem

if TYPE_CHECKING:
    from memolith.entrypoints.http.readiness import Readiness

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
