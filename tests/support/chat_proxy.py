"""A chat proxy in front of a scripted model."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any

import openai
from fastapi import FastAPI

from memolith import Memolith, OwnerMemory
from memolith.server.app import ServerOptions, create_app
from memolith.server.proxy.openai import ChatRequest, Upstream, UpstreamResponse
from memolith.server.proxy.service import Proxy, ProxyOptions
from memolith.testing.fakes import HashingEmbedder, WordCounter
from support.http_server import running

Messages = list[dict[str, Any]]


class Echo:
    """An upstream in this process that echoes the conversation."""

    model = "echo"

    @asynccontextmanager
    async def chat(self, ask: ChatRequest) -> AsyncIterator[UpstreamResponse]:
        message = {"role": "assistant", "content": json.dumps(ask.messages[-1])}
        body = {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
        yield UpstreamResponse(200, {"content-type": "application/json"}, json.dumps(body).encode())

    async def models(self) -> UpstreamResponse:
        listed = {"object": "list", "data": [{"id": "echo", "object": "model"}]}
        return UpstreamResponse(
            200, {"content-type": "application/json"}, json.dumps(listed).encode()
        )

    async def close(self) -> None:
        pass


@dataclass
class Proxied:
    """A running proxy."""

    url: str
    app: FastAPI
    engine: Memolith
    clients: list[openai.OpenAI] = field(default_factory=list)

    def client(self, key: str = "any", **headers: str) -> openai.OpenAI:
        made = openai.OpenAI(
            base_url=f"{self.url}/v1",
            api_key=key,
            max_retries=0,
            default_headers=headers,
            http_client=openai.DefaultHttpxClient(verify=False),  # plain HTTP
        )
        self.clients.append(made)
        return made

    def learned(self) -> None:
        """Wait until all exchanges are stored."""
        proxy: Proxy = self.app.state.proxy
        assert proxy.afterwards.wait("alice", 60)

    def failures(self) -> dict[tuple[str, str], float]:
        """Return the number of memory failures by stage and kind."""
        (counted,) = self.app.state.metrics.memory_failures.collect()
        return {
            (sample.labels["stage"], sample.labels["kind"]): sample.value
            for sample in counted.samples
            if sample.name.endswith("_total")
        }

    @property
    def alice(self) -> OwnerMemory:
        return self.engine.owner("alice")

    def log(self) -> list[tuple[str, str]]:
        """Return Alice's messages of all sessions as role and text."""
        self.learned()
        return [
            (str(message.role), message.content)
            for session in self.alice.sessions()
            for message in self.alice.messages(session.id)
        ]


@contextmanager
def proxied(
    upstream: Upstream,
    how: ProxyOptions | None = None,
    *,
    engine: Memolith | None = None,
    open_for: str | None = "alice",
) -> Iterator[Proxied]:
    """Run a proxy in front of an upstream, with generous timeouts by default."""
    made = engine or Memolith.open(":memory:", embedder=HashingEmbedder(), tokens=WordCounter())
    serving = ServerOptions(
        anonymous_owner=open_for,
        upstream=upstream,
        proxy_options=how or ProxyOptions(memory_timeout_s=20),
    )
    app = create_app(made, serving)
    with made, running(app) as url:
        served = Proxied(url, app, made)
        try:
            yield served
        finally:
            for client in served.clients:
                client.close()


def said(client: openai.OpenAI, messages: Sequence[dict[str, Any]], **more: Any) -> str:
    """Return the reply to a conversation."""
    asking: Any = client.chat.completions.create
    reply = asking(model="scripted", messages=messages, **more)
    return str(reply.choices[0].message.content)


def streamed(client: openai.OpenAI, messages: Sequence[dict[str, Any]], **more: Any) -> str:
    """Return the streamed reply to a conversation."""
    asking: Any = client.chat.completions.create
    with asking(model="scripted", messages=messages, stream=True, **more) as events:
        pieces = [event.choices[0].delta.content for event in events if event.choices]
    return "".join(piece for piece in pieces if piece)


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def assistant(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}
