"""The reverse proxy examples in deploy/, run with other ports and certificates."""

from __future__ import annotations

import re
import shutil
import signal
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import anyio.to_thread
import httpx
import pytest

from memolith import Memolith
from memolith.server.app import ServerOptions, create_app
from memolith.server.proxy.openai import ChatRequest, UpstreamResponse
from memolith.testing.fakes import HashingEmbedder, WordCounter
from support.http_server import running

pytestmark = pytest.mark.soak

DEPLOY = Path(__file__).parents[3] / "deploy"
NAME = "memory.example.org"
_WAIT_S = 20.0


class SlowUpstream:
    """A chat service that sends its second chunk after the client has read the first."""

    model = "slow"

    def __init__(self) -> None:
        self.go_on = threading.Event()

    @asynccontextmanager
    async def chat(self, ask: ChatRequest) -> AsyncIterator[UpstreamResponse]:
        assert ask.messages

        async def pieces() -> AsyncIterator[bytes]:
            yield b'data: {"choices":[{"index":0,"delta":{"content":"One "}}]}\n\n'
            assert await anyio.to_thread.run_sync(self.go_on.wait, _WAIT_S)
            yield b'data: {"choices":[{"index":0,"delta":{"content":"two"}}]}\n\ndata: [DONE]\n\n'

        yield UpstreamResponse(200, {"content-type": "text/event-stream"}, b"", pieces())

    async def models(self) -> UpstreamResponse:
        raise NotImplementedError

    async def close(self) -> None:
        pass


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
    return port


def certificate(folder: Path) -> None:
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1"]
    names = ["-subj", f"/CN={NAME}", "-addext", f"subjectAltName=DNS:{NAME}"]
    files = ["-keyout", str(folder / "privkey.pem"), "-out", str(folder / "fullchain.pem")]
    subprocess.run([*command, *names, *files], check=True, capture_output=True)


def nginx(folder: Path, port: int, server: str) -> list[str]:
    site = (DEPLOY / "nginx.conf").read_text()
    site = re.sub(r"^ *listen \[::\].*\n", "", site, flags=re.MULTILINE)
    site = site.replace("listen 443 ssl", f"listen 127.0.0.1:{port} ssl")
    site = site.replace("listen 80", f"listen 127.0.0.1:{free_port()}")
    site = site.replace("/etc/ssl/memolith", str(folder)).replace("127.0.0.1:8377", server)
    places = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    temporary = "\n".join(f"{each}_temp_path {folder}/{each};" for each in places)
    (folder / "nginx.conf").write_text(
        f"daemon off; pid {folder}/pid; error_log stderr; events {{}}\n"
        f"http {{ access_log off; {temporary}\n{site} }}\n"
    )
    return ["nginx", "-e", "stderr", "-c", str(folder / "nginx.conf")]


def caddy(folder: Path, port: int, server: str) -> list[str]:
    site = (DEPLOY / "Caddyfile").read_text().replace("127.0.0.1:8377", server)
    files = f"{folder}/fullchain.pem {folder}/privkey.pem"
    site = site.replace(f"{NAME} {{", f"https://{NAME}:{port} {{\n\ttls {files}", 1)
    (folder / "Caddyfile").write_text(
        f"{{\n\tadmin off\n\tauto_https disable_redirects\n}}\n{site}"
    )
    return ["caddy", "run", "--config", str(folder / "Caddyfile"), "--adapter", "caddyfile"]


@contextmanager
def proxy(command: list[str], folder: Path, port: int) -> Iterator[None]:
    env = {"PATH": "/usr/sbin:/usr/bin:/bin", "HOME": str(folder)}
    with subprocess.Popen(command, env=env, stderr=subprocess.DEVNULL) as process:
        try:
            given_up_at = time.monotonic() + _WAIT_S
            while True:
                assert process.poll() is None
                try:
                    socket.create_connection(("127.0.0.1", port), 1).close()
                    break
                except OSError:
                    assert time.monotonic() < given_up_at
                    time.sleep(0.05)
            yield
        finally:
            process.send_signal(signal.SIGTERM)


ProxySetup = tuple[httpx.Client, SlowUpstream, str]


@pytest.fixture(params=[nginx, caddy], ids=["nginx", "caddy"])
def proxy_setup(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ProxySetup]:
    """Yield a client of the proxy, the chat service and a key."""
    if shutil.which(request.param.__name__, path="/usr/sbin:/usr/bin:/bin") is None:
        pytest.skip(f"{request.param.__name__} is not installed")
    certificate(tmp_path)
    slow, port = SlowUpstream(), free_port()
    with Memolith.open(
        tmp_path / "m.db", embedder=HashingEmbedder(), tokens=WordCounter()
    ) as engine:
        key = engine.create_api_key("client", owner="alice").secret
        app = create_app(engine, ServerOptions(allowed_hosts=frozenset({NAME}), upstream=slow))
        # Equivalent to `trusted_proxies = "127.0.0.1"`.
        with running(app, forwarded_allow_ips="127.0.0.1") as url:
            server = url.removeprefix("http://")
            trusted = ssl.create_default_context(cafile=str(tmp_path / "fullchain.pem"))
            transport = _LocalTransport(port, verify=trusted)
            with (
                proxy(request.param(tmp_path, port, server), tmp_path, port),
                httpx.Client(
                    base_url=f"https://{NAME}:{port}", transport=transport, timeout=_WAIT_S
                ) as client,
            ):
                yield client, slow, key


class _LocalTransport(httpx.HTTPTransport):
    """Resolve the host name to this machine."""

    def __init__(self, port: int, verify: ssl.SSLContext) -> None:
        super().__init__(verify=verify)
        self._port = port

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.extensions["sni_hostname"] = NAME
        request.headers["Host"] = NAME
        request.url = request.url.copy_with(host="127.0.0.1", port=self._port)
        return super().handle_request(request)


def test_reverse_proxy_serves_tls_streams_and_rate_limits(proxy_setup: ProxySetup) -> None:
    client, slow, key = proxy_setup
    headers = {"Authorization": f"Bearer {key}"}
    made = client.post("/v1/memories", json={"content": "Likes tea"}, headers=headers)
    assert made.status_code == 201
    assert client.get("/metrics", headers=headers).status_code == 404
    long = client.post("/v1/memories", json={"content": "x" * 11_000_000}, headers=headers)
    assert long.status_code == 413

    # The first chunk of a stream arrives before the second is sent.
    asked = {"messages": [{"role": "user", "content": "Count"}], "stream": True}
    with client.stream("POST", "/v1/chat/completions", json=asked, headers=headers) as reply:
        pieces = reply.iter_text()
        assert "One" in next(pieces)
        slow.go_on.set()
        assert "two" in "".join(pieces)

    # Wrong keys are counted by the address from the proxy; the client's header is ignored.
    statuses = [
        client.get(
            "/v1/memories",
            headers={"Authorization": "Bearer memolith_no", "X-Forwarded-For": f"10.0.0.{number}"},
        ).status_code
        for number in range(22)
    ]
    assert statuses == [401] * 20 + [429] * 2
