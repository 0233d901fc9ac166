"""The methods of `OwnerMemory` and `Memolith`, done by a service.

What each asks stands once, in `asking` and `upkeep`. Here it becomes methods of four classes, whose
signatures are those of the library's own, which they inherit.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from memolith.adapters.clients.wire import need
from memolith.adapters.clock import SystemClock
from memolith.client import asking, upkeep
from memolith.client.calls import Asking, Call, Method
from memolith.client.links import AsyncLink, Link
from memolith.client.service import Service, checked_key, checked_timeout, checked_url
from memolith.errors import LibraryOnly
from memolith.exchange import backup
from memolith.exchange.jsonl import Remembered
from memolith.owner import OwnerMemory
from memolith.services.screening import screened_name
from memolith.services.transfer import Taken

if TYPE_CHECKING:
    from memolith.domain.ingestion import Ingested
    from memolith.exchange.records import Record
    from memolith.ports.idempotency import Idempotency

T = TypeVar("T", bound=type)
Wrap = Callable[[Callable[..., Any], Method], Callable[..., Any]]

_EXPORT = Call("GET", "/v1/export")
_NAMED = (*asking.METHODS, "import_")
"""Methods that take `owner` on the engine."""


def service(url: str, key: str | None, timeout_s: float) -> Service:
    """Return a service as arguments and the environment have it.

    Raises:
        InvalidConfiguration: An argument can't be taken, or the client is not installed.
    """
    need("httpx", "url", extra="client")
    return Service(checked_url(url), checked_key(key, os.environ), checked_timeout(timeout_s))


def asked(method: Callable[..., Any], ask: Method) -> Callable[..., Any]:
    """Return a method that asks a service, with the signature of the library's."""
    signature = inspect.signature(method)

    @wraps(method)
    def call(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        return self._link.carry_out(ask(**_given(signature, self, args, kwargs)), self._whose)

    return call


def awaited(method: Callable[..., Any], ask: Method) -> Callable[..., Any]:
    """Return what `asked` does, awaitable."""
    signature = inspect.signature(method)

    @wraps(method)
    async def call(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        named = _given(signature, self, args, kwargs)
        return await self._link.carry_out(ask(**named), self._whose)

    return call


def _given(
    of: inspect.Signature, self: object, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> dict[str, Any]:
    """Return the arguments of a call by name, with the defaults of those that are not given."""
    bound = of.bind(self, *args, **kwargs)
    bound.apply_defaults()
    return dict(list(bound.arguments.items())[1:])


def _install(into: type, methods: Iterable[str], make: Callable[[Any, str], Any]) -> None:
    for name in methods:
        setattr(into, name, make(getattr(into, name), name))


def _record(line: bytes, owner: str) -> Record | None:
    found = backup.record(line, owner)
    return None if isinstance(found, Remembered) else found


def _sign(into: type, of: type) -> None:
    """Let the streams of a class have the signatures of another's."""
    for name in ("export", "import_", "ingest_stream"):
        if name in vars(into):
            vars(into)[name].__wrapped__ = getattr(of, name)


def _import(records: Sequence[Record | Remembered], owner: str) -> Asking:
    known, now = list(records), SystemClock().now()

    def lines() -> Iterator[bytes]:
        return backup.write(known, owner, now)

    return (yield Call("POST", "/v1/import", body=lines, answer=Taken, once=True))


# --- one owner ----------------------------------------------------------------------------------


class RemoteOwnerMemory(OwnerMemory):
    """What one owner remembers, at a service. Thread-safe; costs nothing to make."""

    def __init__(self, owner_id: str, link: Link) -> None:
        """Use `Memolith.owner` to make one."""
        self.owner_id = self._whose = screened_name(owner_id, "owner")
        self._link = link

    def export(self) -> Iterator[Record]:
        """See `OwnerMemory.export`."""
        for line in self._link.lines(_EXPORT, self.owner_id):
            if (record := _record(line, self.owner_id)) is not None:
                yield record

    def import_(self, records: Sequence[Record | Remembered]) -> Taken:
        """See `OwnerMemory.import_`."""
        taken: Taken = self._link.carry_out(_import(records, self.owner_id), self.owner_id)
        return taken

    def ingest_stream(self, pieces: Iterable[str], **options: Any) -> Iterator[Ingested]:
        """See `OwnerMemory.ingest_stream`."""
        for each in asking.ingested(pieces, **options):
            yield self._link.carry_out(each, self.owner_id)


_install(RemoteOwnerMemory, asking.METHODS, lambda of, name: asked(of, asking.METHODS[name]))
_sign(RemoteOwnerMemory, OwnerMemory)


class AsyncRemoteOwnerDoors:
    """What one owner remembers, at a service, for asynchronous code."""

    def __init__(self, owner_id: str, link: AsyncLink) -> None:
        """Use `AsyncMemolith.owner` to make one."""
        self._whose = screened_name(owner_id, "owner")
        self._link = link

    @property
    def owner_id(self) -> str:
        """Whose memory it is."""
        return self._whose

    async def export(self) -> AsyncIterator[Record]:
        """See `OwnerMemory.export`."""
        async for line in self._link.lines(_EXPORT, self._whose):
            if (record := _record(line, self._whose)) is not None:
                yield record

    async def import_(self, records: Sequence[Record | Remembered]) -> Taken:
        """See `OwnerMemory.import_`."""
        taken: Taken = await self._link.carry_out(_import(records, self._whose), self._whose)
        return taken

    async def ingest_stream(self, pieces: Iterable[str], **options: Any) -> AsyncIterator[Ingested]:
        """See `OwnerMemory.ingest_stream`."""
        for each in asking.ingested(pieces, **options):
            yield await self._link.carry_out(each, self._whose)


# --- all owners ---------------------------------------------------------------------------------


class RemoteDoors:
    """The memory of many owners, at a service. Thread-safe."""

    _whose = None

    def __init__(self, link: Link) -> None:
        """Use `Memolith.connect` to make one."""
        self._link = link

    def owner(self, owner_id: str) -> RemoteOwnerMemory:
        """See `Memolith.owner`."""
        return RemoteOwnerMemory(owner_id, self._link)

    @property
    def idempotency(self) -> Idempotency:
        """See `Memolith.idempotency`: it is the service's own."""
        raise LibraryOnly("idempotency", "it is the service's own")

    def close(self) -> None:
        """Let go of all connections. Closing twice is no error."""
        self._link.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._link.service.url!r})"


class AsyncRemoteDoors:
    """The memory of many owners, at a service, for asynchronous code."""

    _whose = None

    def __init__(self, link: AsyncLink) -> None:
        """Use `AsyncMemolith.connect` to make one."""
        self._link = link

    async def close(self) -> None:
        """Let go of all connections. Closing twice is no error."""
        await self._link.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._link.service.url!r})"


def remote(of: T) -> T:
    """Have the methods that a class inherits from `Memolith` done by a service."""
    _install(of, upkeep.METHODS, lambda method, name: asked(method, upkeep.METHODS[name]))
    _install(of, upkeep.ELSEWHERE, _refused)
    return of


def async_remote(of: T) -> T:
    """Have the methods that a class inherits from `AsyncMemolith` done by a service."""
    _install(of, upkeep.METHODS, lambda method, name: awaited(method, upkeep.METHODS[name]))
    _install(of, upkeep.ELSEWHERE, _refused_later)
    _install(of, _NAMED, _for_owner)
    return of


def async_remote_owner(of: T) -> T:
    """Have the methods that a class inherits from `AsyncOwnerMemory` done by a service."""
    _install(of, asking.METHODS, lambda method, name: awaited(method, asking.METHODS[name]))
    return of


def _refused(method: Callable[..., Any], name: str) -> Callable[..., Any]:
    @wraps(method)
    def call(*_: Any, **__: Any) -> NoReturn:
        raise LibraryOnly(name, upkeep.ELSEWHERE[name])

    return call


def _refused_later(method: Callable[..., Any], name: str) -> Callable[..., Any]:
    @wraps(method)
    async def call(*_: Any, **__: Any) -> NoReturn:
        raise LibraryOnly(name, upkeep.ELSEWHERE[name])

    return call


def _for_owner(method: Callable[..., Any], name: str) -> Callable[..., Any]:
    @wraps(method)
    async def call(self: Any, /, *args: Any, owner: str, **kwargs: Any) -> Any:
        return await getattr(self.owner(owner), name)(*args, **kwargs)

    return call
