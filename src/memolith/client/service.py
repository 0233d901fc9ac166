"""A service as its client knows it: where it is, how it is asked, what its answers mean."""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias
from urllib.parse import urlsplit, urlunsplit

from memolith.client.calls import JSON, LINES, Asking, Call
from memolith.errors import (
    Conflict,
    Forbidden,
    InvalidConfiguration,
    InvalidInput,
    MemolithError,
    ServiceFailed,
    StoreUnavailable,
)
from memolith.exchange.problems import UNKNOWN, error_of
from memolith.policies.retrying import Retrying, asked_wait_s

KEY = "MEMOLITH_API_KEY"
"""The environment variable that holds the key, where none is given."""

OWNER_HEADER = "X-Owner-Id"
ONCE_HEADER = "Idempotency-Key"

_OK = range(200, 300)
_WRONG = frozenset({400, 413, 415, 422})
_REFUSED = frozenset({401, 403})
_CONFLICT = 409
_BUSY = frozenset({429, 503})
_MESSAGE_CHARS = 500
"""How much of what a service says an error repeats: a guess."""

_LISTS = frozenset({"messages", "history"})
"""Arguments of which the library says which entry is wrong."""

RETRYING = Retrying(most=5, first_pause_s=0.1, longest_pause_s=2.0)


@dataclass(frozen=True, slots=True)
class Sending:
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
class Pausing:
    """A pause before the next try."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Reply:
    """What was answered."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Lost:
    """No answer: the connection failed, or it took too long.

    Attributes:
        problem: What happened, in a phrase.
        is_unsent: Whether the service can't have heard of it.
        is_overdue: Whether it took too long.
        waited_s: For how long it was waited.
    """

    problem: str
    is_unsent: bool = False
    is_overdue: bool = False
    waited_s: float = 0.0


Outcome: TypeAlias = Reply | Lost | None
Steps: TypeAlias = Generator[Sending | Pausing, Outcome, Any]


@dataclass(frozen=True, slots=True)
class Service:
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
    retrying: Retrying = RETRYING

    def headers(self, call: Call, owner: str | None) -> dict[str, bytes]:
        """Return what goes with a call for an owner."""
        given = {"Accept": f"{JSON}, {LINES}".encode()}
        if self.key:
            given["Authorization"] = f"Bearer {self.key}".encode()
        if (named := call.owner or owner) is not None:
            given[OWNER_HEADER] = named.encode()
        if call.body is not None:
            given["Content-Type"] = (LINES if callable(call.body) else JSON).encode()
        return given

    def failure(self, reply: Reply, told_as: Mapping[str, str]) -> MemolithError:
        """Return the error that an answer tells of.

        Args:
            reply: The answer.
            told_as: What arguments are called here, by what the service calls them.
        """
        told = _document(reply.body)
        detail = str(told.get("detail") or "")[:_MESSAGE_CHARS]
        known = error_of(str(told.get("type", UNKNOWN)), detail, _mapping(told.get("facts")))
        return known or self._unknown(reply, detail, told, told_as)

    def _unknown(
        self, reply: Reply, detail: str, told: Mapping[str, Any], told_as: Mapping[str, str]
    ) -> MemolithError:
        if reply.status in _WRONG:
            wrong = _mapping(_first(told.get("errors")))
            field_ = _argument(str(wrong.get("field", "request")), told_as)
            return InvalidInput(field_, str(wrong.get("problem", detail)))
        if reply.status in _REFUSED:
            return Forbidden(f"{self.url}: {detail or 'the key is refused'}")
        if reply.status == _CONFLICT:
            return Conflict(detail)
        return ServiceFailed(
            self.url,
            f"{detail or 'gave no answer that can be used'} (status {reply.status})",
            status=reply.status,
            retryable=reply.status in _BUSY,
            retry_after_s=asked_s(reply),
        )

    def lost(self, lost: Lost) -> StoreUnavailable:
        """Return the error of a call that was not answered."""
        return StoreUnavailable(f"the service at {self.url}: {lost.problem}", lost.waited_s)

    def unreadable(self) -> ServiceFailed:
        """Return the error of an answer that is none."""
        return ServiceFailed(self.url, "gave an answer that can't be read: is it Memolith?")

    def read(self, call: Call, reply: Reply) -> Any:
        """Return what a call was answered.

        Raises:
            MemolithError: It failed.
        """
        if reply.status not in _OK:
            raise self.failure(reply, call.told)
        try:
            return call.read(json.loads(reply.body) if call.answer is not None else None)
        except (
            ValueError,
            TypeError,
            LookupError,
            AttributeError,
            ArithmeticError,
            RecursionError,
        ):
            raise self.unreadable() from None  # the other holds what came


def asked_s(reply: Reply) -> float | None:
    """Return how long the service asks to be left alone, in seconds; None: it does not."""
    given = reply.headers.get("retry-after")
    return None if given is None else asked_wait_s(given, reply.headers.get("date", ""))


def is_to_wait(reply: Reply) -> bool:
    """Whether the service did nothing, and asks to be asked again."""
    if "retry-after" not in reply.headers:
        return False
    if reply.status == _CONFLICT:
        return True
    is_own = _document(reply.body).get("type", UNKNOWN) != UNKNOWN
    return reply.status in _BUSY and not is_own


@dataclass
class Conversation:
    """Carries out a method: sends its calls, again where that does no harm.

    Attributes:
        service: Who is asked.
        owner: Whose memory it is; None: nobody's.
        now_s: A clock that only goes forward, in seconds.
        chance: From 0 to 1, evenly.
        token: Names a request.
    """

    service: Service
    owner: str | None
    now_s: Any
    chance: Any
    token: Any

    def steps(self, asking: Asking) -> Steps:
        """Give what is to be done next, and be sent what came of it; return what is answered."""
        answer = None
        while True:
            try:
                call = asking.send(answer)
            except StopIteration as end:
                return end.value
            answer = yield from self.answered(call)

    def answered(self, call: Call) -> Steps:
        """Return what one call is answered."""
        headers = self.service.headers(call, self.owner)
        if call.once:
            headers[ONCE_HEADER] = self.token().encode()
        sending = Sending(call, headers, self.service.timeout_s + call.timeout_s)
        started_s, tries = self.now_s(), 0
        while True:
            outcome = yield sending
            tries += 1
            pause_s = self._pause_s(call, outcome, tries, self.now_s() - started_s)
            if pause_s is None:
                break
            yield Pausing(pause_s)
        if isinstance(outcome, Reply):
            return self.service.read(call, outcome)
        assert isinstance(outcome, Lost)  # noqa: S101 - a driver says what came of a sending
        waited_s = max(outcome.waited_s, self.now_s() - started_s)
        raise self.service.lost(replace(outcome, waited_s=waited_s))

    def _pause_s(self, call: Call, outcome: Outcome, tries: int, elapsed_s: float) -> float | None:
        """Return how long to wait before the next try; None: there is none."""
        asked = None
        if isinstance(outcome, Reply):
            if not is_to_wait(outcome):
                return None
            asked = asked_s(outcome)
        elif isinstance(outcome, Lost):
            may_have_acted = not outcome.is_unsent and not (call.once or call.again)
            if outcome.is_overdue or may_have_acted:
                return None
        return self.service.retrying.pause_s(tries, elapsed_s, asked, self.chance())


def checked_url(url: str) -> str:
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


def checked_timeout(timeout_s: float) -> float:
    """Return how long an answer may take, in seconds.

    Raises:
        InvalidConfiguration: That is no time, or none at all.
    """
    if not 0 < timeout_s < float("inf"):
        raise InvalidConfiguration("timeout_s", f"is {timeout_s}; must be more than 0")
    return timeout_s


def checked_key(key: str | None, env: Mapping[str, str]) -> str:
    """Return the key to show, as given, else as the environment has it; "": none.

    Raises:
        InvalidConfiguration: That can be no key; it is not repeated.
    """
    found = (env.get(KEY, "") if key is None else key).strip()
    if not found.isascii() or not found.isprintable() or " " in found:
        raise InvalidConfiguration("key", "is no key of a service", "argument" if key else KEY)
    return found


def _argument(place: str, told_as: Mapping[str, str]) -> str:
    """Return which argument is meant by a place in a request: "messages.1.at" is messages[1].at."""
    name, *within = place.split(".")
    name = told_as.get(name, name)
    if name not in _LISTS or not within:
        return name
    return ".".join((f"{name}[{within[0]}]", *within[1:]))


def _document(body: bytes) -> Mapping[str, Any]:
    """Return a problem document; empty where it is none."""
    try:
        return _mapping(json.loads(body))
    except (ValueError, RecursionError):
        return {}


def _first(value: object) -> object:
    return value[0] if isinstance(value, list) and value else None


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
