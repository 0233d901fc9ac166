"""The suite's own guard: see tests/conftest.py."""

import socket

import pytest


def test_a_connection_out_of_this_machine_is_refused() -> None:
    with socket.socket() as client, pytest.raises(PermissionError, match=r"192\.0\.2\.1"):
        client.connect(("192.0.2.1", 443))  # TEST-NET-1 of RFC 5737: nobody's address


def test_a_connection_to_this_machine_is_let_through() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname(), timeout=5) as client,
    ):
        assert client.getpeername() == server.getsockname()
