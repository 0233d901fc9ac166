"""Routes of the chat proxy, compatible with OpenAI's protocol."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Request
from fastapi.responses import Response

from memolith.policies.resend_detection import derive_session_id
from memolith.server import problems
from memolith.server.auth import AuthenticatedRoute, CallerDep, EngineDep, OwnerHeader
from memolith.server.problems import Problem
from memolith.server.proxy.conversation import ChatSession, MemoryMode
from memolith.server.proxy.openai import parse_chat_request
from memolith.server.proxy.service import MODE_HEADER, SESSION_HEADER, Proxy
from memolith.services.validation import validate_name

proxy_router = APIRouter(prefix="/v1", tags=["chat"], route_class=AuthenticatedRoute)

_NOT_CONFIGURED = "no chat service is configured; see [memory.chat]"
_PROBLEM_RESPONSE = {"model": problems.ProblemDocument, "content": {problems.MEDIA_TYPE: {}}}
_OBJECT_CONTENT = {"schema": {"type": "object"}}
_RESPONSES: dict[int | str, dict[str, Any]] = {
    501: {**_PROBLEM_RESPONSE, "description": "No chat service is configured."},
    "default": {
        "description": "The upstream's response, unchanged.",
        "content": {"application/json": _OBJECT_CONTENT},
    },
}
_REQUEST_SCHEMA = {
    "type": "object",
    "required": ["messages"],
    "properties": {
        "model": {"type": "string", "description": "Default: the configured model."},
        "messages": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "required": ["role"],
                "properties": {"role": {"type": "string"}},
            },
        },
        "stream": {"type": "boolean"},
        "user": {
            "type": "string",
            "description": "The owner, if neither the API key nor a header determines it.",
        },
    },
    "examples": [
        {
            "model": "gpt-5-mini",
            "messages": [{"role": "user", "content": "Which units should you use?"}],
        }
    ],
}


async def get_proxy(request: Request) -> Proxy:
    """Return the proxy.

    Raises:
        Problem: No chat service is configured.
    """
    proxy: Proxy | None = request.app.state.proxy
    if proxy is None:
        raise Problem(501, _NOT_CONFIGURED)
    return proxy


ProxyDep = Annotated[Proxy, Depends(get_proxy)]


@proxy_router.post(
    "/chat/completions",
    response_class=Response,
    responses={
        **_RESPONSES,
        200: {
            "description": "The reply in OpenAI's format.",
            "content": {
                "application/json": _OBJECT_CONTENT,
                "text/event-stream": {"schema": {"type": "string"}},
            },
        },
    },
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": _REQUEST_SCHEMA}},
        }
    },
)
async def chat(  # noqa: PLR0913, PLR0917 - headers and dependencies
    request: Request,
    caller: CallerDep,
    engine: EngineDep,
    proxy: ProxyDep,
    requested: OwnerHeader = None,
    session: Annotated[
        str | None,
        Header(
            alias=SESSION_HEADER,
            description="Name of the session; default: derived from the first message.",
        ),
    ] = None,
    mode: Annotated[
        MemoryMode,
        Header(
            alias=MODE_HEADER,
            description="`read-only`: learn nothing; `off`: neither learn nor recall.",
        ),
    ] = MemoryMode.ON,
) -> Response:
    """Forward a chat request with recalled memories in it; learn from the exchange."""
    ask = parse_chat_request(await request.body())
    memory = engine.owner(caller.resolve_owner(requested, ask.user))
    name = derive_session_id(memory.owner_id, ask.messages)
    if session is not None:
        name = validate_name(session, SESSION_HEADER)
    return await proxy.chat(ChatSession(memory, name, ask.messages, mode), ask)


@proxy_router.get(
    "/models",
    response_class=Response,
    responses={**_RESPONSES, 200: {"content": {"application/json": _OBJECT_CONTENT}}},
)
async def models(_: CallerDep, proxy: ProxyDep) -> Response:
    """List the available models in OpenAI's format."""
    return await proxy.models()
