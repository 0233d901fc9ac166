"""What the clients of all services share: bounds on a call, and failures told without content."""

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
"""How long to wait for a connection, at most: a guess, as long as three lost packets take."""

MAX_BODY_BYTES: Final = 1 << 26
"""The longest body that is read: 256 vectors of 4,096 numbers take some 20 MB. A guess."""

UNREADABLE_ERRORS: Final = (ValueError, TypeError, KeyError, IndexError, AttributeError)
"""What clients raise on bodies that are not what they should be."""

_RETRYABLE: Final = frozenset({408, 409, 425, 429})
_PROBLEMS: Final[Mapping[int, str]] = {
    400: "refused what it was asked",
    401: "refused the key",
    402: "asks to be paid",
    403: "refused the key",
    404: "has no such model, or is not there",
    408: "took too long",
    413: "was given more than it takes",
    422: "refused what it was asked",
    429: "asks to wait",
    529: "is overloaded",
}
_SERVER_ERROR: Final = 500
_NOT_IMPLEMENTED: Final = 501  # "not implemented" will not be otherwise the next time
_REDIRECT: Final = range(300, 400)


def require_package(module: str, setting: str, *, extra: str | None = None) -> None:
    """Check that a service's client is installed; the extra is called as it is, or otherwise.

    Raises:
        InvalidConfiguration: It is not; the message names the extra that brings it.
    """
    if find_spec(module) is None:
        problem = f"{module!r} needs its client: pip install 'memolith[{extra or module}]'"
        raise InvalidConfiguration(setting, problem)


def status_failure(
    service: str, status: int, headers: Mapping[str, str] | None = None
) -> ServiceFailed:
    """Return what a status of HTTP means.

    What the service says to it is left out: it may repeat what it was asked, or the key.
    """
    known = "failed" if status >= _SERVER_ERROR else "did not answer"
    problem = "sent us elsewhere" if status in _REDIRECT else _PROBLEMS.get(status, known)
    given = headers or {}
    return ServiceFailed(
        service,
        f"{problem} (status {status})",
        status=status,
        retryable=status in _RETRYABLE or (status >= _SERVER_ERROR and status != _NOT_IMPLEMENTED),
        retry_after_s=parse_retry_after(given.get("retry-after", ""), given.get("date", "")),
    )


def unreachable_failure(service: str) -> ServiceFailed:
    """Return the failure of a service that can't be reached, or whose connection broke off."""
    return ServiceFailed(service, "can't be reached, or broke off", retryable=True)


def timeout_failure(service: str, timeout_s: float) -> ServiceFailed:
    """Return the failure of a service that took too long."""
    return ServiceFailed(service, f"gave no answer within {timeout_s:g} s", retryable=True)


def unreadable_failure(service: str) -> ServiceFailed:
    """Return the failure of a service whose answer is not what its protocol says."""
    return ServiceFailed(service, "gave an answer that can't be read", retryable=True)


def incomplete_failure(service: str) -> ServiceFailed:
    """Return the failure of a reply that did not come to its end."""
    return ServiceFailed(service, "broke off its reply", retryable=True)


def call_service(
    call: Callable[[], T],
    error_types: tuple[type[Exception], ...],
    to_failure: Callable[[Exception], ServiceFailed],
) -> T:
    """Return what a call of a client returns, its errors told in our words.

    Ours does not carry theirs along: it may hold what was asked, what came, or the key, and
    whoever prints a trace of errors prints all of them.

    Raises:
        ServiceFailed: It raised one of these.
    """
    ours = _IN_MODEL_CALL.set(True)
    try:
        return call()
    except error_types as error:
        failure = to_failure(error)
    finally:
        _IN_MODEL_CALL.reset(ours)
    raise failure


_END: Final = object()


def read_stream(
    events: Iterator[T],
    error_types: tuple[type[Exception], ...],
    to_failure: Callable[[Exception], ServiceFailed],
) -> Iterator[T]:
    """Yield what a stream brings, its errors told in our words."""
    while True:
        event: Any = call_service(lambda: next(events, _END), error_types, to_failure)
        if event is _END:
            return
        yield event


def dig(value: Any, *path: str | int) -> Any:
    """Return what lies deep in an answer, and None where anything on the way is missing."""
    for step in path:
        if isinstance(step, int):
            value = value[step] if isinstance(value, list) and len(value) > step else None
        elif isinstance(value, dict):
            value = value.get(step)
        else:
            value = getattr(value, step, None)
    return value


def token_count(value: Any) -> int:
    """Return a count of tokens as a service gave it; 0 where it gave none."""
    return value if isinstance(value, int) and value > 0 else 0


def find_http_library(client: type) -> Any:
    """Return the library that a class of HTTP clients is of: services' clients have had several."""
    kind = next(kind for kind in client.__mro__ if kind.__module__.startswith("httpx"))
    return sys.modules[kind.__module__.partition(".")[0]]


def build_http_options(httpx: Any, url: str, timeout_s: float) -> dict[str, Any]:
    """Return what a client of HTTP is made with.

    Nothing is waited for longer than the timeout, no body in one piece takes longer in all or is
    of unbounded length, no redirect is followed, and what is asked on this machine does not go
    through the environment's proxy: what is asked goes where it was meant to.

    Args:
        httpx: The library, `httpx` or one with the same names.
        url: Where the service is.
        timeout_s: For how long to wait, in seconds; a stream, for each piece of it.
    """

    class Bounded(httpx.SyncByteStream):  # type: ignore[misc] # which library is not known before
        def __init__(self, stream: Any, until_s: float | None) -> None:
            self._stream = stream
            self._until_s = until_s

        def __iter__(self) -> Iterator[bytes]:
            length = 0
            for part in self._stream:
                length += len(part)
                if length > MAX_BODY_BYTES:
                    raise httpx.ReadError("the body is too long")
                if self._until_s is not None and time.monotonic() > self._until_s:
                    raise httpx.ReadTimeout("the body took too long")
                yield part

        def close(self) -> None:
            self._stream.close()

    def begun(request: Any) -> None:
        request.extensions["memolith.until_s"] = time.monotonic() + timeout_s

    def bounded(response: Any) -> None:
        _HEADERS.set(response.headers)
        is_stream = response.headers.get("content-type", "").startswith(_STREAMS)
        until_s = response.request.extensions["memolith.until_s"]
        response.stream = Bounded(response.stream, None if is_stream else until_s)

    return {
        "timeout": httpx.Timeout(timeout_s, connect=min(timeout_s, CONNECT_TIMEOUT_S)),
        "follow_redirects": False,
        "mounts": proxy_exemptions(url),
        "event_hooks": {"request": [begun], "response": [bounded]},
    }


def proxy_exemptions(url: str) -> dict[str, None]:
    """Return what keeps a client from asking an address on this machine through a proxy."""
    host = urlsplit(url).hostname or ""
    try:
        is_near = ip_address(host).is_loopback
    except ValueError:
        is_near = host == "localhost"
    written = f"[{host}]" if ":" in host else host
    return {f"all://{written}": None} if is_near else {}


def last_response_headers() -> Mapping[str, str]:
    """Return the headers of this thread's last answer, for clients that do not hand them on."""
    return _HEADERS.get() or {}


_HEADERS: ContextVar[Mapping[str, str] | None] = ContextVar("memolith_headers", default=None)

_STREAMS: Final = ("text/event-stream", "application/x-ndjson")

_IN_MODEL_CALL: ContextVar[bool] = ContextVar("memolith_model_call", default=False)


def _allows_record(record: logging.LogRecord) -> bool:
    return record.levelno > logging.DEBUG or not _IN_MODEL_CALL.get()


def silence_debug_logs(*loggers: str) -> None:
    """Keep what clients note for debugging out of logs while they work for us.

    Some of it holds what was asked. Calls that a program makes itself with the same client are
    noted as ever.
    """
    for name in loggers:
        logging.getLogger(name).addFilter(_allows_record)
