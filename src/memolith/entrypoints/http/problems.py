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

from memolith.entrypoints.statuses import status_of
from memolith.errors import InvalidInput, MemolithError, ServiceFailed, StoreUnavailable
from memolith.exchange.problems import UNKNOWN, Fact, facts_of, type_of
from memolith.ports.idempotency import BeingDone

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fastapi import FastAPI, Request
    from starlette.responses import Response

logger = logging.getLogger(__name__)

MEDIA_TYPE = "application/problem+json"

CHAT = frozenset(
    {"/v1/chat/completions", "/v1/models", "/v1/completions", "/v1/responses", "/v1/embeddings"}
)
"""Where clients of OpenAI's protocol call, or try to: they show what stands in `error`, and nothing
else."""

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
        examples=["urn:memolith:error:not-found"],
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


def answer(problem: Problem, request_id: str, path: str = "") -> Response:
    """Return the response of a problem with a request to a path."""
    body = document(problem, request_id).model_dump(exclude_defaults=False)
    if path in CHAT:
        body["error"] = _for_chat(problem)
    return JSONResponse(body, problem.status, dict(problem.headers), media_type=MEDIA_TYPE)


def _for_chat(problem: Problem) -> dict[str, str | None]:
    """Return a problem as OpenAI's protocol has it."""
    wrong = "; ".join(f"{each.field}: {each.problem}" for each in problem.errors)
    is_said = not wrong or problem.detail == wrong
    is_ours = problem.status >= HTTPStatus.INTERNAL_SERVER_ERROR
    return {
        "message": problem.detail if is_said else f"{problem.detail}: {wrong}",
        "type": "server_error" if is_ours else "invalid_request_error",
        "param": problem.errors[0].field if problem.errors else None,
        "code": None,
    }


def problem_of(error: MemolithError) -> Problem:
    """Return an error of the engine as a problem; its message holds no content."""
    wrong = []
    if isinstance(error, InvalidInput):
        wrong = [Wrong(field=error.field, problem=error.problem)]
    return Problem(
        status_of(error), str(error), _headers(error), wrong, type_of(error), facts_of(error)
    )


def _headers(error: MemolithError) -> Mapping[str, str]:
    if isinstance(error, ServiceFailed) and error.retryable:
        return {"Retry-After": str(ceil(error.retry_after_s or _RETRY_S))}
    if isinstance(error, (StoreUnavailable, BeingDone)):
        return {"Retry-After": str(_RETRY_S)}
    return {}


def _answered(request: Request, problem: Problem) -> Response:
    request_id = str(request.scope.get("state", {}).get("request_id", ""))
    return answer(problem, request_id, request.scope["path"])


def install(app: FastAPI) -> None:
    """Let every error become a problem document."""
    app.add_exception_handler(Problem, _of_problem)
    app.add_exception_handler(MemolithError, _of_engine)
    app.add_exception_handler(RequestValidationError, _of_shape)
    app.add_exception_handler(HTTPException, _of_framework)


async def _of_problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, Problem)  # noqa: S101 - as installed
    return _answered(request, error)


async def _of_engine(request: Request, error: Exception) -> Response:
    assert isinstance(error, MemolithError)  # noqa: S101 - as installed
    problem = problem_of(error)
    if problem.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        logger.warning("%s: %s", type(error).__name__, error)
    return _answered(request, problem)


async def _of_shape(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101 - as installed
    wrong = [_wrong(each) for each in error.errors()]
    status = HTTPStatus.BAD_REQUEST if _is_no_json(error) else HTTPStatus.UNPROCESSABLE_ENTITY
    return _answered(request, Problem(status, "the request can't be taken", errors=wrong))


_NO_JSON = "json_invalid"
_BETTER_SAID = {
    "missing": "is missing",
    "extra_forbidden": "is not known here",
    "string_pattern_mismatch": "has not the form that is asked for",
    "bytes_type": "must be lines of JSON, of type application/x-ndjson",
}
"""By the kind of what is wrong, where the framework says it in words of Python or of patterns."""


def _is_no_json(error: RequestValidationError) -> bool:
    return any(each["type"] == _NO_JSON for each in error.errors())


def _wrong(found: Mapping[str, Any]) -> Wrong:
    """Return where something is wrong, and what; never what was given, which may be secret."""
    whole, *within = found["loc"]
    if found["type"] == _NO_JSON:  # it stands where, in letters
        after = f" after {within[0]} characters" if within else ""
        return Wrong(field=str(whole), problem=f"is no JSON{after}: {found['ctx']['error']}")
    # A place of the framework's own, as "literal['all']", is no place in the request.
    place = ".".join(part for part in map(str, within) if "[" not in part)
    problem = _BETTER_SAID.get(found["type"], str(found["msg"]).removeprefix("Value error, "))
    return Wrong(field=place or str(whole), problem=problem)


async def _of_framework(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - as installed
    told = str(error.detail)
    if told == HTTPStatus.NOT_FOUND.phrase:
        told = "there is no such path: GET /openapi.json names all"
    return _answered(request, Problem(error.status_code, told, dict(error.headers or {})))
