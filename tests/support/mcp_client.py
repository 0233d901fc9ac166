"""The official MCP client, over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import anyio
import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

T = TypeVar("T")

MODES = ("legacy", "auto")
"""Protocol modes: with the older handshake, and without."""

_DEADLINE_S = 60.0


def headers(key: str, owner: str | None = None) -> dict[str, str]:
    """Return headers with an API key and, optionally, an owner."""
    return {"Authorization": f"Bearer {key}"} | ({"X-Owner-Id": owner} if owner else {})


@asynccontextmanager
async def connected(
    address: str, shown: dict[str, str], mode: str = "auto"
) -> AsyncIterator[Client]:
    """Connect the client over HTTP."""
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
    """Run a function with a client connected over HTTP."""

    async def run() -> T:
        async with connected(address, shown, mode) as client:
            with anyio.fail_after(_DEADLINE_S):
                return await ask(client)

    return anyio.run(run)


def text_of(result: Any) -> str:
    """Return the text of a tool result."""
    return "\n".join(each.text for each in result.content)
