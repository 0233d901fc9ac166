"""Stateless MCP endpoint over HTTP, with the API keys and owners of the REST API.

Each request is authenticated, and no session is stored. No session can be hijacked, and any worker
process can answer.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import anyio.to_thread
from starlette.datastructures import Headers
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from memolith.api.owner import OwnerMemory
from memolith.server.auth import OWNER_HEADER, Authenticator, decode_header, get_bearer_token
from memolith.server.problems import Problem

if TYPE_CHECKING:
    from fastapi import FastAPI
    from mcp.server.context import ServerRequestContext


MCP_PATH = "/mcp"

_MEMORY_KEY = "memolith.memory"


class McpEndpoint:
    """ASGI endpoint of the protocol; `run` must be active."""

    def __init__(self, app: FastAPI, body_bytes: int) -> None:
        """Create the endpoint; without the SDK, it answers all requests with a problem."""
        self._app = app
        self._body_bytes = body_bytes
        # No GET: the server sends no notifications. No DELETE: there are no sessions.
        self.route = Route(MCP_PATH, self, methods=["POST"], include_in_schema=False)
        self._session_manager: Any = None
        if find_spec("mcp") is not None:
            self._session_manager = _build_session_manager(body_bytes)

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """Answer requests while the block runs."""
        if self._session_manager is None:
            yield
            return
        async with self._session_manager.run():
            yield
        # A manager runs once; the application may start again.
        self._session_manager = _build_session_manager(self._body_bytes)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request as its authenticated owner.

        Raises:
            Problem: The API key is missing or invalid, or the SDK is not installed.
            Forbidden: The API key may not act for the requested owner.
        """
        scope["route"] = self.route  # like FastAPI's routes, for the metrics by route
        if self._session_manager is None:
            raise Problem(501, "MCP needs its SDK: pip install 'memolith[mcp]'")
        memory = await anyio.to_thread.run_sync(self._authenticate, scope)
        scope["state"][_MEMORY_KEY] = memory
        await self._session_manager.handle_request(scope, receive, send)

    def _authenticate(self, scope: Scope) -> OwnerMemory:
        headers = Headers(scope=scope)
        keeper: Authenticator = self._app.state.doorkeeper
        address = scope["client"][0] if scope.get("client") else ""
        caller = keeper.authenticate(get_bearer_token(headers), address)
        self._app.state.rates.take(caller)
        named = decode_header(headers.get(OWNER_HEADER))
        return keeper.engine.owner(caller.resolve_owner(named))


def mount(app: FastAPI, body_bytes: int) -> McpEndpoint:
    """Mount the endpoint at /mcp; run it as long as the application."""
    endpoint = McpEndpoint(app, body_bytes)
    app.router.routes.append(endpoint.route)
    return endpoint


def _build_session_manager(body_bytes: int) -> Any:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    from memolith.server.mcp.server import create_server

    return StreamableHTTPSessionManager(
        create_server(_get_request_memory),
        stateless=True,
        json_response=True,
        max_request_body_size=body_bytes,
    )


def _get_request_memory(context: ServerRequestContext[Any, Any]) -> OwnerMemory:
    assert context.request is not None  # noqa: S101 - always set over HTTP
    memory: OwnerMemory = context.request.scope["state"][_MEMORY_KEY]
    return memory
