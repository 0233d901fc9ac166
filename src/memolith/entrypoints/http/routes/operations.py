"""Whether the server is well, and what it has counted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import BaseModel, Field

from memolith.entrypoints.http.callers import Admin, KeyedRoute
from memolith.entrypoints.http.problems import Problem, Wrong

if TYPE_CHECKING:
    from memolith.entrypoints.http.readiness import Readiness

router = APIRouter(tags=["operations"], route_class=KeyedRoute)

ALIVE, READY = "/healthz", "/readyz"


class Well(BaseModel):
    """The server is well."""

    status: Literal["ok"] = "ok"


class Ready(Well):
    """The server can do what it is there for."""

    checks: dict[str, str] = Field(
        description="How each thing is that was looked at.",
        examples=[{"read": "ok", "write": "ok", "embedder": "ok", "worker": "ok"}],
    )


@router.get(ALIVE)
async def healthz() -> Well:
    """Say that the process answers."""
    return Well()


@router.get(READY)
async def readyz(request: Request) -> Ready:
    """Say that the store can be read and written, the embedder answers, and the worker works.

    A problem names what is not so in `errors`: "failed", "slow", or "read-only".
    """
    readiness: Readiness = request.app.state.readiness
    states = await readiness.states()
    unwell = readiness.unwell(states)
    if unwell:
        wrong = [Wrong(field=name, problem=states[name]) for name in unwell]
        raise Problem(503, f"not ready: {', '.join(unwell)}", {"Retry-After": "1"}, wrong)
    return Ready(checks=dict(states))


@router.get("/metrics", response_class=Response)
def metrics(_: Admin, request: Request) -> Response:
    """Return what was counted, as Prometheus reads it."""
    return Response(
        request.app.state.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8"
    )
