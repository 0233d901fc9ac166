"""What a server keeps in memory of its callers: never more than so much."""

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
"""Some megabytes of what is kept of one caller, or one conversation: a guess."""


def put_bounded(
    entries: OrderedDict[K, V], key: K, value: V, max_entries: int = MAX_ENTRIES
) -> None:
    """Keep a value as the newest; over so many the one goes that was kept first."""
    entries[key] = value
    entries.move_to_end(key)
    if len(entries) > max_entries:
        entries.popitem(last=False)


# --- Who calls, and whose memory they may touch


T = TypeVar("T")

OWNER_HEADER = "X-Owner-Id"

_FAILURE_WINDOW_S = 60.0
"""For so long wrong keys of an address count."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls.

    Attributes:
        role: What they may do.
        owner: The only owner for whom they may; None: any, named in the call.
        name: The key's name; empty where none is needed.
    """

    role: KeyRole
    owner: str | None
    name: str = ""

    def resolve_owner(self, requested: str | None, fallback: str | None = None) -> str:
        """Return for whom a call is.

        Args:
            named: Who the header names.
            otherwise: Who else does, where that may count: the `user` of a body.

        Raises:
            Forbidden: They may not act for who is named.
            Problem: Nobody is named.
        """
        if self.owner is not None:
            if requested is not None and requested != self.owner:
                who = "this key" if self.name else "who has no key"
                raise Forbidden(f"{who} may not act for another owner")
            return self.owner
        owner = requested or fallback
        if not owner:
            raise Problem(400, f"name the owner in {OWNER_HEADER}: this key is not of one owner")
        return owner

    def resolve_optional_owner(self, owner: str | None) -> str | None:
        """Return whom an admin's call concerns; None: everybody.

        Raises:
            Forbidden: They may not act for who is named.
        """
        return None if owner is None else self.resolve_owner(owner)


@dataclass
class Authenticator:
    """Knows callers by their keys, and slows down who tries many.

    Attributes:
        engine: Knows the keys.
        open_for: The owner for whom everybody may call without a key; None: nobody may.
        wrong_keys: So many wrong keys of one address within a minute, and it has to wait.
        now_s: A clock that only goes forward, in seconds.
    """

    engine: Memolith
    anonymous_owner: str | None
    max_failed_keys: int
    now_s: Callable[[], float]
    _failures: OrderedDict[str, deque[float]] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def authenticate(self, secret: str | None, address: str) -> Caller:
        """Return who shows a key.

        Raises:
            Problem: They show none, a wrong one, or have shown too many wrong ones.
        """
        if self.anonymous_owner is not None and self._is_anonymous_access_allowed():
            return Caller(KeyRole.ADMIN, self.anonymous_owner)
        self._check_failure_limit(address)
        if secret is None:
            raise Problem(401, "a key is needed", {"WWW-Authenticate": "Bearer"})
        key = self.engine.find_api_key(secret)
        if key is None:
            self._record_failure(address)
            raise Problem(
                401, "that key opens nothing", {"WWW-Authenticate": 'Bearer error="invalid_token"'}
            )
        return Caller(key.role, key.owner, key.name)

    def _is_anonymous_access_allowed(self) -> bool:
        """Whether there are no keys yet; from the first one on it is open no more, for good."""
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
                    429, "too many wrong keys", {"Retry-After": str(int(_FAILURE_WINDOW_S))}
                )

    def _record_failure(self, address: str) -> None:
        with self._lock:
            before = self._failures.get(address, ())
            put_bounded(
                self._failures, address, deque([*before, self.now_s()], self.max_failed_keys)
            )


_bearer = HTTPBearer(auto_error=False, description="An API key: `memolith api-key create`.")


def _authenticate_request(request: Request) -> Caller:
    keeper: Authenticator = request.app.state.doorkeeper
    address = request.client.host if request.client else ""
    caller = keeper.authenticate(get_bearer_token(request.headers), address)
    request.app.state.rates.take(caller)
    return caller


def get_bearer_token(headers: Headers) -> str | None:
    """Return the key that a request shows; None: it shows none."""
    kind, _, secret = headers.get("authorization", "").partition(" ")
    return secret.strip() if kind.lower() == "bearer" and secret.strip() else None


async def get_caller(request: Request, _: Annotated[object, Depends(_bearer)]) -> Caller:
    """Return who calls; `KeyedRoute` has looked it up."""
    caller: Caller = request.state.caller
    return caller


class AuthenticatedRoute(APIRoute):
    """A route that looks at the key, where it needs one, before it reads a body.

    And then at the names in the query: one that it does not know is refused, since a filter that is
    misspelt would let everything through. Not where clients of OpenAI's protocol call: they may
    send what is another service's.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler, with that before it."""
        handle = super().get_route_handler()
        if not _requires_caller(self.dependant):
            return handle
        known = (
            None if self.path in OPENAI_PATHS else frozenset(_iterate_query_names(self.dependant))
        )

        async def keyed(request: Request) -> Response:
            request.state.caller = await run_in_threadpool(_authenticate_request, request)
            if known is not None:
                _reject_unknown_parameters(request.query_params.keys() - known)
            return await handle(request)

        return keyed


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
    """Return the engine that serves."""
    engine: Memolith = request.app.state.engine
    return engine


async def get_clock(request: Request) -> Clock:
    """Return the time."""
    clock: Clock = request.app.state.clock
    return clock


CallerDep = Annotated[Caller, Depends(get_caller)]
EngineDep = Annotated[Memolith, Depends(get_engine)]
ClockDep = Annotated[Clock, Depends(get_clock)]


def decode_header(value: T) -> T | str:
    """Return a header as it was meant: its bytes are UTF-8 where they can be (RFC 9110, 5.5)."""
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
        description="Whose memory, with a key that is not of one owner.",
        examples=["alice"],
    ),
]


async def get_memory(
    caller: CallerDep, engine: EngineDep, requested: OwnerHeader = None
) -> OwnerMemory:
    """Return the memory that a call is about."""
    return engine.owner(caller.resolve_owner(requested))


async def require_admin(caller: CallerDep) -> Caller:
    """Return who calls, if they may do what concerns the whole store.

    Raises:
        Forbidden: They may not.
    """
    if caller.role is not KeyRole.ADMIN:
        raise Forbidden("this needs an admin's key")
    return caller


MemoryDep = Annotated[OwnerMemory, Depends(get_memory)]
OwnerQuery = Annotated[requests.Name | None, Query(description="Whose; none: everybody's.")]
AdminDep = Annotated[Caller, Depends(require_admin)]
