"""HTTP helpers of all service clients: timeouts, size limits, and errors without content."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from importlib.util import find_spec
from ipaddress import ip_address
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

from memolith.errors import InvalidConfiguration, ServiceFailed
from memolith.policies.retries import parse_retry_after

T = TypeVar("T")

CONNECT_TIMEOUT_S: Final = 10.0
"""Longest wait for a connection: as long as three lost packets take. A guess."""

MAX_BODY_BYTES: Final = 1 << 26
"""Longest accepted body: 256 vectors of 4,096 numbers take about 20 MB. A guess."""

UNREADABLE_ERRORS: Final = (ValueError, TypeError, KeyError, IndexError, AttributeError)
"""Exceptions that clients raise on unexpected bodies."""

_RETRYABLE: Final = frozenset({408, 409, 425, 429})
_PROBLEMS: Final[Mapping[int, str]] = {
    400: "rejected the request",
    401: "rejected the API key",
    402: "requires payment",
    403: "rejected the API key",
    404: "has no such model or endpoint",
    408: "timed out",
    413: "rejected the request as too large",
    422: "rejected the request",
    429: "rate limit exceeded",
    529: "is overloaded",
}
_SERVER_ERROR: Final = 500
_NOT_IMPLEMENTED: Final = 501  # "not implemented": retrying is pointless
_REDIRECT: Final = range(300, 400)


def require_package(module: str, setting: str, *, extra: str | None = None) -> None:
    """Check that a service's client package is installed.

    The extra that installs it has the name of the module unless `extra` is given.

    Raises:
        InvalidConfiguration: It is not installed; the message names the extra.
    """
    if find_spec(module) is None:
        problem = f"{module!r} needs its client: pip install 'memolith[{extra or module}]'"
        raise InvalidConfiguration(setting, problem)


def status_failure(
    service: str, status: int, headers: Mapping[str, str] | None = None
) -> ServiceFailed:
    """Return the failure for an HTTP status.

    The response body is left out, since it may repeat the request or the key.
    """
    default = "failed" if status >= _SERVER_ERROR else "sent an unexpected response"
    problem = (
        "sent an unexpected redirect" if status in _REDIRECT else _PROBLEMS.get(status, default)
    )
    received = headers or {}
    return ServiceFailed(
        service,
        f"{problem} (status {status})",
        status=status,
        retryable=status in _RETRYABLE or (status >= _SERVER_ERROR and status != _NOT_IMPLEMENTED),
        retry_after_s=parse_retry_after(received.get("retry-after", ""), received.get("date", "")),
    )


def unreachable_failure(service: str) -> ServiceFailed:
    """Return the failure of a service that is unreachable or closed the connection."""
    return ServiceFailed(service, "is unreachable or closed the connection", retryable=True)


def timeout_failure(service: str, timeout_s: float) -> ServiceFailed:
    """Return the failure of a service that timed out."""
    return ServiceFailed(service, f"timed out after {timeout_s:g} s", retryable=True)


def unreadable_failure(service: str) -> ServiceFailed:
    """Return the failure of a service whose response violates its protocol."""
    return ServiceFailed(service, "sent an unreadable response", retryable=True)


def incomplete_failure(service: str) -> ServiceFailed:
    """Return the failure of a service whose reply is incomplete."""
    return ServiceFailed(service, "interrupted its reply", retryable=True)


def call_service(
    call: Callable[[], T],
    error_types: tuple[type[Exception], ...],
    to_failure: Callable[[Exception], ServiceFailed],
) -> T:
    """Call a client and translate its errors.

    The client's error is not chained: it may contain the request, the response or the key, and
    tracebacks show chained errors.

    Raises:
        ServiceFailed: The client raised one of `error_types`.
    """
    token = _IN_MODEL_CALL.set(True)
    try:
        return call()
    except error_types as error:
        failure = to_failure(error)
    finally:
        _IN_MODEL_CALL.reset(token)
    raise failure


_END: Final = object()


def read_stream(
    events: Iterator[T],
    error_types: tuple[type[Exception], ...],
    to_failure: Callable[[Exception], ServiceFailed],
) -> Iterator[T]:
    """Yield the events of a stream and translate the client's errors."""
    while True:
        event: Any = call_service(lambda: next(events, _END), error_types, to_failure)
        if event is _END:
            return
        yield event


def dig(value: Any, *path: str | int) -> Any:
    """Return a value at a path in a response, or None if any part of the path is missing."""
    for step in path:
        if isinstance(step, int):
            value = value[step] if isinstance(value, list) and len(value) > step else None
        elif isinstance(value, dict):
            value = value.get(step)
        else:
            value = getattr(value, step, None)
    return value


def token_count(value: Any) -> int:
    """Return a token count from a response, or 0 if it is missing or invalid."""
    return value if isinstance(value, int) and value > 0 else 0


def find_http_library(client: type) -> Any:
    """Return the HTTP library of a client class; different versions use different ones."""
    kind = next(kind for kind in client.__mro__ if kind.__module__.startswith("httpx"))
    return sys.modules[kind.__module__.partition(".")[0]]


def build_http_options(httpx: Any, url: str, timeout_s: float) -> dict[str, Any]:
    """Return the constructor arguments of an HTTP client.

    The timeout limits each wait, and the whole of an unstreamed body. Bodies are limited in size,
    redirects are not followed, and requests to this machine bypass the environment's proxy.

    Args:
        httpx: The library, `httpx` or a compatible one.
        url: URL of the service.
        timeout_s: Timeout in seconds; for a stream, of each part.
    """

    class Bounded(httpx.SyncByteStream):  # type: ignore[misc] # which library is not known before
        def __init__(self, stream: Any, deadline_s: float | None) -> None:
            self._stream = stream
            self._deadline_s = deadline_s

        def __iter__(self) -> Iterator[bytes]:
            length = 0
            for part in self._stream:
                length += len(part)
                if length > MAX_BODY_BYTES:
                    raise httpx.ReadError("the body is too long")
                if self._deadline_s is not None and time.monotonic() > self._deadline_s:
                    raise httpx.ReadTimeout("the body took too long")
                yield part

        def close(self) -> None:
            self._stream.close()

    def set_deadline(request: Any) -> None:
        request.extensions["memolith.until_s"] = time.monotonic() + timeout_s

    def limit_body(response: Any) -> None:
        _HEADERS.set(response.headers)
        is_stream = response.headers.get("content-type", "").startswith(_STREAMS)
        deadline_s = response.request.extensions["memolith.until_s"]
        response.stream = Bounded(response.stream, None if is_stream else deadline_s)

    return {
        "timeout": httpx.Timeout(timeout_s, connect=min(timeout_s, CONNECT_TIMEOUT_S)),
        "follow_redirects": False,
        "mounts": proxy_exemptions(url),
        "event_hooks": {"request": [set_deadline], "response": [limit_body]},
    }


def proxy_exemptions(url: str) -> dict[str, None]:
    """Return the proxy exemption for a URL on this machine; empty for other URLs."""
    host = urlsplit(url).hostname or ""
    try:
        is_loopback = ip_address(host).is_loopback
    except ValueError:
        is_loopback = host == "localhost"
    url_host = f"[{host}]" if ":" in host else host
    return {f"all://{url_host}": None} if is_loopback else {}


def last_response_headers() -> Mapping[str, str]:
    """Return the headers of this thread's last response, for clients that do not expose them."""
    return _HEADERS.get() or {}


_HEADERS: ContextVar[Mapping[str, str] | None] = ContextVar("memolith_headers", default=None)

_STREAMS: Final = ("text/event-stream", "application/x-ndjson")

_IN_MODEL_CALL: ContextVar[bool] = ContextVar("memolith_model_call", default=False)


def _allows_record(record: logging.LogRecord) -> bool:
    return record.levelno > logging.DEBUG or not _IN_MODEL_CALL.get()


def silence_debug_logs(*loggers: str) -> None:
    """Suppress debug logs of clients during our calls.

    They may contain prompts. Other calls of the program with the same client are logged as usual.
    """
    for name in loggers:
        logging.getLogger(name).addFilter(_allows_record)
