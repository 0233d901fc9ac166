"""Authentication and authorization: API keys, owners and roles of callers."""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Coroutine, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Header, Query, Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from pydantic import BeforeValidator
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers

from memolith.api.engine import Memolith
from memolith.api.owner import OwnerMemory
from memolith.errors import Forbidden
from memolith.ports.clock import Clock
from memolith.ports.service import KeyRole
from memolith.server.problems import OPENAI_PATHS, Problem
from memolith.server.rest import requests

K = TypeVar("K")
V = TypeVar("V")

MAX_ENTRIES = 10_000
"""Maximum number of callers or sessions remembered, some megabytes. A guess."""


def put_bounded(
    entries: OrderedDict[K, V], key: K, value: V, max_entries: int = MAX_ENTRIES
) -> None:
    """Store a value as the newest entry; remove the oldest entry over the limit."""
    entries[key] = value
    entries.move_to_end(key)
    if len(entries) > max_entries:
        entries.popitem(last=False)


# --- Callers


T = TypeVar("T")

OWNER_HEADER = "X-Owner-Id"

_FAILURE_WINDOW_S = 60.0
"""Period in which invalid keys of a client address count."""


@dataclass(frozen=True, slots=True)
class Caller:
    """An authenticated caller.

    Attributes:
        role: Role of the API key.
        owner: The only owner that the caller may act for; None for any owner.
        name: Name of the API key; empty for anonymous access.
    """

    role: KeyRole
    owner: str | None
    name: str = ""

    def resolve_owner(self, requested: str | None, fallback: str | None = None) -> str:
        """Return the owner of a request.

        Args:
            requested: Owner named in the header.
            fallback: Owner named elsewhere, for example the `user` of a body.

        Raises:
            Forbidden: The caller may not act for the requested owner.
            Problem: The request names no owner.
        """
        if self.owner is not None:
            if requested is not None and requested != self.owner:
                who = "this key" if self.name else "an anonymous caller"
                raise Forbidden(f"{who} may not act for another owner")
            return self.owner
        owner = requested or fallback
        if not owner:
            raise Problem(
                400, f"the {OWNER_HEADER} header is required: the API key is not bound to an owner"
            )
        return owner

    def resolve_optional_owner(self, owner: str | None) -> str | None:
        """Return the owner of an admin request; None for all owners.

        Raises:
            Forbidden: The caller may not act for the owner.
        """
        return None if owner is None else self.resolve_owner(owner)


@dataclass
class Authenticator:
    """Authenticates callers by API key and slows down guessing.

    Attributes:
        engine: The engine, which stores the keys.
        anonymous_owner: Owner of requests without a key; None to require keys.
        max_failed_keys: Invalid keys per minute after which requests of an address are rejected.
        now_s: Monotonic clock, in seconds.
    """

    engine: Memolith
    anonymous_owner: str | None
    max_failed_keys: int
    now_s: Callable[[], float]
    _failures: OrderedDict[str, deque[float]] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def authenticate(self, secret: str | None, address: str) -> Caller:
        """Return the caller with an API key.

        Raises:
            Problem: The key is missing or invalid, or the address sent too many invalid keys.
        """
        if self.anonymous_owner is not None and self._is_anonymous_access_allowed():
            return Caller(KeyRole.ADMIN, self.anonymous_owner)
        self._check_failure_limit(address)
        if secret is None:
            raise Problem(401, "missing API key", {"WWW-Authenticate": "Bearer"})
        key = self.engine.find_api_key(secret)
        if key is None:
            self._record_failure(address)
            raise Problem(
                401, "invalid API key", {"WWW-Authenticate": 'Bearer error="invalid_token"'}
            )
        return Caller(key.role, key.owner, key.name)

    def _is_anonymous_access_allowed(self) -> bool:
        """Return whether no API key exists yet; the first key ends anonymous access for good."""
        if any(each.revoked_at is None for each in self.engine.api_keys()):
            self.anonymous_owner = None
        return self.anonymous_owner is not None

    def _check_failure_limit(self, address: str) -> None:
        with self._lock:
            failures = self._failures.get(address)
            while failures and failures[0] < self.now_s() - _FAILURE_WINDOW_S:
                failures.popleft()
            if failures is not None and not failures:
                del self._failures[address]
            if failures and len(failures) >= self.max_failed_keys:
                raise Problem(
                    429, "too many invalid API keys", {"Retry-After": str(int(_FAILURE_WINDOW_S))}
                )

    def _record_failure(self, address: str) -> None:
        with self._lock:
            before = self._failures.get(address, ())
            put_bounded(
                self._failures, address, deque([*before, self.now_s()], self.max_failed_keys)
            )


_bearer = HTTPBearer(
    auto_error=False, description="API key; create one with `memolith api-key create`."
)


def _authenticate_request(request: Request) -> Caller:
    keeper: Authenticator = request.app.state.doorkeeper
    address = request.client.host if request.client else ""
    caller = keeper.authenticate(get_bearer_token(request.headers), address)
    request.app.state.rates.take(caller)
    return caller


def get_bearer_token(headers: Headers) -> str | None:
    """Return the bearer token of a request; None if there is none."""
    kind, _, secret = headers.get("authorization", "").partition(" ")
    return secret.strip() if kind.lower() == "bearer" and secret.strip() else None


async def get_caller(request: Request, _: Annotated[object, Depends(_bearer)]) -> Caller:
    """Return the caller that `AuthenticatedRoute` authenticated."""
    caller: Caller = request.state.caller
    return caller


class AuthenticatedRoute(APIRoute):
    """Route that authenticates the caller before it reads the body.

    It also rejects unknown query parameters, because a misspelled filter would be ignored silently.
    Routes of the OpenAI protocol accept them: clients may send parameters of other services.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the route's handler with authentication."""
        handle = super().get_route_handler()
        if not _requires_caller(self.dependant):
            return handle
        known = (
            None if self.path in OPENAI_PATHS else frozenset(_iterate_query_names(self.dependant))
        )

        async def handle_authenticated(request: Request) -> Response:
            request.state.caller = await run_in_threadpool(_authenticate_request, request)
            if known is not None:
                _reject_unknown_parameters(request.query_params.keys() - known)
            return await handle(request)

        return handle_authenticated


def _iterate_query_names(dependant: Dependant) -> Iterator[str]:
    yield from (field.alias for field in dependant.query_params)
    for each in dependant.dependencies:
        yield from _iterate_query_names(each)


def _reject_unknown_parameters(names: Iterable[str]) -> None:
    if unknown := sorted(names):
        raise RequestValidationError(
            [{"type": "extra_forbidden", "loc": ("query", name), "msg": ""} for name in unknown]
        )


def _requires_caller(dependant: Dependant) -> bool:
    return dependant.call is get_caller or any(map(_requires_caller, dependant.dependencies))


async def get_engine(request: Request) -> Memolith:
    """Return the engine."""
    engine: Memolith = request.app.state.engine
    return engine


async def get_clock(request: Request) -> Clock:
    """Return the clock."""
    clock: Clock = request.app.state.clock
    return clock


CallerDep = Annotated[Caller, Depends(get_caller)]
EngineDep = Annotated[Memolith, Depends(get_engine)]
ClockDep = Annotated[Clock, Depends(get_clock)]


def decode_header(value: T) -> T | str:
    """Return a header's text, decoded as UTF-8 if possible (RFC 9110, section 5.5)."""
    if not isinstance(value, str):
        return value
    try:
        return value.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return value


OwnerHeader = Annotated[
    Annotated[requests.Name, BeforeValidator(decode_header)] | None,
    Header(
        alias=OWNER_HEADER,
        description="Owner of the request, if the API key is not bound to one.",
        examples=["alice"],
    ),
]


async def get_memory(
    caller: CallerDep, engine: EngineDep, requested: OwnerHeader = None
) -> OwnerMemory:
    """Return the memory of the request's owner."""
    return engine.owner(caller.resolve_owner(requested))


async def require_admin(caller: CallerDep) -> Caller:
    """Return the caller if it is an admin.

    Raises:
        Forbidden: The caller is not an admin.
    """
    if caller.role is not KeyRole.ADMIN:
        raise Forbidden("an admin API key is required")
    return caller


MemoryDep = Annotated[OwnerMemory, Depends(get_memory)]
OwnerQuery = Annotated[requests.Name | None, Query(description="Owner; all owners if omitted.")]
AdminDep = Annotated[Caller, Depends(require_admin)]
