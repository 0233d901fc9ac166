"""Connections that bring no request, or one that is all head, are not kept."""

from __future__ import annotations

import asyncio
from typing import Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MAX_HEAD_BYTES: Final = 1 << 16
"""How much may come beside a body: its head, and the sizes of its pieces. What `h11` takes."""

HEAD_TIMEOUT_S: Final = 30.0
"""How long a head may take: a guess."""


class BoundedProtocol(HttpToolsProtocol):
    """HTTP as `uvicorn` reads it with `httptools`, which by itself takes heads without end."""

    _received_bytes = 0
    _received_body_bytes = 0
    _timeout_handle: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn has it
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._start_timeout()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self._cancel_timeout()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on, as long as what comes is not mostly head."""
        self._received_bytes += len(data)
        super().data_received(data)
        if self._received_bytes - 2 * self._received_body_bytes > MAX_HEAD_BYTES:
            self.transport.close()

    def on_message_begin(self) -> None:
        """Begin to count, and to wait for the end of the head."""
        super().on_message_begin()
        self._received_bytes = self._received_body_bytes = 0
        self._start_timeout()

    def on_headers_complete(self) -> None:
        """Wait no more: bodies are waited for elsewhere."""
        self._cancel_timeout()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Count what is of a body; as much may come beside it."""
        self._received_body_bytes += len(body)
        super().on_body(body)

    def _start_timeout(self) -> None:
        self._cancel_timeout()
        self._timeout_handle = self.loop.call_later(HEAD_TIMEOUT_S, self.transport.close)

    def _cancel_timeout(self) -> None:
        if self._timeout_handle is not None:
            self._timeout_handle.cancel()
            self._timeout_handle = None
