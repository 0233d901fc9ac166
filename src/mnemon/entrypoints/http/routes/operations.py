"""Whether the server is well, and what it has counted."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import BaseModel

from mnemon.entrypoints.http.callers import Admin, Engine

router = APIRouter(tags=["operations"])


class Well(BaseModel):
    """The server is well."""

    status: Literal["ok"] = "ok"


@router.get("/healthz")
async def healthz() -> Well:
    """Say that the process answers."""
    return Well()


@router.get("/readyz")
def readyz(engine: Engine) -> Well:
    """Say that the store can be read; a problem where it can't."""
    engine.api_keys()
    return Well()


@router.get("/metrics", response_class=Response)
def metrics(_: Admin, request: Request) -> Response:
    """Return what was counted, as Prometheus reads it."""
    return Response(
        request.app.state.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8"
    )
