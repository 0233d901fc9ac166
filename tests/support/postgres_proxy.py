"""A TCP proxy for PostgreSQL that can cut a connection within a message, or go silent."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

_BEFORE_THE_FIRST = {code.to_bytes(4, "big") for code in (80877103, 80877104)}
"""Request codes for encryption, sent before the first message of the protocol."""

_PIECE = 65_536


@dataclass(frozen=True, slots=True)
class Cut:
    """Where to cut a connection.

    Attributes:
        message: Number of the client message, from 1.
        share: Share of the message that passes. At 1, the server processes it, but its response is
            lost.
    """

    message: int
    share: float


@dataclass(slots=True)
class _Line:
    """Both ends of one connection."""

    client: socket.socket
    server: socket.socket
    unread: bytearray = field(default_factory=bytearray)
    has_begun: bool = False

    def cut(self) -> None:
        """Close the client's end at once; the server may still read what has passed."""
        for end, how in ((self.server, socket.SHUT_WR), (self.client, socket.SHUT_RDWR)):
            with suppress(OSError):
                end.shutdown(how)

    def messages(self, piece: bytes) -> Iterator[bytes]:
        """Yield the messages that a piece completes.

        Each message except the first starts with a byte for its kind and its length.
        """
        self.unread += piece
        while True:
            start = 1 if self.has_begun else 0
            if len(self.unread) < start + 4:
                return
            length = start + int.from_bytes(self.unread[start : start + 4], "big")
            if len(self.unread) < length:
                return
            message = bytes(self.unread[:length])
            del self.unread[:length]
            self.has_begun = self.has_begun or message[4:8] not in _BEFORE_THE_FIRST
            yield message


class Proxy:
    """Forwards a local port to a server's socket.

    Attributes:
        passed: Number of client messages since `arm`.
    """

    def __init__(self, target: str) -> None:
        """Set the path of the server's socket."""
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._lock = threading.Lock()
        self._lines: list[_Line] = []
        self._is_open = threading.Event()
        self._is_open.set()
        self._cut: Cut | None = None
        self._silent_after: int | None = None
        self._unheard: bytes | None = None
        self.passed = 0
        self._start(self._accept)

    @property
    def port(self) -> int:
        """Local port."""
        port: int = self._listener.getsockname()[1]
        return port

    def arm(
        self,
        cut: Cut | None = None,
        *,
        silent_after: int | None = None,
        unheard: bytes | None = None,
    ) -> None:
        """Start counting messages, and cut the connection or go silent as specified.

        Args:
            cut: Where to cut; None for no cut.
            silent_after: Number of messages after which nothing passes in either direction, while
                connections stay open; None for never.
            unheard: Cut the connection instead of forwarding a response that contains this.
        """
        with self._lock:
            self.passed, self._cut, self._silent_after = 0, cut, silent_after
            self._unheard = unheard
            if silent_after == 0:
                self._is_open.clear()

    def disarm(self) -> None:
        """Forward everything again."""
        self.arm()
        self._is_open.set()

    def close(self) -> None:
        """Close all connections."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._is_open.set()
        for line in self._lines:
            line.cut()
            line.server.close()
            line.client.close()

    def _start(self, run: Callable[..., None], *given: object) -> None:
        threading.Thread(target=run, args=given, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.socket(socket.AF_UNIX)
                server.connect(self._target)
                line = _Line(client, server)
                self._lines.append(line)
                self._start(self._to_server, line)
                self._start(self._to_client, line)

    def _to_server(self, line: _Line) -> None:
        with suppress(OSError):
            while piece := line.client.recv(_PIECE):
                for message in line.messages(piece):
                    self._is_open.wait()
                    if not self._pass_on(line, message):
                        return
            line.cut()

    def _pass_on(self, line: _Line, message: bytes) -> bool:
        with self._lock:
            self.passed += 1
            cut = self._cut if self._cut and self._cut.message == self.passed else None
            if self.passed == self._silent_after:
                self._is_open.clear()
        line.server.sendall(message if cut is None else message[: int(cut.share * len(message))])
        if cut is not None:
            line.cut()
        return cut is None

    def _to_client(self, line: _Line) -> None:
        with suppress(OSError):
            while piece := line.server.recv(_PIECE):
                self._is_open.wait()
                if self._unheard and self._unheard in piece:
                    break
                line.client.sendall(piece)
        line.cut()


@contextmanager
def proxy(target: str) -> Iterator[Proxy]:
    """Yield a proxy in front of a server's socket."""
    made = Proxy(target)
    try:
        yield made
    finally:
        made.close()
