"""Bytes that no well-meaning caller sends, over a real socket: nobody else is kept waiting."""

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

AT_ONCE = 4
_PATIENCE_S = 30.0
_POST = b"POST /v1/memories HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


@pytest.fixture
def address(memory: Memolith) -> Iterator[str]:
    app = create_app(
        memory, ServerOptions(anonymous_owner="alice", max_concurrent_requests=AT_ONCE)
    )
    with running(app, http=BoundedProtocol) as url:
        yield url


@contextmanager
def connected(url: str) -> Iterator[socket.socket]:
    where = urlsplit(url)
    with socket.create_connection((where.hostname, where.port), _PATIENCE_S) as opened:
        yield opened


def received(connection: socket.socket) -> bytes:
    """Return what comes until the other side closes."""
    told = b""
    try:
        while piece := connection.recv(1 << 16):
            told += piece
    except ConnectionError:
        pass
    return told


def flood(url: str, begun: bytes, piece: bytes) -> None:
    """Send a beginning, and a piece again and again, until the other side closes."""
    with connected(url) as connection:
        connection.sendall(begun)
        for _ in range(1_000):
            connection.sendall(piece)


def test_the_server_reads_so() -> None:
    assert get_http_protocol() is BoundedProtocol


@pytest.mark.parametrize("length", [b"Content-Length: 100", b"Transfer-Encoding: chunked"])
def test_bodies_that_never_come_keep_no_place(
    address: str, monkeypatch: pytest.MonkeyPatch, length: bytes
) -> None:
    monkeypatch.setattr(middleware, "_BODY_TIMEOUT_S", 0.3)
    for _ in range(2 * AT_ONCE):
        with connected(address) as stalled:
            stalled.sendall(_POST + length + b"\r\n\r\n")
            assert received(stalled).startswith(b"HTTP/1.1 408 ")
    assert httpx.get(f"{address}/v1/memories").status_code == 200


def test_a_body_that_comes_slowly_is_taken(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(middleware, "_MIN_BODY_BYTES_PER_S", 1)  # 14 bytes are 14 seconds
    monkeypatch.setattr(middleware, "_BODY_TIMEOUT_S", 1.0)
    with connected(address) as slow:
        slow.sendall(_POST + b"Content-Length: 24\r\nConnection: close\r\n\r\n" + b'{"content":"li')
        slow.settimeout(1.5)
        with pytest.raises(TimeoutError):
            slow.recv(1)
        slow.settimeout(_PATIENCE_S)
        slow.sendall(b'kes tea"} ')
        assert received(slow).startswith(b"HTTP/1.1 201 ")


@pytest.mark.parametrize("begun", [b"GET /", b"GET / HTTP/1.1\r\nX: ", _POST])
def test_a_head_without_end_is_not_taken(address: str, begun: bytes) -> None:
    with pytest.raises(ConnectionError):
        flood(address, begun, b"x" * MAX_HEAD_BYTES)
    assert httpx.get(f"{address}/v1/memories").status_code == 200


def test_a_body_in_pieces_of_a_byte_is_not_taken_and_one_in_pieces_of_a_line_is(
    address: str,
) -> None:
    start = _POST + b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    with connected(address) as lines:
        text = b"".join(b"28\r\n%s\r\n" % (b" " * 40) for _ in range(5_000))
        lines.sendall(start + text + b'15\r\n{"content":"I am in"}\r\n0\r\n\r\n')
        assert received(lines).startswith(b"HTTP/1.1 201 ")
    with pytest.raises(ConnectionError):
        flood(address, start, b"1\r\n \r\n" * 10_000)


@pytest.mark.parametrize("begun", [b"", b"GET / HTTP/1.1\r\nHost: local"])
def test_who_brings_no_request_is_not_waited_for(
    address: str, monkeypatch: pytest.MonkeyPatch, begun: bytes
) -> None:
    monkeypatch.setattr(http_protocol, "HEAD_TIMEOUT_S", 0.2)
    with connected(address) as silent:
        silent.sendall(begun)
        assert received(silent) == b""


@pytest.mark.parametrize("name", ["Host", "Authorization", "X-Owner-Id", "Idempotency-Key"])
def test_what_may_be_read_in_two_ways_is_refused(as_alice: TestClient, name: str) -> None:
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
def test_what_is_nested_deeper_than_can_be_answered_is_refused(
    as_alice: TestClient, path: str, body: str
) -> None:
    sent = as_alice.post(path, content=body, headers={"Content-Type": "application/json"})
    assert sent.status_code == 422
    assert "nested too deep" in sent.text
