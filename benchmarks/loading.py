"""Load generator with concurrent clients of the service, in its own process.

    python loading.py < orders

Each client is a persistent connection with one request at a time. The protocol is implemented by
hand, since a client library would use more CPU than the service.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import cycle
from pathlib import Path
from time import perf_counter
from urllib.parse import urlsplit

FAILED = "x-memolith-memory: failed"
PAUSE_S = 1.0
"""Pause of a refused client, in seconds; equals the service's `Retry-After`."""
_REFUSED = (429, 503)
_GONE = 0
"""Status of a request whose connection ended without a response."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request.

    Attributes:
        path: Path of the URL.
        body: JSON body.
        memory: Value of `X-Memolith-Memory` for a chat.
    """

    path: str
    body: dict[str, object]
    memory: str = "on"


@dataclass(frozen=True, slots=True)
class Orders:
    """A load test.

    Attributes:
        url: URL of the service.
        key: Service API key.
        owners: Owners, assigned to clients in rotation.
        clients: Number of connections.
        requests: Requests, sent in rotation.
        seconds: Duration; 0 to send each request once.
        unmeasured_s: Duration of the warm-up.
    """

    url: str
    key: str
    owners: Sequence[str]
    clients: int
    requests: Sequence[Request]
    seconds: float
    unmeasured_s: float = 0.0


@dataclass(slots=True)
class Load:
    """Result of a load test.

    Attributes:
        seconds: Measured duration.
        taken_s: Time of each successful request.
        refused_s: Time of each request refused because of overload.
        statuses: Number of responses by other status; 0 for no response.
        without_memory: Number of replies whose memory failed.
    """

    seconds: float = 0.0
    taken_s: list[float] = field(default_factory=list)
    refused_s: list[float] = field(default_factory=list)
    statuses: dict[str, int] = field(default_factory=dict)
    without_memory: int = 0

    @property
    def errors(self) -> int:
        """Number of failed requests."""
        return sum(self.statuses.values()) + len(self.refused_s)


def load(orders: Orders) -> Load:
    """Run a load test in another process and return its result."""
    done = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, Path(__file__)],
        input=json.dumps(asdict(orders)),
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return Load(**json.loads(done.stdout))


async def _loading(orders: Orders) -> Load:
    came = Load()
    started = perf_counter()
    begin_s = started + orders.unmeasured_s
    sent = iter(orders.requests) if not orders.seconds else cycle(orders.requests)
    end_s = started + orders.seconds if orders.seconds else float("inf")
    clients = [
        _client(orders, number, sent, (begin_s, end_s), came) for number in range(orders.clients)
    ]
    await asyncio.gather(*clients)
    came.seconds = perf_counter() - begin_s
    return came


async def _client(
    orders: Orders,
    number: int,
    sent: Iterator[Request],
    span_s: tuple[float, float],
    came: Load,
) -> None:
    begin_s, end_s = span_s
    head = _head(orders, orders.owners[number % len(orders.owners)])
    where = urlsplit(orders.url)
    connection = None
    while (started := perf_counter()) < end_s and (request := next(sent, None)) is not None:
        try:
            if connection is None:
                connection = await asyncio.open_connection(where.hostname, where.port)
            status, headers = await _asked(*connection, head, request)
        except (OSError, asyncio.IncompleteReadError):
            status, headers, connection = _GONE, "", None
        ended = perf_counter()
        if status in _REFUSED:
            await asyncio.sleep(PAUSE_S)
        if ended < begin_s:
            continue
        if status // 100 == 2:  # noqa: PLR2004 - success
            came.taken_s.append(ended - started)
            came.without_memory += FAILED in headers
        elif status in _REFUSED:
            came.refused_s.append(ended - started)
        else:
            came.statuses[str(status)] = came.statuses.get(str(status), 0) + 1
    if connection is not None:
        connection[1].close()


def _head(orders: Orders, owner: str) -> str:
    return (
        f"Host: {urlsplit(orders.url).netloc}\r\nAuthorization: Bearer {orders.key}\r\n"
        f"X-Owner-Id: {owner}\r\nContent-Type: application/json\r\n"
    )


async def _asked(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, head: str, request: Request
) -> tuple[int, str]:
    """Send a request, and return the status and headers of the response."""
    body = json.dumps(request.body).encode()
    start = f"POST {request.path} HTTP/1.1\r\n{head}X-Memolith-Memory: {request.memory}\r\n"
    writer.write(f"{start}Content-Length: {len(body)}\r\n\r\n".encode() + body)
    told = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    lines = told.lower().split("\r\n")
    lengths = [line.partition(":")[2] for line in lines if line.startswith("content-length:")]
    await reader.readexactly(int(lengths[0]))
    return int(told.split()[1]), told.lower()


def _main() -> None:
    given = json.load(sys.stdin)
    requests = [Request(**each) for each in given.pop("requests")]
    came = asyncio.run(_loading(Orders(requests=requests, **given)))
    json.dump(asdict(came), sys.stdout)


if __name__ == "__main__":
    _main()
