"""Middleware of all requests: access checks, limits, request ids and logs."""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import monotonic, perf_counter
from typing import TYPE_CHECKING

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memolith.adapters.telemetry import SpanRecorder
from memolith.server.problems import Problem, build_response

if TYPE_CHECKING:
    from memolith.server.auth import Caller
    from memolith.server.metrics import Metrics

logger = logging.getLogger("memolith.http")

_WRITE_METHODS = ("POST", "PUT", "PATCH", "DELETE")
_JSON_MEDIA_TYPE = re.compile(r"application/([\w.+-]+\+)?(json|x-ndjson)\s*(;|$)", re.IGNORECASE)
_CROSS_SITE = ("cross-site", "same-site")
"""`Sec-Fetch-Site` value of requests that a page of another origin caused."""
_MULTIPART = "multipart/form-data"
_SINGLE_VALUE_HEADERS = (
    "host",
    "authorization",
    "x-owner-id",
    "origin",
    "content-type",
    "idempotency-key",
)
"""Headers that may occur once only; a proxy and the server could read different values."""
_BODY_TIMEOUT_S = 30.0
_MIN_BODY_BYTES_PER_S = 20_000
"""Limits for slow request bodies: a grace period, then a minimum rate. Guesses.

A body that never arrives would otherwise occupy a request slot forever.
"""
_REQUEST_ID = re.compile(r"[\w.:-]{1,100}")
_REQUEST_ID_BYTES = 12


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """Limits of the server.

    Attributes:
        allowed_hosts: Accepted `Host` headers without port; "*" accepts any.
        allowed_origins: Origins of web pages that may call the server.
        max_body_bytes: Maximum length of a body.
        max_concurrent_requests: Number of concurrent requests; further ones are rejected at once.
        upload_paths: Paths that accept a form with a file.
        probe_paths: Paths of health probes, which skip the host check and the overload check.
    """

    allowed_hosts: frozenset[str]
    allowed_origins: frozenset[str]
    max_body_bytes: int
    max_concurrent_requests: int
    upload_paths: frozenset[str] = frozenset()
    probe_paths: frozenset[str] = frozenset()


class RequestGuard:
    """ASGI middleware that checks requests, assigns ids, and records metrics and logs.

    Web pages must not reach a server on the user's machine: neither by DNS rebinding (`Host`), nor
    from another origin (`Origin`, `Sec-Fetch-Site`). Writes must be JSON, which a form cannot send.
    """

    def __init__(
        self,
        app: ASGIApp,
        limits: RequestLimits,
        metrics: Metrics,
        spans: SpanRecorder | None = None,
    ) -> None:
        """Wrap an application."""
        self._spans = spans
        self._app = app
        self._limits = limits
        self._metrics = metrics
        self._active_requests = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Process a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        given = headers.get("x-request-id", "")
        request_id = given if _REQUEST_ID.fullmatch(given) else secrets.token_hex(_REQUEST_ID_BYTES)
        scope.setdefault("state", {})["request_id"] = request_id
        started, status = perf_counter(), 500

        async def note(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                scope["state"]["answered"] = True
                told = MutableHeaders(scope=message)
                told["X-Request-Id"] = request_id
                told["X-Content-Type-Options"] = (
                    "nosniff"  # also for responses passed through from the upstream
                )
            await send(message)

        self._active_requests += 1
        self._metrics.active_requests.inc()
        try:
            with self._trace_request(scope, headers, lambda: status):
                await self._handle(scope, receive, note, headers)
        finally:
            self._active_requests -= 1
            self._metrics.active_requests.dec()
            self._log_request(scope, request_id, status, perf_counter() - started)

    @contextmanager
    def _trace_request(
        self, scope: Scope, headers: Headers, status: Callable[[], int]
    ) -> Iterator[None]:
        """Record a span of a request, if tracing is enabled."""
        if self._spans is None:
            yield
            return
        with self._spans.request(scope["method"], headers) as span:
            try:
                yield
            finally:
                request_id = scope["state"]["request_id"]
                self._spans.finish_request(
                    span, scope["method"], _get_route_path(scope), status(), request_id
                )

    async def _handle(self, scope: Scope, receive: Receive, send: Send, headers: Headers) -> None:
        problem = self._find_problem(scope, headers)
        request_id = scope["state"]["request_id"]
        if problem is not None:
            await build_response(problem, request_id, scope["path"])(scope, receive, send)
            return
        body = _LimitedBody(receive, self._limits.max_body_bytes)
        try:
            await self._app(scope, body, send)
        except Exception as error:  # noqa: BLE001 - neither the response nor uvicorn's log may contain a traceback
            self._log_fault(error, request_id)
            if not scope["state"].get("answered"):
                problem = Problem(500, "internal server error")
                await build_response(problem, request_id, scope["path"])(scope, receive, send)

    def _log_fault(self, error: Exception, request_id: str) -> None:
        """Log the location of an unexpected error; its message might contain user content."""
        frames = [
            f"{each.filename}:{each.lineno}" for each in traceback.extract_tb(error.__traceback__)
        ]
        logger.error(
            "unexpected error: %s at %s",
            type(error).__name__,
            " < ".join(reversed(frames[-5:])),
            extra={"request_id": request_id},
        )

    def _find_problem(self, scope: Scope, headers: Headers) -> Problem | None:
        """Return the problem of a request that must be rejected; None to process it."""
        is_probe = scope["path"] in self._limits.probe_paths
        return (
            (None if is_probe else self._check_host(headers) or self._check_load())
            or _find_duplicate_header(headers)
            or self._check_origin(headers)
            or self._check_length(headers)
            or self._check_media_type(scope, headers)
        )

    def _check_host(self, headers: Headers) -> Problem | None:
        hosts = self._limits.allowed_hosts
        if "*" not in hosts and _parse_host(headers.get("host", "")) not in hosts:
            return Problem(421, "the `Host` header is not allowed; see the setting `serve.hosts`")
        return None

    def _check_load(self) -> Problem | None:
        if self._active_requests > self._limits.max_concurrent_requests:
            return Problem(503, "too many concurrent requests", {"Retry-After": "1"})
        return None

    def _check_origin(self, headers: Headers) -> Problem | None:
        origin = headers.get("origin")
        if origin is None:  # images, scripts and links send no Origin
            is_strange = headers.get("sec-fetch-site") in _CROSS_SITE
        else:
            is_strange = origin not in self._limits.allowed_origins
        if is_strange:
            return Problem(
                403, "requests from this origin are not allowed; see the setting `serve.origins`"
            )
        return None

    def _check_length(self, headers: Headers) -> Problem | None:
        limits = self._limits
        length = headers.get("content-length", "0")
        if not length.isdecimal():
            return Problem(400, "Content-Length is not a number")
        if int(length) > limits.max_body_bytes:
            return Problem(413, _describe_body_limit(limits.max_body_bytes))
        return None

    def _check_media_type(self, scope: Scope, headers: Headers) -> Problem | None:
        if scope["method"] in _WRITE_METHODS and not self._is_media_type_allowed(scope, headers):
            return Problem(415, "the body of a write request must have the type application/json")
        return None

    def _is_media_type_allowed(self, scope: Scope, headers: Headers) -> bool:
        kind = headers.get("content-type", "")
        if kind.startswith(_MULTIPART):
            return scope["path"] in self._limits.upload_paths
        has_body = headers.get("content-length", "0") != "0" or "transfer-encoding" in headers
        return not has_body or bool(_JSON_MEDIA_TYPE.match(kind))

    def _log_request(self, scope: Scope, request_id: str, status: int, taken_s: float) -> None:
        route = _get_route_path(scope)
        self._metrics.observe(scope["method"], route, status, taken_s)
        logger.info(
            "%s %s %s",
            scope["method"],
            route or "-",
            status,
            extra={
                "request_id": request_id,
                "method": scope["method"],
                "route": route,
                "status": status,
                "taken_ms": round(taken_s * 1000, 2),
            },
        )


def _get_route_path(scope: Scope) -> str:
    return str(getattr(scope.get("route"), "path", ""))


def _find_duplicate_header(headers: Headers) -> Problem | None:
    for name in _SINGLE_VALUE_HEADERS:
        if len(headers.getlist(name)) > 1:
            return Problem(400, f"the header {name} must occur once")
    return None


def _describe_body_limit(max_bytes: int) -> str:
    return f"the request body exceeds {max_bytes:,} bytes"


def _parse_host(given: str) -> str:
    """Return the host name of a `Host` header, without port."""
    name, _, port = given.rpartition(":")
    return (name if name and port.isdecimal() else given).strip("[]").lower()


class _LimitedBody:
    """Passes on a request body and enforces its maximum length and minimum rate."""

    def __init__(self, receive: Receive, max_bytes: int) -> None:
        self._receive = receive
        self._remaining_bytes = self._max_bytes = max_bytes
        self._started_s: float | None = None
        self._is_complete = False

    async def __call__(self) -> Message:
        message = await (self._receive() if self._is_complete else self._receive_in_time())
        self._is_complete |= not message.get("more_body", False)
        self._remaining_bytes -= len(message.get("body", b""))
        if self._remaining_bytes < 0:
            raise HTTPException(413, _describe_body_limit(self._max_bytes))
        return message

    async def _receive_in_time(self) -> Message:
        if self._started_s is None:
            self._started_s = monotonic()
        taken = self._max_bytes - self._remaining_bytes
        until_s = self._started_s + _BODY_TIMEOUT_S + taken / _MIN_BODY_BYTES_PER_S
        try:
            async with asyncio.timeout(until_s - monotonic()):
                return await self._receive()
        except TimeoutError:
            problem = "the request body did not arrive in time"
            raise HTTPException(408, problem, {"Connection": "close"}) from None


@dataclass
class RateLimiter:
    """Limits the requests of each caller per minute, with bursts of up to a sixth of the limit.

    Attributes:
        per_minute: The limit; 0 for none.
    """

    per_minute: int
    now_s: Callable[[], float] = monotonic
    _tokens: dict[str, tuple[float, float]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, caller: Caller) -> None:
        """Count a request.

        Raises:
            Problem: The caller sent too many requests.
        """
        if not self.per_minute:
            return
        burst, a_second = max(1.0, self.per_minute / 6), self.per_minute / 60
        with self._lock:
            now = self.now_s()
            left, at = self._tokens.get(caller.name, (burst, now))
            left = min(burst, left + (now - at) * a_second)
            if left < 1:
                wait_s = max(1, round((1 - left) / a_second))
                raise Problem(429, "too many requests", {"Retry-After": str(wait_s)})
            self._tokens[caller.name] = (left - 1, now)
