"""Run the same tests through a service: `Memolith.open` returns a client of a local server."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest
import uvicorn

from memolith import Memolith
from memolith.client.endpoints import LOCAL_ONLY
from memolith.client.protocol import ServiceConnection
from memolith.client.remote import RemoteMemolith, RemoteOwnerMemory
from memolith.client.transport import Transport
from memolith.ports.service import KeyRole
from memolith.server.app import ServerOptions, create_app
from memolith.server.auth import Caller

if TYPE_CHECKING:
    from fastapi import FastAPI
    from starlette.types import Receive, Scope, Send

_WAIT_S = 60.0
_BODY_BYTES = 100_000_000
"""Maximum request body: some tests send more than the default."""


class _Everybody:
    """Authenticates every caller as admin; authorization has its own tests."""

    def caller(self, secret: str | None, address: str) -> Caller:
        assert secret is None
        assert address
        return Caller(KeyRole.ADMIN, None)


class Apps:
    """An ASGI app with many services, each at its own path."""

    def __init__(self) -> None:
        """Start without services."""
        self.of: dict[str, FastAPI] = {}
        self._numbers = count()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request to the service at its path."""
        if scope["type"] != "http":
            return
        _, number, rest = scope["path"].split("/", 2)
        await self.of[number](dict(scope, path=f"/{rest}", raw_path=None), receive, send)

    def add(self, app: FastAPI) -> str:
        """Add a service and return its path."""
        number = str(next(self._numbers))
        self.of[number] = app
        return number


class ServedMemolith(RemoteMemolith):
    """A client that closes its server-side engine with itself.

    Operations without a route run directly on the engine.
    """

    def __init__(
        self, engine: Memolith, service: ServiceConnection, forget: Callable[[], None]
    ) -> None:
        super().__init__(Transport(service))
        self._engine = engine
        self._parts = engine._app  # tests may inspect the engine
        self._forget = forget

    def __getattribute__(self, name: str) -> Any:
        if name in LOCAL_ONLY:
            return getattr(self._engine, name)
        return super().__getattribute__(name)

    def owner(self, owner_id: str) -> RemoteOwnerMemory:
        far = super().owner(owner_id)
        far._services = self._engine.owner(owner_id)._services
        return far

    def close(self) -> None:
        super().close()
        self._forget()
        self._engine.close()


@contextmanager
def over_http() -> Iterator[None]:
    """Make `Memolith.open` return clients of a server on loopback."""
    apps = Apps()
    server = uvicorn.Server(
        uvicorn.Config(apps, port=0, log_config=None, access_log=False, lifespan="off")
    )
    thread = threading.Thread(target=server.run)
    thread.start()
    open_engine = Memolith.open

    def open_(*args: Any, **options: Any) -> Memolith:
        engine = open_engine(*args, **options)
        while not server.started:
            assert thread.is_alive()
        port = server.servers[0].sockets[0].getsockname()[1]
        clock = engine._app.services.memory_reader._access.clock
        app = create_app(engine, ServerOptions(max_body_bytes=_BODY_BYTES), clock)
        app.state.doorkeeper = _Everybody()
        number = apps.add(app)
        service = ServiceConnection(f"http://127.0.0.1:{port}/{number}", "", _WAIT_S)
        return ServedMemolith(engine, service, lambda: _forget(apps, number))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Memolith, "open", staticmethod(open_))
        try:
            yield
        finally:
            server.should_exit = True
            thread.join()


def _forget(apps: Apps, number: str) -> None:
    with suppress(KeyError):
        del apps.of[number]
