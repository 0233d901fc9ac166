"""The network guard of the test suite: see tests/conftest.py."""

import socket

import pytest


def test_connection_to_another_machine_is_refused() -> None:
    with socket.socket() as client, pytest.raises(PermissionError, match=r"192\.0\.2\.1"):
        client.connect(("192.0.2.1", 443))  # TEST-NET-1 of RFC 5737, assigned to no host


def test_connection_to_this_machine_is_allowed() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname(), timeout=5) as client,
    ):
        assert client.getpeername() == server.getsockname()
