"""Protocol of the client: encoding, calls, retries and errors, independent of the HTTP library."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from datetime import datetime
from typing import Any, TypeAlias
from urllib.parse import quote, urlsplit, urlunsplit

import msgspec

from memolith.domain.memories import Memory
from memolith.domain.messages import Message
from memolith.domain.records import Record
from memolith.errors import (
    Conflict,
    Forbidden,
    InvalidConfiguration,
    InvalidInput,
    MemolithError,
    ServiceFailed,
    StoreUnavailable,
)
from memolith.import_export.problems import UNKNOWN_PROBLEM, build_error
from memolith.policies.retries import RetryPolicy, parse_retry_after


def decode(value: Any, type_: Any) -> Any:
    """Return parsed JSON as a value of a type, for example a dataclass.

    Unknown fields are ignored.

    Raises:
        ValueError: The JSON does not match the type (`msgspec.ValidationError`).
    """
    return msgspec.convert(value, type_, dec_hook=_decode_record)


def _decode_record(type_: Any, value: Any) -> Any:
    """Decode a memory or a message: msgspec cannot decode a union of dataclasses."""
    if type_ is not Record:
        raise NotImplementedError(type_)
    return msgspec.convert(value, Memory if "owner_id" in value else Message)


def encode(value: object, field: str) -> Any:
    """Return an argument as a JSON value: datetimes in ISO 8601, iterables as lists.

    Args:
        value: The argument.
        field: Its name, for the error.

    Raises:
        InvalidInput: JSON cannot represent the value.
    """
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidInput(field, f"is {value}; must be a number")
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, datetime):
        return value.isoformat()
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: encode(getattr(value, each.name), field) for each in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): encode(each, field) for key, each in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, (bytes, bytearray)):
        return [encode(each, field) for each in value]
    raise InvalidInput(field, f"cannot be encoded as JSON: {type(value).__name__}")


# --- Calls and endpoints


QueryParams: TypeAlias = tuple[tuple[str, str], ...]
LineFactory: TypeAlias = Callable[[], Iterator[bytes]]
"""Creates the lines of a request body, anew for each attempt."""

JSON = "application/json"
LINES = "application/x-ndjson"

_QUERY_METHODS = frozenset({"GET", "DELETE"})
_PLACEHOLDER = "{"


@dataclass(frozen=True, slots=True)
class Call:
    """One request.

    Attributes:
        method: HTTP method.
        path: Path with quoted arguments.
        query: Query parameters.
        body: JSON value, or a `LineFactory`; None for no body.
        response_type: Type of the result; None if the response has no body.
        response_key: Key of the result in the response; empty for the whole response.
        use_idempotency_key: Whether to send an idempotency key, so that retries act once.
        is_retryable: Whether the request may be repeated without an idempotency key.
        owner: Owner to act for, if not the owner of the memory.
        timeout_s: Seconds added to the connection's timeout.
        argument_names: The client's argument names by the server's field names.
    """

    method: str
    path: str
    query: QueryParams = ()
    body: Any = None
    response_type: Any = None
    response_key: str = ""
    use_idempotency_key: bool = False
    is_retryable: bool = False
    owner: str | None = None
    timeout_s: float = 0.0
    argument_names: Mapping[str, str] = field(default_factory=dict)

    def parse_response(self, value: Any) -> Any:
        """Return the result from a parsed JSON response.

        Raises:
            ValueError: The response does not match the type.
            LookupError: The response has no `response_key`.
        """
        if self.response_type is None:
            return None
        return decode(value[self.response_key] if self.response_key else value, self.response_type)


CallSequence: TypeAlias = Generator[Call, Any, Any]
EndpointMethod: TypeAlias = Callable[..., CallSequence]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A method that sends one call: its arguments go into the path, and the query or the body.

    Attributes:
        method: HTTP method.
        path: Path with argument names in braces.
        response_type: See `Call`.
        response_key: See `Call`.
        use_idempotency_key: See `Call`.
        is_retryable: See `Call`; GET requests are always retryable.
        wire_names: The server's field names by argument names, if they differ.
    """

    method: str
    path: str
    response_type: Any = None
    response_key: str = ""
    use_idempotency_key: bool = False
    is_retryable: bool = False
    wire_names: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, **given: Any) -> CallSequence:
        """Send the call and return its result."""
        return (yield self.build_call(given))

    def build_call(self, arguments: Mapping[str, Any]) -> Call:
        """Return the call for the arguments."""
        rest = {
            self.wire_names.get(name, name): encode(value, name)
            for name, value in arguments.items()
            if _PLACEHOLDER + name not in self.path
        }
        is_query = self.method in _QUERY_METHODS
        return Call(
            self.method,
            format_path(self.path, arguments),
            build_query(rest) if is_query else (),
            None if is_query or not rest else rest,
            self.response_type,
            self.response_key,
            use_idempotency_key=self.use_idempotency_key,
            is_retryable=self.is_retryable or self.method == "GET",
            argument_names={there: here for here, there in self.wire_names.items()},
        )


def format_path(path: str, arguments: Mapping[str, Any]) -> str:
    """Return a path with quoted arguments; none of them can change the path's structure."""
    parts = path.split("/")
    return "/".join(
        _quote_segment(str(arguments[part[1:-1]])) if part.startswith(_PLACEHOLDER) else part
        for part in parts
    )


def _quote_segment(name: str) -> str:
    # A segment of dots alone would be resolved as a parent directory.
    return quote(name, safe="", errors="replace").replace(".", "%2E")


def build_query(arguments: Mapping[str, Any]) -> QueryParams:
    """Return arguments as query parameters, without those that are None."""
    pairs = (
        (name, each)
        for name, value in arguments.items()
        if value is not None
        for each in (value if isinstance(value, list) else [value])
    )
    return tuple((name, _format_query_value(each)) for name, each in pairs)


def _format_query_value(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


# --- Connection, responses and retries


API_KEY_VARIABLE = "MEMOLITH_API_KEY"
"""Environment variable with the API key, used if no key is passed."""

OWNER_HEADER = "X-Owner-Id"
IDEMPOTENCY_HEADER = "Idempotency-Key"

_SUCCESS_STATUSES = range(200, 300)
_INVALID_STATUSES = frozenset({400, 413, 415, 422})
_AUTH_STATUSES = frozenset({401, 403})
_CONFLICT_STATUS = 409
_BUSY_STATUSES = frozenset({429, 503})
_MAX_DETAIL_CHARS = 500
"""Maximum length of a server's message in an error. A guess."""

_LIST_ARGUMENTS = frozenset({"messages", "history"})
"""List arguments whose errors name the invalid entry."""

RETRY_POLICY = RetryPolicy(max_retries=5, first_pause_s=0.1, max_pause_s=2.0)


@dataclass(frozen=True, slots=True)
class RequestAttempt:
    """A request to send.

    Attributes:
        call: The call.
        headers: HTTP headers.
        timeout_s: Timeout of the response.
    """

    call: Call
    headers: Mapping[str, bytes]
    timeout_s: float


@dataclass(frozen=True, slots=True)
class RetryPause:
    """A pause before the next attempt."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Response:
    """An HTTP response with lower-case header names."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class RequestFailure:
    """A failed connection or a timeout.

    Attributes:
        problem: Description of the failure.
        is_unsent: Whether the server cannot have received the request.
        is_timeout: Whether the response timed out.
        waited_s: Time waited for a response, in seconds.
    """

    problem: str
    is_unsent: bool = False
    is_timeout: bool = False
    waited_s: float = 0.0


AttemptResult: TypeAlias = Response | RequestFailure | None
AttemptSteps: TypeAlias = Generator[RequestAttempt | RetryPause, AttemptResult, Any]


@dataclass(frozen=True, slots=True)
class ServiceConnection:
    """Address and settings of a server.

    Attributes:
        url: Base URL without a trailing slash.
        key: API key; empty for none.
        timeout_s: Timeout of a response.
        retry_policy: Policy for failed attempts.
    """

    url: str
    key: str = field(repr=False)
    timeout_s: float
    retry_policy: RetryPolicy = RETRY_POLICY

    def build_headers(self, call: Call, owner: str | None) -> dict[str, bytes]:
        """Return the headers of a call for an owner."""
        given = {"Accept": f"{JSON}, {LINES}".encode()}
        if self.key:
            given["Authorization"] = f"Bearer {self.key}".encode()
        if (named := call.owner or owner) is not None:
            given[OWNER_HEADER] = named.encode()
        if call.body is not None:
            given["Content-Type"] = (LINES if callable(call.body) else JSON).encode()
        return given

    def build_error(self, response: Response, argument_names: Mapping[str, str]) -> MemolithError:
        """Return the error that a response reports.

        Args:
            response: An unsuccessful response.
            argument_names: The client's argument names by the server's field names.
        """
        told = _parse_problem_document(response.body)
        detail = str(told.get("detail") or "")[:_MAX_DETAIL_CHARS]
        known = build_error(
            str(told.get("type", UNKNOWN_PROBLEM)), detail, _as_mapping(told.get("facts"))
        )
        return known or self._build_status_error(response, detail, told, argument_names)

    def _build_status_error(
        self,
        response: Response,
        detail: str,
        document: Mapping[str, Any],
        argument_names: Mapping[str, str],
    ) -> MemolithError:
        if response.status in _INVALID_STATUSES:
            wrong = _as_mapping(_get_first(document.get("errors")))
            field_ = _get_argument_name(str(wrong.get("field", "request")), argument_names)
            return InvalidInput(field_, str(wrong.get("problem", detail)))
        if response.status in _AUTH_STATUSES:
            return Forbidden(f"{self.url}: {detail or 'invalid API key'}")
        if response.status == _CONFLICT_STATUS:
            return Conflict(detail)
        return ServiceFailed(
            self.url,
            f"{detail or 'unexpected response'} (status {response.status})",
            status=response.status,
            retryable=response.status in _BUSY_STATUSES,
            retry_after_s=get_retry_after_s(response),
        )

    def build_connection_error(self, failure: RequestFailure) -> StoreUnavailable:
        """Return the error of a failed connection."""
        return StoreUnavailable(f"the server at {self.url} {failure.problem}", failure.waited_s)

    def build_invalid_response_error(self) -> ServiceFailed:
        """Return the error of a response that cannot be decoded."""
        return ServiceFailed(
            self.url, "sent an invalid response; check that it is a Memolith server"
        )

    def parse_response(self, call: Call, response: Response) -> Any:
        """Return the result of a call.

        Raises:
            MemolithError: The call failed, or its response cannot be decoded.
        """
        if response.status not in _SUCCESS_STATUSES:
            raise self.build_error(response, call.argument_names)
        try:
            return call.parse_response(
                json.loads(response.body) if call.response_type is not None else None
            )
        except (
            ValueError,
            TypeError,
            LookupError,
            AttributeError,
            ArithmeticError,
            RecursionError,
        ):
            raise self.build_invalid_response_error() from None  # it contains the response


def get_retry_after_s(response: Response) -> float | None:
    """Return the server's `Retry-After` in seconds; None if it sent none."""
    given = response.headers.get("retry-after")
    return None if given is None else parse_retry_after(given, response.headers.get("date", ""))


def should_retry(response: Response) -> bool:
    """Return whether the server did not process the request and asks for a retry."""
    if "retry-after" not in response.headers:
        return False
    if response.status == _CONFLICT_STATUS:
        return True
    is_own = _parse_problem_document(response.body).get("type", UNKNOWN_PROBLEM) != UNKNOWN_PROBLEM
    return response.status in _BUSY_STATUSES and not is_own


@dataclass
class CallRunner:
    """Runs a method: yields attempts and pauses to a transport and retries failed calls.

    Attributes:
        service: Connection to the server.
        owner: Owner to act for; None for calls that concern all owners.
        now_s: Monotonic clock, in seconds.
        get_jitter: Returns random numbers from 0 to 1.
        new_token: Returns new idempotency keys.
    """

    service: ServiceConnection
    owner: str | None
    now_s: Any
    get_jitter: Any
    new_token: Any

    def run(self, calls: CallSequence) -> AttemptSteps:
        """Yield the attempts and pauses of a method; return its result."""
        answer = None
        while True:
            try:
                call = calls.send(answer)
            except StopIteration as end:
                return end.value
            answer = yield from self.run_call(call)

    def run_call(self, call: Call) -> AttemptSteps:
        """Yield the attempts and pauses of one call; return its result."""
        headers = self.service.build_headers(call, self.owner)
        if call.use_idempotency_key:
            headers[IDEMPOTENCY_HEADER] = self.new_token().encode()
        sending = RequestAttempt(call, headers, self.service.timeout_s + call.timeout_s)
        started_s, tries = self.now_s(), 0
        while True:
            outcome = yield sending
            tries += 1
            pause_s = self._get_pause_s(call, outcome, tries, self.now_s() - started_s)
            if pause_s is None:
                break
            yield RetryPause(pause_s)
        if isinstance(outcome, Response):
            return self.service.parse_response(call, outcome)
        assert isinstance(outcome, RequestFailure)  # noqa: S101 - a transport answers each attempt
        waited_s = max(outcome.waited_s, self.now_s() - started_s)
        raise self.service.build_connection_error(replace(outcome, waited_s=waited_s))

    def _get_pause_s(
        self, call: Call, result: AttemptResult, tries: int, elapsed_s: float
    ) -> float | None:
        """Return the pause before the next attempt, in seconds; None to give up."""
        asked = None
        if isinstance(result, Response):
            if not should_retry(result):
                return None
            asked = get_retry_after_s(result)
        elif isinstance(result, RequestFailure):
            may_have_acted = not result.is_unsent and not (
                call.use_idempotency_key or call.is_retryable
            )
            if result.is_timeout or may_have_acted:
                return None
        return self.service.retry_policy.get_pause_s(tries, elapsed_s, asked, self.get_jitter())


def validate_url(url: str) -> str:
    """Return a server's base URL without a trailing slash.

    Raises:
        InvalidConfiguration: The URL is invalid, or contains credentials, a query or a fragment.
    """
    try:
        parts = urlsplit(url.strip())
        is_address = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_address = False
    if not is_address or parts.username or parts.password or parts.query or parts.fragment:
        problem = "must be a URL such as http://127.0.0.1:8377, without credentials"
        raise InvalidConfiguration("url", problem)
    return urlunsplit((parts.scheme, parts.netloc, parts.path.rstrip("/"), "", ""))


def validate_timeout(timeout_s: float) -> float:
    """Return a valid timeout, in seconds.

    Raises:
        InvalidConfiguration: The timeout is not a finite number above 0.
    """
    if not 0 < timeout_s < float("inf"):
        raise InvalidConfiguration("timeout_s", f"is {timeout_s}; must be more than 0")
    return timeout_s


def validate_key(key: str | None, env: Mapping[str, str]) -> str:
    """Return the API key: the argument, or the environment variable; empty for none.

    Raises:
        InvalidConfiguration: The key contains invalid characters. The error does not contain the
            key.
    """
    found = (env.get(API_KEY_VARIABLE, "") if key is None else key).strip()
    if not found.isascii() or not found.isprintable() or " " in found:
        raise InvalidConfiguration(
            "key", "is not a valid API key", "argument" if key else API_KEY_VARIABLE
        )
    return found


def _get_argument_name(location: str, argument_names: Mapping[str, str]) -> str:
    """Return the argument at a location: `messages.1.at` becomes `messages[1].at`."""
    name, *within = location.split(".")
    name = argument_names.get(name, name)
    if name not in _LIST_ARGUMENTS or not within:
        return name
    return ".".join((f"{name}[{within[0]}]", *within[1:]))


def _parse_problem_document(body: bytes) -> Mapping[str, Any]:
    """Return a parsed problem document, or an empty mapping."""
    try:
        return _as_mapping(json.loads(body))
    except (ValueError, RecursionError):
        return {}


def _get_first(value: object) -> object:
    return value[0] if isinstance(value, list) and value else None


def _as_mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
