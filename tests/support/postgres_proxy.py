"""A wire to a PostgreSQL server that can be cut in the midst of a call, or go silent."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

_BEFORE_THE_FIRST = {code.to_bytes(4, "big") for code in (80877103, 80877104)}
"""What asks for encryption, before the first message of the protocol proper."""

_PIECE = 65_536


@dataclass(frozen=True, slots=True)
class Cut:
    """Where the wire is to be cut.

    Attributes:
        message: With which of the messages of the clients, from 1 on.
        share: How much of it comes through: nothing, a part, or all. In the last case the server
            does what it says, but its answer is lost.
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
        """End it for the client at once; the server may still read what came through."""
        for end, how in ((self.server, socket.SHUT_WR), (self.client, socket.SHUT_RDWR)):
            with suppress(OSError):
                end.shutdown(how)

    def messages(self, piece: bytes) -> Iterator[bytes]:
        """Yield the messages that are complete with a piece.

        Each begins with a letter for its kind, but the first, and with its length.
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
    """Takes connections at a port of this machine, and connects them to a server's socket.

    Attributes:
        passed: How many messages of clients have come through since it was last armed.
    """

    def __init__(self, target: str) -> None:
        """Take the file at which the server listens."""
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
        """Where it listens."""
        port: int = self._listener.getsockname()[1]
        return port

    def arm(
        self,
        cut: Cut | None = None,
        *,
        silent_after: int | None = None,
        unheard: bytes | None = None,
    ) -> None:
        """Count messages from here on, and cut the wire as it says, or let it go silent.

        Args:
            cut: Where to cut; None: nowhere.
            silent_after: After how many messages nothing comes through any more, either way,
                though all stay connected; None: never.
            unheard: Cut the wire instead of passing on an answer with this in it.
        """
        with self._lock:
            self.passed, self._cut, self._silent_after = 0, cut, silent_after
            self._unheard = unheard
            if silent_after == 0:
                self._is_open.clear()

    def disarm(self) -> None:
        """Let everything through again."""
        self.arm()
        self._is_open.set()

    def close(self) -> None:
        """Cut all there is."""
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
    """Give a proxy in front of a server's socket."""
    made = Proxy(target)
    try:
        yield made
    finally:
        made.close()
