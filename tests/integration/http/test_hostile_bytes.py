"""Malicious bytes on a real socket do not block other callers."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import httpx
import pytest
from fastapi.testclient import TestClient

from memolith import Memolith
from memolith.server import http_protocol, middleware
from memolith.server.app import ServerOptions, create_app
from memolith.server.http_protocol import MAX_HEAD_BYTES, BoundedProtocol
from memolith.server.serve import get_http_protocol
from support.http_server import running

MAX_REQUESTS = 4
_PATIENCE_S = 30.0
_POST = b"POST /v1/memories HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


@pytest.fixture
def address(memory: Memolith) -> Iterator[str]:
    app = create_app(
        memory, ServerOptions(anonymous_owner="alice", max_concurrent_requests=MAX_REQUESTS)
    )
    with running(app, http=BoundedProtocol) as url:
        yield url


@contextmanager
def open_socket(url: str) -> Iterator[socket.socket]:
    where = urlsplit(url)
    with socket.create_connection((where.hostname, where.port), _PATIENCE_S) as opened:
        yield opened


def read_all(connection: socket.socket) -> bytes:
    """Return the received bytes until the other side closes."""
    content = b""
    try:
        while piece := connection.recv(1 << 16):
            content += piece
    except ConnectionError:
        pass
    return content


def flood(url: str, begun: bytes, piece: bytes) -> None:
    """Send a beginning, then repeat a chunk until the other side closes."""
    with open_socket(url) as connection:
        connection.sendall(begun)
        for _ in range(1_000):
            connection.sendall(piece)


def test_server_uses_the_bounded_protocol() -> None:
    assert get_http_protocol() is BoundedProtocol


@pytest.mark.parametrize("length", [b"Content-Length: 100", b"Transfer-Encoding: chunked"])
def test_stalled_bodies_time_out_and_release_their_slots(
    address: str, monkeypatch: pytest.MonkeyPatch, length: bytes
) -> None:
    monkeypatch.setattr(middleware, "_BODY_TIMEOUT_S", 0.3)
    for _ in range(2 * MAX_REQUESTS):
        with open_socket(address) as stalled:
            stalled.sendall(_POST + length + b"\r\n\r\n")
            assert read_all(stalled).startswith(b"HTTP/1.1 408 ")
    assert httpx.get(f"{address}/v1/memories").status_code == 200


def test_slow_body_is_accepted(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(middleware, "_MIN_BODY_BYTES_PER_S", 1)  # 14 bytes allow 14 seconds
    monkeypatch.setattr(middleware, "_BODY_TIMEOUT_S", 1.0)
    with open_socket(address) as slow:
        slow.sendall(_POST + b"Content-Length: 24\r\nConnection: close\r\n\r\n" + b'{"content":"li')
        slow.settimeout(1.5)
        with pytest.raises(TimeoutError):
            slow.recv(1)
        slow.settimeout(_PATIENCE_S)
        slow.sendall(b'kes tea"} ')
        assert read_all(slow).startswith(b"HTTP/1.1 201 ")


@pytest.mark.parametrize("begun", [b"GET /", b"GET / HTTP/1.1\r\nX: ", _POST])
def test_endless_head_is_refused(address: str, begun: bytes) -> None:
    with pytest.raises(ConnectionError):
        flood(address, begun, b"x" * MAX_HEAD_BYTES)
    assert httpx.get(f"{address}/v1/memories").status_code == 200


def test_body_in_tiny_chunks_is_refused(
    address: str,
) -> None:
    start = _POST + b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    with open_socket(address) as lines:
        text = b"".join(b"28\r\n%s\r\n" % (b" " * 40) for _ in range(5_000))
        lines.sendall(start + text + b'15\r\n{"content":"I am in"}\r\n0\r\n\r\n')
        assert read_all(lines).startswith(b"HTTP/1.1 201 ")
    with pytest.raises(ConnectionError):
        flood(address, start, b"1\r\n \r\n" * 10_000)


@pytest.mark.parametrize("begun", [b"", b"GET / HTTP/1.1\r\nHost: local"])
def test_connection_without_a_request_times_out(
    address: str, monkeypatch: pytest.MonkeyPatch, begun: bytes
) -> None:
    monkeypatch.setattr(http_protocol, "HEAD_TIMEOUT_S", 0.2)
    with open_socket(address) as silent:
        silent.sendall(begun)
        assert read_all(silent) == b""


@pytest.mark.parametrize("name", ["Host", "Authorization", "X-Owner-Id", "Idempotency-Key"])
def test_duplicate_headers_are_refused(as_alice: TestClient, name: str) -> None:
    refused = as_alice.get("/v1/memories", headers=[(name, "localhost"), (name.lower(), "alice")])
    assert refused.status_code == 400


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/context/sensors", '{"a":' * 900 + "1" + "}" * 900),
        (
            "/v1/sessions/s/compress",
            '{"messages":[{"role":"user","content":' + "[" * 900 + "]" * 900 + "}]}",
        ),
    ],
)
def test_deeply_nested_body_is_refused(as_alice: TestClient, path: str, body: str) -> None:
    sent = as_alice.post(path, content=body, headers={"Content-Type": "application/json"})
    assert sent.status_code == 422
    assert "nested too deep" in sent.text
