"""Servers of the protocol, and the official client: over HTTP and with a program."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, TypeVar

import anyio
import httpx2
import uvicorn
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from mnemon import Mnemon
from mnemon.entrypoints.http.app import Serving, create_app

T = TypeVar("T")

MODES = ("legacy", "auto")
"""With the handshake that clients had for long, and without."""

_DEADLINE_S = 60.0


@contextmanager
def served(memory: Mnemon, how: Serving | None = None) -> Iterator[str]:
    """Serve an engine over a real socket; give its address."""
    config = uvicorn.Config(
        create_app(memory, how or Serving()), port=0, log_config=None, access_log=False
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        thread.join(0.01)
        assert thread.is_alive()
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(_DEADLINE_S)
        assert not thread.is_alive()


def headers(key: str, owner: str | None = None) -> dict[str, str]:
    """Return what shows a key, and names an owner."""
    return {"Authorization": f"Bearer {key}"} | ({"X-Owner-Id": owner} if owner else {})


@asynccontextmanager
async def connected(
    address: str, shown: dict[str, str], mode: str = "auto"
) -> AsyncIterator[Client]:
    """Connect the official client over HTTP."""
    async with httpx2.AsyncClient(headers=shown, timeout=_DEADLINE_S) as http:
        transport = streamable_http_client(f"{address}/mcp", http_client=http)
        async with Client(transport, mode=mode) as client:
            yield client


def asked(
    address: str,
    shown: dict[str, str],
    ask: Callable[[Client], Awaitable[T]],
    mode: str = "auto",
) -> T:
    """Ask something of a server over HTTP."""

    async def run() -> T:
        async with connected(address, shown, mode) as client:
            with anyio.fail_after(_DEADLINE_S):
                return await ask(client)

    return anyio.run(run)


def text_of(result: Any) -> str:
    """Return what a tool answered in words."""
    return "\n".join(each.text for each in result.content)
