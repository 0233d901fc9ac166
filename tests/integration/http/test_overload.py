"""Requests above the limit are refused at once; afterwards the server works as before."""

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
MAX_REQUESTS = 4
THREADS = 2
_PATIENCE_S = 60.0
_BODY = b'{"query": "tea"}'
_HEAD = "POST /v1/recall HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n"


class BlockingEmbedder(HashingEmbedder):
    """An embedder whose calls block until `release` is set."""

    def __init__(self) -> None:
        super().__init__(64)
        self.release = threading.Event()

    def embed(self, texts: Sequence[str], *, role: TextRole) -> NDArray[np.float32]:
        assert self.release.wait(_PATIENCE_S)
        return super().embed(texts, role=role)


class CallerGroup:
    """Concurrent callers.

    Attributes:
        refused: The status and headers of refused requests.
        served: The number of answered requests.
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
        response = (await reader.readuntil(b"\r\n\r\n")).decode()
        async with self._changed:
            if response.startswith("HTTP/1.1 200"):
                self.served += 1
            else:
                self.refused.append(response.lower())
            self._changed.notify_all()
        writer.close()
        await writer.wait_closed()

    async def wait_until_refused(self, count: int) -> None:
        async with self._changed, asyncio.timeout(_PATIENCE_S):
            await self._changed.wait_for(lambda: len(self.refused) >= count)


async def run_callers(url: str, embedder: BlockingEmbedder) -> CallerGroup:
    """Send all requests at once; the refusals must arrive before the first answer."""
    callers = CallerGroup(url)
    async with asyncio.TaskGroup() as asking:
        for _ in range(CALLERS):
            asking.create_task(callers.ask())
        await callers.wait_until_refused(CALLERS - MAX_REQUESTS)
        assert callers.served == 0
        embedder.release.set()
    return callers


def test_requests_over_the_limit_are_refused_immediately() -> None:
    embedder = BlockingEmbedder()
    serving = ServerOptions(
        anonymous_owner="alice", max_concurrent_requests=MAX_REQUESTS, threads=THREADS
    )
    with (
        Memolith.open(":memory:", embedder=embedder, tokens=WordCounter()) as engine,
        running(create_app(engine, serving)) as url,
    ):
        for _ in range(2):
            embedder.release.clear()
            callers = asyncio.run(run_callers(url, embedder))
            assert callers.served == MAX_REQUESTS
            assert {head.partition("\r\n")[0] for head in callers.refused} == {
                "http/1.1 503 service unavailable"
            }
            assert all("\r\nretry-after: 1\r\n" in head for head in callers.refused)
        answered = httpx.post(f"{url}/v1/memories", json={"content": "I like tea"})
        assert answered.status_code == 201
