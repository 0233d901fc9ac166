"""What went wrong, as problem documents (RFC 9457)."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from math import ceil
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.responses import Response

from memolith.error_codes import get_http_status
from memolith.errors import InvalidInput, MemolithError, ServiceFailed, StoreUnavailable
from memolith.import_export.problems import (
    UNKNOWN_PROBLEM,
    ErrorFact,
    get_error_facts,
    get_problem_type,
)
from memolith.ports.service import RequestInProgress

logger = logging.getLogger(__name__)

MEDIA_TYPE = "application/problem+json"

OPENAI_PATHS = frozenset(
    {"/v1/chat/completions", "/v1/models", "/v1/completions", "/v1/responses", "/v1/embeddings"}
)
"""Where clients of OpenAI's protocol call, or try to: they show what stands in `error`, and nothing
else."""

_DEFAULT_RETRY_AFTER_S = 1
"""When to come again where nobody knows when it will be better."""


class FieldError(BaseModel):
    """One argument that can't be taken."""

    field: str = Field(description="Where it stands.", examples=["importance"])
    problem: str = Field(description="What is wrong with it.", examples=["must be 0..1"])


class ProblemDocument(BaseModel):
    """What went wrong (RFC 9457)."""

    type: str = Field(
        default=UNKNOWN_PROBLEM,
        description="Names the kind of problem, where it has one.",
        examples=["urn:memolith:error:not-found"],
    )
    title: str = Field(description="The status in words.", examples=["Not Found"])
    status: int = Field(description="The HTTP status.", examples=[404])
    detail: str = Field(
        "", description="What happened, without any content.", examples=["no memory '0190…'"]
    )
    errors: list[FieldError] = Field(
        default_factory=list, description="Arguments that can't be taken."
    )
    facts: dict[str, ErrorFact] = Field(
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
    errors: Sequence[FieldError] = ()
    type: str = UNKNOWN_PROBLEM
    facts: Mapping[str, ErrorFact] = field(default_factory=dict)


def build_document(problem: Problem, request_id: str) -> ProblemDocument:
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


def build_response(problem: Problem, request_id: str, path: str = "") -> Response:
    """Return the response of a problem with a request to a path."""
    body = build_document(problem, request_id).model_dump(exclude_defaults=False)
    if path in OPENAI_PATHS:
        body["error"] = _build_openai_error(problem)
    return JSONResponse(body, problem.status, dict(problem.headers), media_type=MEDIA_TYPE)


def _build_openai_error(problem: Problem) -> dict[str, str | None]:
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


def build_problem(error: MemolithError) -> Problem:
    """Return an error of the engine as a problem; its message holds no content."""
    wrong = []
    if isinstance(error, InvalidInput):
        wrong = [FieldError(field=error.field, problem=error.problem)]
    return Problem(
        get_http_status(error),
        str(error),
        _build_retry_headers(error),
        wrong,
        get_problem_type(error),
        get_error_facts(error),
    )


def _build_retry_headers(error: MemolithError) -> Mapping[str, str]:
    if isinstance(error, ServiceFailed) and error.retryable:
        return {"Retry-After": str(ceil(error.retry_after_s or _DEFAULT_RETRY_AFTER_S))}
    if isinstance(error, (StoreUnavailable, RequestInProgress)):
        return {"Retry-After": str(_DEFAULT_RETRY_AFTER_S)}
    return {}


def _respond(request: Request, problem: Problem) -> Response:
    request_id = str(request.scope.get("state", {}).get("request_id", ""))
    return build_response(problem, request_id, request.scope["path"])


def install_handlers(app: FastAPI) -> None:
    """Let every error become a problem document."""
    app.add_exception_handler(Problem, _handle_problem)
    app.add_exception_handler(MemolithError, _handle_engine_error)
    app.add_exception_handler(RequestValidationError, _handle_validation_error)
    app.add_exception_handler(HTTPException, _handle_http_exception)


async def _handle_problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, Problem)  # noqa: S101 - as installed
    return _respond(request, error)


async def _handle_engine_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, MemolithError)  # noqa: S101 - as installed
    problem = build_problem(error)
    if problem.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        logger.warning("%s: %s", type(error).__name__, error)
    return _respond(request, problem)


async def _handle_validation_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101 - as installed
    wrong = [_build_field_error(each) for each in error.errors()]
    status = HTTPStatus.BAD_REQUEST if _is_invalid_json(error) else HTTPStatus.UNPROCESSABLE_ENTITY
    return _respond(request, Problem(status, "the request can't be taken", errors=wrong))


_INVALID_JSON = "json_invalid"
_MESSAGES = {
    "missing": "is missing",
    "extra_forbidden": "is not known here",
    "string_pattern_mismatch": "has not the form that is asked for",
    "bytes_type": "must be lines of JSON, of type application/x-ndjson",
}
"""By the kind of what is wrong, where the framework says it in words of Python or of patterns."""


def _is_invalid_json(error: RequestValidationError) -> bool:
    return any(each["type"] == _INVALID_JSON for each in error.errors())


def _build_field_error(error: Mapping[str, Any]) -> FieldError:
    """Return where something is wrong, and what; never what was given, which may be secret."""
    whole, *within = error["loc"]
    if error["type"] == _INVALID_JSON:  # it stands where, in letters
        after = f" after {within[0]} characters" if within else ""
        return FieldError(field=str(whole), problem=f"is no JSON{after}: {error['ctx']['error']}")
    # A place of the framework's own, as "literal['all']", is no place in the request.
    place = ".".join(part for part in map(str, within) if "[" not in part)
    problem = _MESSAGES.get(error["type"], str(error["msg"]).removeprefix("Value error, "))
    return FieldError(field=place or str(whole), problem=problem)


async def _handle_http_exception(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - as installed
    told = str(error.detail)
    if told == HTTPStatus.NOT_FOUND.phrase:
        told = "there is no such path: GET /openapi.json names all"
    return _respond(request, Problem(error.status_code, told, dict(error.headers or {})))
