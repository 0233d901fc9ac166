"""A TCP forwarder that drops server responses."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

_PIECE = 65_536


class Wire:
    """Forwards a local port to a server.

    Attributes:
        breaks: Number of upcoming responses to drop.
        let_through: Bytes of such a response that still pass.
        broken: Number of dropped responses.
    """

    def __init__(self, url: str) -> None:
        self._target = ("127.0.0.1", urlsplit(url).port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._ends: list[socket.socket] = []
        self.breaks = 0
        self.let_through = 0
        self.broken = 0
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        """URL of the local port."""
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def close(self) -> None:
        """Close all connections."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        for end in (self._listener, *self._ends):
            _cut(end)
            end.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(self._target)
                self._ends += [client, server]
                threading.Thread(target=self._forward, args=(client, server), daemon=True).start()
                threading.Thread(target=self._back, args=(server, client), daemon=True).start()

    def _forward(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while piece := client.recv(_PIECE):
                server.sendall(piece)
        _cut(server)

    def _back(self, server: socket.socket, client: socket.socket) -> None:
        with suppress(OSError):
            while piece := server.recv(_PIECE):
                if self.breaks:
                    self.breaks -= 1
                    self.broken += 1
                    client.sendall(piece[: self.let_through])
                    break
                client.sendall(piece)
        _cut(client)


def _cut(end: socket.socket) -> None:
    with suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)


@contextmanager
def wired(url: str) -> Iterator[Wire]:
    """Yield a forwarder to a server."""
    wire = Wire(url)
    try:
        yield wire
    finally:
        wire.close()
