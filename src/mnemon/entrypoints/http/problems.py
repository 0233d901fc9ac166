"""What went wrong, as problem documents (RFC 9457)."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from http import HTTPStatus
from math import ceil
from typing import TYPE_CHECKING, Any

from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException

from mnemon.entrypoints.statuses import status_of
from mnemon.errors import InvalidInput, MnemonError, ServiceFailed, StoreUnavailable
from mnemon.exchange.problems import UNKNOWN, Fact, facts_of, type_of
from mnemon.ports.idempotency import BeingDone

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fastapi import FastAPI, Request
    from starlette.responses import Response

logger = logging.getLogger(__name__)

MEDIA_TYPE = "application/problem+json"

_RETRY_S = 1
"""When to come again where nobody knows when it will be better."""


class Wrong(BaseModel):
    """One argument that can't be taken."""

    field: str = Field(description="Where it stands.", examples=["importance"])
    problem: str = Field(description="What is wrong with it.", examples=["must be 0..1"])


class ProblemDocument(BaseModel):
    """What went wrong (RFC 9457)."""

    type: str = Field(
        default=UNKNOWN,
        description="Names the kind of problem, where it has one.",
        examples=["urn:mnemon:error:not-found"],
    )
    title: str = Field(description="The status in words.", examples=["Not Found"])
    status: int = Field(description="The HTTP status.", examples=[404])
    detail: str = Field(
        "", description="What happened, without any content.", examples=["no memory '0190…'"]
    )
    errors: list[Wrong] = Field(default_factory=list, description="Arguments that can't be taken.")
    facts: dict[str, Fact] = Field(
        default_factory=dict,
        description="What is known of it, by name.",
        examples=[{"what": "memory", "id": "0190…"}],
    )
    request_id: str = Field("", description="As in the header X-Request-Id, and in the logs.")


@dataclass
class Problem(Exception):
    """An answer that ends a request here."""

    status: int
    detail: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    errors: Sequence[Wrong] = ()
    type: str = UNKNOWN
    facts: Mapping[str, Fact] = field(default_factory=dict)


def document(problem: Problem, request_id: str) -> ProblemDocument:
    """Return a problem as it is sent."""
    return ProblemDocument(
        type=problem.type,
        title=HTTPStatus(problem.status).phrase,
        status=problem.status,
        detail=problem.detail,
        errors=list(problem.errors),
        facts=dict(problem.facts),
        request_id=request_id,
    )


def answer(problem: Problem, request_id: str) -> Response:
    """Return the response of a problem."""
    body = document(problem, request_id).model_dump(exclude_defaults=False)
    return JSONResponse(body, problem.status, dict(problem.headers), media_type=MEDIA_TYPE)


def problem_of(error: MnemonError) -> Problem:
    """Return an error of the engine as a problem; its message holds no content."""
    wrong = []
    if isinstance(error, InvalidInput):
        wrong = [Wrong(field=error.field, problem=error.problem)]
    return Problem(
        status_of(error), str(error), _headers(error), wrong, type_of(error), facts_of(error)
    )


def _headers(error: MnemonError) -> Mapping[str, str]:
    if isinstance(error, ServiceFailed) and error.retryable:
        return {"Retry-After": str(ceil(error.retry_after_s or _RETRY_S))}
    if isinstance(error, (StoreUnavailable, BeingDone)):
        return {"Retry-After": str(_RETRY_S)}
    return {}


def _request_id(request: Request) -> str:
    return str(request.scope.get("state", {}).get("request_id", ""))


def install(app: FastAPI) -> None:
    """Let every error become a problem document."""
    app.add_exception_handler(Problem, _of_problem)
    app.add_exception_handler(MnemonError, _of_engine)
    app.add_exception_handler(RequestValidationError, _of_shape)
    app.add_exception_handler(HTTPException, _of_framework)


async def _of_problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, Problem)  # noqa: S101 - as installed
    return answer(error, _request_id(request))


async def _of_engine(request: Request, error: Exception) -> Response:
    assert isinstance(error, MnemonError)  # noqa: S101 - as installed
    problem = problem_of(error)
    if problem.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        logger.warning("%s: %s", type(error).__name__, error)
    return answer(problem, _request_id(request))


async def _of_shape(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101 - as installed
    wrong = [_wrong(each) for each in error.errors()]
    status = HTTPStatus.BAD_REQUEST if _is_no_json(error) else HTTPStatus.UNPROCESSABLE_ENTITY
    return answer(Problem(status, "the request can't be taken", errors=wrong), _request_id(request))


def _is_no_json(error: RequestValidationError) -> bool:
    return any(each["type"] == "json_invalid" for each in error.errors())


def _wrong(found: Mapping[str, Any]) -> Wrong:
    """Return where something is wrong, and what; never what was given, which may be secret."""
    place = ".".join(str(part) for part in found["loc"][1:])
    return Wrong(field=place or str(found["loc"][0]), problem=str(found["msg"]))


async def _of_framework(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - as installed
    problem = Problem(error.status_code, str(error.detail), dict(error.headers or {}))
    return answer(problem, _request_id(request))
