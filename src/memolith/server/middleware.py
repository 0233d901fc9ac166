"""What stands in front of every route: who may ask from where, how much, and how often."""

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
"""What a browser says of a request that a page of another origin has made it send."""
_MULTIPART = "multipart/form-data"
_SINGLE_VALUE_HEADERS = (
    "host",
    "authorization",
    "x-owner-id",
    "origin",
    "content-type",
    "idempotency-key",
)
"""Of two of these somebody in between may have read the other."""
_BODY_TIMEOUT_S = 30.0
_MIN_BODY_BYTES_PER_S = 20_000
"""How long a body may take, and how much more of it must have come for each second beyond: guesses.
A request whose body never comes would keep its place among those under way for good."""
_REQUEST_ID = re.compile(r"[\w.:-]{1,100}")
_REQUEST_ID_BYTES = 12


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """What the server takes.

    Attributes:
        hosts: What `Host` may be, without a port; "*": anything.
        origins: Pages that may call it from a browser.
        body_bytes: How long a body may be.
        at_once: How many requests may be under way; what comes beyond is refused at once.
        uploads: Paths that take a form with a file.
        probes: Paths by which it is looked whether the server is well: by its address, and when it
            has much to do.
    """

    allowed_hosts: frozenset[str]
    allowed_origins: frozenset[str]
    max_body_bytes: int
    max_concurrent_requests: int
    upload_paths: frozenset[str] = frozenset()
    probe_paths: frozenset[str] = frozenset()


class RequestGuard:
    """Lets through what may pass, gives each request an id, counts and logs it.

    A page in somebody's browser must not reach the server: not by another name for its address
    (`Host`), and neither from another page (`Origin`, `Sec-Fetch-Site`), for whose sake writes must
    also be JSON, which a form can't send.
    """

    def __init__(
        self,
        app: ASGIApp,
        limits: RequestLimits,
        metrics: Metrics,
        spans: SpanRecorder | None = None,
    ) -> None:
        """Stand before an app."""
        self._spans = spans
        self._app = app
        self._limits = limits
        self._metrics = metrics
        self._active_requests = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Take a request."""
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
                told["X-Content-Type-Options"] = "nosniff"  # what others answer is passed on, too
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
        """Make a span of a request, where there are traces."""
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
        except Exception as error:  # noqa: BLE001 - no trace of it may reach a caller or the server's log
            self._log_fault(error, request_id)
            if not scope["state"].get("answered"):
                problem = Problem(500, "an unexpected error")
                await build_response(problem, request_id, scope["path"])(scope, receive, send)

    def _log_fault(self, error: Exception, request_id: str) -> None:
        """Log where an unforeseen error arose, but not what it says: that might quote a text."""
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
        """Return why a request may not pass; None: it may."""
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
            return Problem(421, "the server is not known by that name: see `hosts`")
        return None

    def _check_load(self) -> Problem | None:
        if self._active_requests > self._limits.max_concurrent_requests:
            return Problem(503, "too many requests are under way", {"Retry-After": "1"})
        return None

    def _check_origin(self, headers: Headers) -> Problem | None:
        origin = headers.get("origin")
        if origin is None:  # images, scripts and links have none, and could not say they may
            is_strange = headers.get("sec-fetch-site") in _CROSS_SITE
        else:
            is_strange = origin not in self._limits.allowed_origins
        if is_strange:
            return Problem(403, "pages of that origin may not call the server: see `origins`")
        return None

    def _check_length(self, headers: Headers) -> Problem | None:
        limits = self._limits
        length = headers.get("content-length", "0")
        if not length.isdecimal():
            return Problem(400, "Content-Length is no number")
        if int(length) > limits.max_body_bytes:
            return Problem(413, _describe_body_limit(limits.max_body_bytes))
        return None

    def _check_media_type(self, scope: Scope, headers: Headers) -> Problem | None:
        if scope["method"] in _WRITE_METHODS and not self._is_media_type_allowed(scope, headers):
            return Problem(415, "a write's body must be of type application/json")
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
            return Problem(400, f"{name} is given more than once")
    return None


def _describe_body_limit(max_bytes: int) -> str:
    return f"a body has at most {max_bytes:,} bytes"


def _parse_host(given: str) -> str:
    """Return the name of a `Host` header, without its port."""
    name, _, port = given.rpartition(":")
    return (name if name and port.isdecimal() else given).strip("[]").lower()


class _LimitedBody:
    """Gives a body on, as long as it is not too long, and comes."""

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
            problem = "the body did not come in time"
            raise HTTPException(408, problem, {"Connection": "close"}) from None


@dataclass
class RateLimiter:
    """Lets each caller so many requests a minute, a burst of a sixth of them at once.

    Attributes:
        a_minute: How many; 0: as many as they like.
    """

    per_minute: int
    now_s: Callable[[], float] = monotonic
    _tokens: dict[str, tuple[float, float]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, caller: Caller) -> None:
        """Count a request.

        Raises:
            Problem: There were too many.
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
