"""The server beside REST: the same keys, the same owners, one request at a time.

Nothing is kept between requests, neither a session nor who it was of: each shows its key. So
there is no session that somebody else could use, and any of several processes can answer.
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
    """Takes the protocol's requests, once it runs."""

    def __init__(self, app: FastAPI, body_bytes: int) -> None:
        """Answer for an app; where the SDK is not installed, say so."""
        self._app = app
        self._body_bytes = body_bytes
        # No GET: there is nothing that the server would say unasked, and no DELETE: no session.
        self.route = Route(MCP_PATH, self, methods=["POST"], include_in_schema=False)
        self._session_manager: Any = None
        if find_spec("mcp") is not None:
            self._session_manager = _build_session_manager(body_bytes)

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """Answer while the block runs."""
        if self._session_manager is None:
            yield
            return
        async with self._session_manager.run():
            yield
        self._session_manager = _build_session_manager(
            self._body_bytes
        )  # each runs once, an app perhaps again

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, for whom its key is.

        Raises:
            Problem: It shows no key that opens something, or the SDK is not installed.
            Forbidden: Its key is not of the owner it names.
        """
        scope["route"] = self.route  # as FastAPI's own have it: what is counted by route
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
    """Let an app answer at /mcp too; the endpoint is to run while the app does."""
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
    assert context.request is not None  # noqa: S101 - over HTTP there is one
    memory: OwnerMemory = context.request.scope["state"][_MEMORY_KEY]
    return memory
