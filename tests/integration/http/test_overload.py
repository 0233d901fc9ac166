"""More than the service can do: what is over it is refused at once; then all is as before."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from urllib.parse import urlsplit

import httpx
import numpy as np
from numpy.typing import NDArray

from memolith import Memolith
from memolith.ports.models import TextRole
from memolith.server.app import ServerOptions, create_app
from memolith.testing.fakes import HashingEmbedder, WordCounter
from support.http_server import running

CALLERS = 300
AT_ONCE = 4
THREADS = 2
_PATIENCE_S = 60.0
_BODY = b'{"query": "tea"}'
_HEAD = "POST /v1/recall HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n"


class Held(HashingEmbedder):
    """An embedder that answers when it is let."""

    def __init__(self) -> None:
        super().__init__(64)
        self.let = threading.Event()

    def embed(self, texts: Sequence[str], *, role: TextRole) -> NDArray[np.float32]:
        assert self.let.wait(_PATIENCE_S)
        return super().embed(texts, role=role)


class Callers:
    """Callers who ask all at once.

    Attributes:
        refused: What those were told who were refused, status and headers.
        served: How many were answered.
    """

    def __init__(self, url: str) -> None:
        self._address = urlsplit(url)
        self.refused: list[str] = []
        self.served = 0
        self._changed = asyncio.Condition()

    async def ask(self) -> None:
        reader, writer = await asyncio.open_connection(self._address.hostname, self._address.port)
        head = _HEAD.format(self._address.netloc) + f"Content-Length: {len(_BODY)}\r\n\r\n"
        writer.write(head.encode() + _BODY)
        told = (await reader.readuntil(b"\r\n\r\n")).decode()
        async with self._changed:
            if told.startswith("HTTP/1.1 200"):
                self.served += 1
            else:
                self.refused.append(told.lower())
            self._changed.notify_all()
        writer.close()
        await writer.wait_closed()

    async def until_refused(self, count: int) -> None:
        async with self._changed, asyncio.timeout(_PATIENCE_S):
            await self._changed.wait_for(lambda: len(self.refused) >= count)


async def crowd(url: str, embedder: Held) -> Callers:
    """Let all ask at once; who is refused is told before anybody is served."""
    callers = Callers(url)
    async with asyncio.TaskGroup() as asking:
        for _ in range(CALLERS):
            asking.create_task(callers.ask())
        await callers.until_refused(CALLERS - AT_ONCE)
        assert callers.served == 0
        embedder.let.set()
    return callers


def test_what_is_over_the_limit_is_refused_while_the_rest_is_worked_on() -> None:
    embedder = Held()
    serving = ServerOptions(
        anonymous_owner="alice", max_concurrent_requests=AT_ONCE, threads=THREADS
    )
    with (
        Memolith.open(":memory:", embedder=embedder, tokens=WordCounter()) as engine,
        running(create_app(engine, serving)) as url,
    ):
        for _ in range(2):
            embedder.let.clear()
            callers = asyncio.run(crowd(url, embedder))
            assert callers.served == AT_ONCE
            assert {told.partition("\r\n")[0] for told in callers.refused} == {
                "http/1.1 503 service unavailable"
            }
            assert all("\r\nretry-after: 1\r\n" in told for told in callers.refused)
        answered = httpx.post(f"{url}/v1/memories", json={"content": "I like tea"})
        assert answered.status_code == 201
