"""Remote variants of `OwnerMemory` and `Memolith`, which call a Memolith server.

`endpoints` defines the calls. This module turns them into methods with the signatures of the local
classes.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from functools import wraps
from typing import Any, NoReturn, TypeVar

from memolith.adapters.clock import SystemClock
from memolith.adapters.models.http import require_package
from memolith.api.aio import AsyncMemolith, AsyncOwnerMemory
from memolith.api.engine import Memolith
from memolith.api.owner import OwnerMemory
from memolith.client import endpoints
from memolith.client.protocol import (
    Call,
    CallSequence,
    EndpointMethod,
    ServiceConnection,
    validate_key,
    validate_timeout,
    validate_url,
)
from memolith.client.transport import AsyncTransport, Transport
from memolith.domain.reports import IngestResult
from memolith.errors import LibraryOnly
from memolith.import_export import jsonl
from memolith.import_export.jsonl import ImportedMemory
from memolith.import_export.records import Record
from memolith.ports.service import IdempotencyStore
from memolith.services.transfer import ImportResult
from memolith.services.validation import validate_name

T = TypeVar("T", bound=type)
MethodWrapper = Callable[[Callable[..., Any], EndpointMethod], Callable[..., Any]]

_EXPORT = Call("GET", "/v1/export")
_OWNER_METHOD_NAMES = (*endpoints.OWNER_METHODS, "import_")
"""Methods that take `owner` on the engine."""


def build_service_connection(url: str, key: str | None, timeout_s: float) -> ServiceConnection:
    """Return the connection for the arguments and the environment.

    Raises:
        InvalidConfiguration: An argument is invalid, or `httpx` is not installed.
    """
    require_package("httpx", "url", extra="client")
    return ServiceConnection(
        validate_url(url), validate_key(key, os.environ), validate_timeout(timeout_s)
    )


def wrap_method(method: Callable[..., Any], endpoint: EndpointMethod) -> Callable[..., Any]:
    """Return a method that calls an endpoint, with the signature of the local method."""
    signature = inspect.signature(method)

    @wraps(method)
    def call(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        return self._link.execute(
            endpoint(**_bind_arguments(signature, self, args, kwargs)), self._whose
        )

    return call


def wrap_async_method(method: Callable[..., Any], endpoint: EndpointMethod) -> Callable[..., Any]:
    """Return an asynchronous method that calls an endpoint."""
    signature = inspect.signature(method)

    @wraps(method)
    async def call(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        named = _bind_arguments(signature, self, args, kwargs)
        return await self._link.execute(endpoint(**named), self._whose)

    return call


def _bind_arguments(
    signature: inspect.Signature, self: object, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> dict[str, Any]:
    """Return the arguments of a call by name, including defaults."""
    bound = signature.bind(self, *args, **kwargs)
    bound.apply_defaults()
    return dict(list(bound.arguments.items())[1:])


def _install_methods(cls: type, methods: Iterable[str], make: Callable[[Any, str], Any]) -> None:
    for name in methods:
        setattr(cls, name, make(getattr(cls, name), name))


def _parse_record(line: bytes, owner: str) -> Record | None:
    found = jsonl.decode_record(line, owner)
    return None if isinstance(found, ImportedMemory) else found


def _copy_signatures(cls: type, source: type) -> None:
    """Give the streaming methods of a class the signatures of those of another class."""
    for name in ("export", "import_", "ingest_stream"):
        if name in vars(cls):
            vars(cls)[name].__wrapped__ = getattr(source, name)


def _build_import_calls(records: Sequence[Record | ImportedMemory], owner: str) -> CallSequence:
    known, now = list(records), SystemClock().now()

    def lines() -> Iterator[bytes]:
        return jsonl.write_export(known, owner, now)

    return (
        yield Call(
            "POST", "/v1/import", body=lines, response_type=ImportResult, use_idempotency_key=True
        )
    )


# --- One owner


class RemoteOwnerMemory(OwnerMemory):
    """Memory of one owner on a server. Thread-safe and cheap to create."""

    def __init__(self, owner_id: str, transport: Transport) -> None:
        """Create the memory; called by `Memolith.owner`."""
        self.owner_id = self._whose = validate_name(owner_id, "owner")
        self._link = transport

    def export(self) -> Iterator[Record]:
        """See `OwnerMemory.export`."""
        for line in self._link.stream_lines(_EXPORT, self.owner_id):
            if (record := _parse_record(line, self.owner_id)) is not None:
                yield record

    def import_(self, records: Sequence[Record | ImportedMemory]) -> ImportResult:
        """See `OwnerMemory.import_`."""
        taken: ImportResult = self._link.execute(
            _build_import_calls(records, self.owner_id), self.owner_id
        )
        return taken

    def ingest_stream(self, pieces: Iterable[str], **options: Any) -> Iterator[IngestResult]:
        """See `OwnerMemory.ingest_stream`."""
        for each in endpoints.split_into_calls(pieces, **options):
            yield self._link.execute(each, self.owner_id)


_install_methods(
    RemoteOwnerMemory,
    endpoints.OWNER_METHODS,
    lambda of, name: wrap_method(of, endpoints.OWNER_METHODS[name]),
)
_copy_signatures(RemoteOwnerMemory, OwnerMemory)


class AsyncRemoteOwnerMethods:
    """Memory of one owner on a server, for asynchronous code."""

    def __init__(self, owner_id: str, transport: AsyncTransport) -> None:
        """Create the memory; called by `AsyncMemolith.owner`."""
        self._whose = validate_name(owner_id, "owner")
        self._link = transport

    @property
    def owner_id(self) -> str:
        """The owner's id."""
        return self._whose

    async def export(self) -> AsyncIterator[Record]:
        """See `OwnerMemory.export`."""
        async for line in self._link.stream_lines(_EXPORT, self._whose):
            if (record := _parse_record(line, self._whose)) is not None:
                yield record

    async def import_(self, records: Sequence[Record | ImportedMemory]) -> ImportResult:
        """See `OwnerMemory.import_`."""
        taken: ImportResult = await self._link.execute(
            _build_import_calls(records, self._whose), self._whose
        )
        return taken

    async def ingest_stream(
        self, pieces: Iterable[str], **options: Any
    ) -> AsyncIterator[IngestResult]:
        """See `OwnerMemory.ingest_stream`."""
        for each in endpoints.split_into_calls(pieces, **options):
            yield await self._link.execute(each, self._whose)


# --- All owners


class RemoteMethods:
    """Memory of all owners on a server. Thread-safe."""

    _whose = None

    def __init__(self, transport: Transport) -> None:
        """Create the memory; called by `Memolith.connect`."""
        self._link = transport

    def owner(self, owner_id: str) -> RemoteOwnerMemory:
        """See `Memolith.owner`."""
        return RemoteOwnerMemory(owner_id, self._link)

    @property
    def idempotency(self) -> IdempotencyStore:
        """Not available: the server manages idempotency itself."""
        raise LibraryOnly("idempotency", "the server manages idempotency itself")

    def close(self) -> None:
        """Close all connections. Closing twice is allowed."""
        self._link.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._link.service.url!r})"


class AsyncRemoteMethods:
    """Memory of all owners on a server, for asynchronous code."""

    _whose = None

    def __init__(self, transport: AsyncTransport) -> None:
        """Create the memory; called by `AsyncMemolith.connect`."""
        self._link = transport

    async def close(self) -> None:
        """Close all connections. Closing twice is allowed."""
        await self._link.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._link.service.url!r})"


def install_remote(cls: T) -> T:
    """Replace the methods inherited from `Memolith` by calls of a server."""
    _install_methods(
        cls,
        endpoints.ADMIN_METHODS,
        lambda method, name: wrap_method(method, endpoints.ADMIN_METHODS[name]),
    )
    _install_methods(cls, endpoints.LOCAL_ONLY, _build_local_only_method)
    return cls


def install_async_remote(cls: T) -> T:
    """Replace the methods inherited from `AsyncMemolith` by calls of a server."""
    _install_methods(
        cls,
        endpoints.ADMIN_METHODS,
        lambda method, name: wrap_async_method(method, endpoints.ADMIN_METHODS[name]),
    )
    _install_methods(cls, endpoints.LOCAL_ONLY, _build_async_local_only_method)
    _install_methods(cls, _OWNER_METHOD_NAMES, _build_owner_dispatcher)
    return cls


def install_async_remote_owner(cls: T) -> T:
    """Replace the methods inherited from `AsyncOwnerMemory` by calls of a server."""
    _install_methods(
        cls,
        endpoints.OWNER_METHODS,
        lambda method, name: wrap_async_method(method, endpoints.OWNER_METHODS[name]),
    )
    return cls


def _build_local_only_method(method: Callable[..., Any], name: str) -> Callable[..., Any]:
    @wraps(method)
    def call(*_: Any, **__: Any) -> NoReturn:
        raise LibraryOnly(name, endpoints.LOCAL_ONLY[name])

    return call


def _build_async_local_only_method(method: Callable[..., Any], name: str) -> Callable[..., Any]:
    @wraps(method)
    async def call(*_: Any, **__: Any) -> NoReturn:
        raise LibraryOnly(name, endpoints.LOCAL_ONLY[name])

    return call


def _build_owner_dispatcher(method: Callable[..., Any], name: str) -> Callable[..., Any]:
    @wraps(method)
    async def call(self: Any, /, *args: Any, owner: str, **kwargs: Any) -> Any:
        return await getattr(self.owner(owner), name)(*args, **kwargs)

    return call


# --- Public classes


def build_transport(url: str, key: str | None, timeout_s: float) -> Transport:
    """Return a transport; errors as in `Memolith.connect`."""
    return Transport(build_service_connection(url, key, timeout_s))


def build_async_transport(url: str, key: str | None, timeout_s: float) -> AsyncTransport:
    """Return an asynchronous transport; errors as in `Memolith.connect`."""
    return AsyncTransport(build_service_connection(url, key, timeout_s))


@install_remote
class RemoteMemolith(RemoteMethods, Memolith):
    """`Memolith` on a server: see `Memolith.connect`."""


@install_async_remote_owner
class AsyncRemoteOwnerMemory(AsyncRemoteOwnerMethods, AsyncOwnerMemory):
    """`AsyncOwnerMemory` on a server: see `AsyncMemolith.connect`."""


@install_async_remote
class AsyncRemoteMemolith(AsyncRemoteMethods, AsyncMemolith):
    """`AsyncMemolith` on a server: see `AsyncMemolith.connect`."""

    def owner(self, owner_id: str) -> AsyncRemoteOwnerMemory:
        """Return the memory of one owner."""
        return AsyncRemoteOwnerMemory(owner_id, self._link)
