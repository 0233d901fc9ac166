"""Values of the library, read from what a service sends; and arguments, as it takes them."""

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
    """Return parsed JSON as a value of a type, for example a dataclass. Unknown fields are ignored.

    Raises:
        ValueError: The JSON does not match the type (`msgspec.ValidationError`).
    """
    return msgspec.convert(value, type_, dec_hook=_decode_record)


def _decode_record(type_: Any, value: Any) -> Any:
    """Decode a memory or a message: msgspec cannot tell two dataclasses apart."""
    if type_ is not Record:
        raise NotImplementedError(type_)
    return msgspec.convert(value, Memory if "owner_id" in value else Message)


def encode(value: object, field: str) -> Any:
    """Return an argument as JSON has it: instants in ISO 8601, what is like a list as a list.

    Args:
        value: The argument.
        field: Its name, for the error.

    Raises:
        InvalidInput: There is no such thing in JSON.
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
    raise InvalidInput(field, f"can't be sent to a service: it is a {type(value).__name__}")


# --- Calls of a service, as values; and methods, as generators of calls


QueryParams: TypeAlias = tuple[tuple[str, str], ...]
LineFactory: TypeAlias = Callable[[], Iterator[bytes]]
"""Makes the lines of a body, anew at each try."""

JSON = "application/json"
LINES = "application/x-ndjson"

_QUERY_METHODS = frozenset({"GET", "DELETE"})
_PLACEHOLDER = "{"


@dataclass(frozen=True, slots=True)
class Call:
    """One request.

    Attributes:
        method: Of HTTP.
        path: With what it names quoted.
        query: What stands after it.
        body: As JSON has it, or lines; None: there is none.
        answer: What the answer is; None: nothing.
        inside: The part of the answer that is meant; "": all of it.
        once: Whether the service does it once, however often it is sent with the same key.
        again: Whether doing it twice does no harm.
        owner: Whom it concerns, where not the owner whose memory it is.
        timeout_s: How long the answer may take beyond what is usual.
        told: What arguments are called here that the service calls otherwise.
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
        """Return the answer, read from parsed JSON.

        Raises:
            ValueError, TypeError, KeyError: It is none.
        """
        if self.response_type is None:
            return None
        return decode(value[self.response_key] if self.response_key else value, self.response_type)


CallSequence: TypeAlias = Generator[Call, Any, Any]
EndpointMethod: TypeAlias = Callable[..., CallSequence]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A method that is one call: its arguments go into the path, and the query or the body.

    Attributes:
        method: Of HTTP.
        path: With names of arguments in braces.
        answer: See `Call`.
        inside: See `Call`.
        once: See `Call`.
        again: See `Call`; what only reads may always be sent again.
        renamed: What arguments are called there, where not as here.
    """

    method: str
    path: str
    response_type: Any = None
    response_key: str = ""
    use_idempotency_key: bool = False
    is_retryable: bool = False
    wire_names: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, **given: Any) -> CallSequence:
        """Ask, and return what is answered."""
        return (yield self.build_call(given))

    def build_call(self, arguments: Mapping[str, Any]) -> Call:
        """Return the call of such arguments."""
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
    """Return a path with arguments in their places; none of them can become another path."""
    parts = path.split("/")
    return "/".join(
        _quote_segment(str(arguments[part[1:-1]])) if part.startswith(_PLACEHOLDER) else part
        for part in parts
    )


def _quote_segment(name: str) -> str:
    # A name of dots alone would be taken for a step up.
    return quote(name, safe="", errors="replace").replace(".", "%2E")


def build_query(arguments: Mapping[str, Any]) -> QueryParams:
    """Return arguments as they stand after a path; what is None is left out."""
    pairs = (
        (name, each)
        for name, value in arguments.items()
        if value is not None
        for each in (value if isinstance(value, list) else [value])
    )
    return tuple((name, _format_query_value(each)) for name, each in pairs)


def _format_query_value(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


# --- A service as its client knows it: where it is, how it is asked, what its answers mean


API_KEY_VARIABLE = "MEMOLITH_API_KEY"
"""The environment variable that holds the key, where none is given."""

OWNER_HEADER = "X-Owner-Id"
IDEMPOTENCY_HEADER = "Idempotency-Key"

_SUCCESS_STATUSES = range(200, 300)
_INVALID_STATUSES = frozenset({400, 413, 415, 422})
_AUTH_STATUSES = frozenset({401, 403})
_CONFLICT_STATUS = 409
_BUSY_STATUSES = frozenset({429, 503})
_MAX_DETAIL_CHARS = 500
"""How much of what a service says an error repeats: a guess."""

_LIST_ARGUMENTS = frozenset({"messages", "history"})
"""Arguments of which the library says which entry is wrong."""

RETRY_POLICY = RetryPolicy(max_retries=5, first_pause_s=0.1, max_pause_s=2.0)


@dataclass(frozen=True, slots=True)
class RequestAttempt:
    """A request to be sent.

    Attributes:
        call: What is asked.
        headers: What goes with it.
        timeout_s: How long the answer may take.
    """

    call: Call
    headers: Mapping[str, bytes]
    timeout_s: float


@dataclass(frozen=True, slots=True)
class RetryPause:
    """A pause before the next try."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Response:
    """What was answered."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class RequestFailure:
    """No answer: the connection failed, or it took too long.

    Attributes:
        problem: What happened, in a phrase.
        is_unsent: Whether the service can't have heard of it.
        is_overdue: Whether it took too long.
        waited_s: For how long it was waited.
    """

    problem: str
    is_unsent: bool = False
    is_timeout: bool = False
    waited_s: float = 0.0


AttemptResult: TypeAlias = Response | RequestFailure | None
AttemptSteps: TypeAlias = Generator[RequestAttempt | RetryPause, AttemptResult, Any]


@dataclass(frozen=True, slots=True)
class ServiceConnection:
    """Where a service is, and how it is asked.

    Attributes:
        url: Where, without a slash at its end.
        key: What is shown; "": nothing.
        timeout_s: How long an answer may take.
        retrying: How often what failed is tried again.
    """

    url: str
    key: str = field(repr=False)
    timeout_s: float
    retry_policy: RetryPolicy = RETRY_POLICY

    def build_headers(self, call: Call, owner: str | None) -> dict[str, bytes]:
        """Return what goes with a call for an owner."""
        given = {"Accept": f"{JSON}, {LINES}".encode()}
        if self.key:
            given["Authorization"] = f"Bearer {self.key}".encode()
        if (named := call.owner or owner) is not None:
            given[OWNER_HEADER] = named.encode()
        if call.body is not None:
            given["Content-Type"] = (LINES if callable(call.body) else JSON).encode()
        return given

    def build_error(self, response: Response, argument_names: Mapping[str, str]) -> MemolithError:
        """Return the error that an answer tells of.

        Args:
            reply: The answer.
            told_as: What arguments are called here, by what the service calls them.
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
            return Forbidden(f"{self.url}: {detail or 'the key is refused'}")
        if response.status == _CONFLICT_STATUS:
            return Conflict(detail)
        return ServiceFailed(
            self.url,
            f"{detail or 'gave no answer that can be used'} (status {response.status})",
            status=response.status,
            retryable=response.status in _BUSY_STATUSES,
            retry_after_s=get_retry_after_s(response),
        )

    def build_connection_error(self, failure: RequestFailure) -> StoreUnavailable:
        """Return the error of a call that was not answered."""
        return StoreUnavailable(f"the service at {self.url}: {failure.problem}", failure.waited_s)

    def build_invalid_response_error(self) -> ServiceFailed:
        """Return the error of an answer that is none."""
        return ServiceFailed(self.url, "gave an answer that can't be read: is it Memolith?")

    def parse_response(self, call: Call, response: Response) -> Any:
        """Return what a call was answered.

        Raises:
            MemolithError: It failed.
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
            raise self.build_invalid_response_error() from None  # the other holds what came


def get_retry_after_s(response: Response) -> float | None:
    """Return how long the service asks to be left alone, in seconds; None: it does not."""
    given = response.headers.get("retry-after")
    return None if given is None else parse_retry_after(given, response.headers.get("date", ""))


def should_retry(response: Response) -> bool:
    """Whether the service did nothing, and asks to be asked again."""
    if "retry-after" not in response.headers:
        return False
    if response.status == _CONFLICT_STATUS:
        return True
    is_own = _parse_problem_document(response.body).get("type", UNKNOWN_PROBLEM) != UNKNOWN_PROBLEM
    return response.status in _BUSY_STATUSES and not is_own


@dataclass
class CallRunner:
    """Carries out a method: sends its calls, again where that does no harm.

    Attributes:
        service: Who is asked.
        owner: Whose memory it is; None: nobody's.
        now_s: A clock that only goes forward, in seconds.
        chance: From 0 to 1, evenly.
        token: Names a request.
    """

    service: ServiceConnection
    owner: str | None
    now_s: Any
    get_jitter: Any
    new_token: Any

    def run(self, calls: CallSequence) -> AttemptSteps:
        """Give what is to be done next, and be sent what came of it; return what is answered."""
        answer = None
        while True:
            try:
                call = calls.send(answer)
            except StopIteration as end:
                return end.value
            answer = yield from self.run_call(call)

    def run_call(self, call: Call) -> AttemptSteps:
        """Return what one call is answered."""
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
        assert isinstance(outcome, RequestFailure)  # noqa: S101 - a driver says what came of a sending
        waited_s = max(outcome.waited_s, self.now_s() - started_s)
        raise self.service.build_connection_error(replace(outcome, waited_s=waited_s))

    def _get_pause_s(
        self, call: Call, result: AttemptResult, tries: int, elapsed_s: float
    ) -> float | None:
        """Return how long to wait before the next try; None: there is none."""
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
    """Return where a service is, without a slash at the end.

    Raises:
        InvalidConfiguration: That is no address.
    """
    try:
        parts = urlsplit(url.strip())
        is_address = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_address = False
    if not is_address or parts.username or parts.password or parts.query or parts.fragment:
        problem = "must be an address as http://127.0.0.1:8377, and hold no key"
        raise InvalidConfiguration("url", problem)
    return urlunsplit((parts.scheme, parts.netloc, parts.path.rstrip("/"), "", ""))


def validate_timeout(timeout_s: float) -> float:
    """Return how long an answer may take, in seconds.

    Raises:
        InvalidConfiguration: That is no time, or none at all.
    """
    if not 0 < timeout_s < float("inf"):
        raise InvalidConfiguration("timeout_s", f"is {timeout_s}; must be more than 0")
    return timeout_s


def validate_key(key: str | None, env: Mapping[str, str]) -> str:
    """Return the key to show, as given, else as the environment has it; "": none.

    Raises:
        InvalidConfiguration: That can be no key; it is not repeated.
    """
    found = (env.get(API_KEY_VARIABLE, "") if key is None else key).strip()
    if not found.isascii() or not found.isprintable() or " " in found:
        raise InvalidConfiguration(
            "key", "is no key of a service", "argument" if key else API_KEY_VARIABLE
        )
    return found


def _get_argument_name(location: str, argument_names: Mapping[str, str]) -> str:
    """Return which argument is meant by a place in a request: "messages.1.at" is messages[1].at."""
    name, *within = location.split(".")
    name = argument_names.get(name, name)
    if name not in _LIST_ARGUMENTS or not within:
        return name
    return ".".join((f"{name}[{within[0]}]", *within[1:]))


def _parse_problem_document(body: bytes) -> Mapping[str, Any]:
    """Return a problem document; empty where it is none."""
    try:
        return _as_mapping(json.loads(body))
    except (ValueError, RecursionError):
        return {}


def _get_first(value: object) -> object:
    return value[0] if isinstance(value, list) and value else None


def _as_mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
