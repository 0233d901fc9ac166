"""Connections that bring no request, or one that is all head, are not kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

if TYPE_CHECKING:
    import asyncio

HEAD_BYTES: Final = 1 << 16
"""How much may come beside a body: its head, and the sizes of its pieces. What `h11` takes."""

HEAD_S: Final = 30.0
"""How long a head may take: a guess."""


class BoundedProtocol(HttpToolsProtocol):
    """HTTP as `uvicorn` reads it with `httptools`, which by itself takes heads without end."""

    _come = 0
    _of_body = 0
    _overdue: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn has it
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self._wait_no_more()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on, as long as what comes is not mostly head."""
        self._come += len(data)
        super().data_received(data)
        if self._come - 2 * self._of_body > HEAD_BYTES:
            self.transport.close()

    def on_message_begin(self) -> None:
        """Begin to count, and to wait for the end of the head."""
        super().on_message_begin()
        self._come = self._of_body = 0
        self._wait()

    def on_headers_complete(self) -> None:
        """Wait no more: bodies are waited for elsewhere."""
        self._wait_no_more()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Count what is of a body; as much may come beside it."""
        self._of_body += len(body)
        super().on_body(body)

    def _wait(self) -> None:
        self._wait_no_more()
        self._overdue = self.loop.call_later(HEAD_S, self.transport.close)

    def _wait_no_more(self) -> None:
        if self._overdue is not None:
            self._overdue.cancel()
            self._overdue = None
