"""A chat service that remembers, for every client that speaks OpenAI's protocol."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Request
from fastapi.responses import Response

from memolith.entrypoints.http import problems
from memolith.entrypoints.http.callers import Engine, KeyedRoute, Known, NamedOwner
from memolith.entrypoints.http.problems import Problem
from memolith.entrypoints.http.proxying.asking import read_ask
from memolith.entrypoints.http.proxying.relaying import SESSION_HEADER, SWITCH_HEADER, Proxy
from memolith.entrypoints.http.proxying.remembering import Switch, Talk
from memolith.policies.resending import session_of
from memolith.services.screening import screened_name

router = APIRouter(prefix="/v1", tags=["chat"], route_class=KeyedRoute)

_NONE = "no chat service is configured: see [memory.chat]"
_PROBLEM = {"model": problems.ProblemDocument, "content": {problems.MEDIA_TYPE: {}}}
_OBJECT = {"schema": {"type": "object"}}
_RESPONSES: dict[int | str, dict[str, Any]] = {
    501: {**_PROBLEM, "description": "No chat service is configured."},
    "default": {
        "description": "What the chat service answers, as it answers it.",
        "content": {"application/json": _OBJECT},
    },
}
_ASKED = {
    "type": "object",
    "required": ["messages"],
    "properties": {
        "model": {"type": "string", "description": "None: the one that is configured."},
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
        "user": {"type": "string", "description": "The owner, where the key and no header says."},
    },
    "examples": [
        {
            "model": "gpt-5-mini",
            "messages": [{"role": "user", "content": "Which units should you use?"}],
        }
    ],
}


async def proxy_of(request: Request) -> Proxy:
    """Return what asks the chat service.

    Raises:
        Problem: None is configured.
    """
    proxy: Proxy | None = request.app.state.proxy
    if proxy is None:
        raise Problem(501, _NONE)
    return proxy


Proxied = Annotated[Proxy, Depends(proxy_of)]


@router.post(
    "/chat/completions",
    response_class=Response,
    responses={
        **_RESPONSES,
        200: {
            "description": "The reply, as OpenAI's protocol has it.",
            "content": {
                "application/json": _OBJECT,
                "text/event-stream": {"schema": {"type": "string"}},
            },
        },
    },
    openapi_extra={
        "requestBody": {"required": True, "content": {"application/json": {"schema": _ASKED}}}
    },
)
async def chat(  # noqa: PLR0913, PLR0917 - what a call tells, each by its name
    request: Request,
    caller: Known,
    engine: Engine,
    proxy: Proxied,
    named: NamedOwner = None,
    session: Annotated[
        str | None,
        Header(
            alias=SESSION_HEADER, description="The conversation; none: told by its first message."
        ),
    ] = None,
    switch: Annotated[
        Switch,
        Header(
            alias=SWITCH_HEADER,
            description="`read-only`: nothing is learned; `off`: nor is anything recalled.",
        ),
    ] = Switch.ON,
) -> Response:
    """Ask the configured model, which is told what is remembered; learn from the exchange."""
    ask = read_ask(await request.body())
    memory = engine.owner(caller.acting_for(named, ask.user))
    name = session_of(memory.owner_id, ask.messages)
    if session is not None:
        name = screened_name(session, SESSION_HEADER)
    return await proxy.chat(Talk(memory, name, ask.messages, switch), ask)


@router.get(
    "/models",
    response_class=Response,
    responses={**_RESPONSES, 200: {"content": {"application/json": _OBJECT}}},
)
async def models(_: Known, proxy: Proxied) -> Response:
    """List the models that can be asked for, as OpenAI's protocol has it."""
    return await proxy.models()
