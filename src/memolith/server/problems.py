"""Errors as problem documents (RFC 9457)."""

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
"""Paths of the OpenAI protocol. Its clients read only the `error` object of an error response."""

_DEFAULT_RETRY_AFTER_S = 1
"""`Retry-After` in seconds, if the error does not determine it."""


class FieldError(BaseModel):
    """One invalid argument."""

    field: str = Field(description="Location of the argument.", examples=["importance"])
    problem: str = Field(description="Description of the error.", examples=["must be 0..1"])


class ProblemDocument(BaseModel):
    """A problem document (RFC 9457)."""

    type: str = Field(
        default=UNKNOWN_PROBLEM,
        description="Type of the problem, if it has one.",
        examples=["urn:memolith:error:not-found"],
    )
    title: str = Field(description="Reason phrase of the status.", examples=["Not Found"])
    status: int = Field(description="HTTP status.", examples=[404])
    detail: str = Field(
        "", description="Description without user content.", examples=["no memory '0190…'"]
    )
    errors: list[FieldError] = Field(default_factory=list, description="Invalid arguments.")
    facts: dict[str, ErrorFact] = Field(
        default_factory=dict,
        description="Facts about the error, by name.",
        examples=[{"what": "memory", "id": "0190…"}],
    )
    request_id: str = Field(
        "", description="Request id, as in the X-Request-Id header and the logs."
    )


@dataclass
class Problem(Exception):
    """An error that ends a request with a problem document."""

    status: int
    detail: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    errors: Sequence[FieldError] = ()
    type: str = UNKNOWN_PROBLEM
    facts: Mapping[str, ErrorFact] = field(default_factory=dict)


def build_document(problem: Problem, request_id: str) -> ProblemDocument:
    """Return the problem document of a request."""
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
    """Return the response for a problem of a request."""
    body = build_document(problem, request_id).model_dump(exclude_defaults=False)
    if path in OPENAI_PATHS:
        body["error"] = _build_openai_error(problem)
    return JSONResponse(body, problem.status, dict(problem.headers), media_type=MEDIA_TYPE)


def _build_openai_error(problem: Problem) -> dict[str, str | None]:
    """Return a problem as an error object of the OpenAI protocol."""
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
    """Return an engine error as a problem; its message contains no user content."""
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
    """Install handlers that turn all errors into problem documents."""
    app.add_exception_handler(Problem, _handle_problem)
    app.add_exception_handler(MemolithError, _handle_engine_error)
    app.add_exception_handler(RequestValidationError, _handle_validation_error)
    app.add_exception_handler(HTTPException, _handle_http_exception)


async def _handle_problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, Problem)  # noqa: S101 - installed for this type
    return _respond(request, error)


async def _handle_engine_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, MemolithError)  # noqa: S101 - installed for this type
    problem = build_problem(error)
    if problem.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        logger.warning("%s: %s", type(error).__name__, error)
    return _respond(request, problem)


async def _handle_validation_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101 - installed for this type
    wrong = [_build_field_error(each) for each in error.errors()]
    status = HTTPStatus.BAD_REQUEST if _is_invalid_json(error) else HTTPStatus.UNPROCESSABLE_ENTITY
    return _respond(request, Problem(status, "invalid request", errors=wrong))


_INVALID_JSON = "json_invalid"
_MESSAGES = {
    "missing": "is missing",
    "extra_forbidden": "unknown argument",
    "string_pattern_mismatch": "has an invalid format",
    "bytes_type": "must be lines of JSON, of type application/x-ndjson",
}
"""Messages by pydantic error type, where pydantic's message shows Python terms or patterns."""


def _is_invalid_json(error: RequestValidationError) -> bool:
    return any(each["type"] == _INVALID_JSON for each in error.errors())


def _build_field_error(error: Mapping[str, Any]) -> FieldError:
    """Return the location and message of a validation error, without the rejected value."""
    whole, *within = error["loc"]
    if error["type"] == _INVALID_JSON:  # the location is a character position
        after = f" after {within[0]} characters" if within else ""
        return FieldError(field=str(whole), problem=f"invalid JSON{after}: {error['ctx']['error']}")
    # Skip parts added by pydantic, for example "literal['all']".
    place = ".".join(part for part in map(str, within) if "[" not in part)
    problem = _MESSAGES.get(error["type"], str(error["msg"]).removeprefix("Value error, "))
    return FieldError(field=place or str(whole), problem=problem)


async def _handle_http_exception(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - installed for this type
    told = str(error.detail)
    if told == HTTPStatus.NOT_FOUND.phrase:
        told = "unknown path; see GET /openapi.json"
    return _respond(request, Problem(error.status_code, told, dict(error.headers or {})))
