"""HTTP protocol for uvicorn with limits for the size and duration of request heads."""

from __future__ import annotations

import asyncio
from typing import Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MAX_HEAD_BYTES: Final = 1 << 16
"""Maximum bytes received besides a body: the head and chunk sizes. As in `h11`."""

HEAD_TIMEOUT_S: Final = 30.0
"""Timeout of a request head. A guess."""


class BoundedProtocol(HttpToolsProtocol):
    """uvicorn's `httptools` protocol with limits, which `httptools` itself does not have."""

    _received_bytes = 0
    _received_body_bytes = 0
    _timeout_handle: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as in uvicorn
        """Start the timeout of the first request head."""
        super().connection_made(transport)
        self._start_timeout()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the timeout."""
        self._cancel_timeout()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse data; close the connection if too much of it is not body."""
        self._received_bytes += len(data)
        super().data_received(data)
        if self._received_bytes - 2 * self._received_body_bytes > MAX_HEAD_BYTES:
            self.transport.close()

    def on_message_begin(self) -> None:
        """Reset the counters and start the timeout of the head."""
        super().on_message_begin()
        self._received_bytes = self._received_body_bytes = 0
        self._start_timeout()

    def on_headers_complete(self) -> None:
        """Cancel the timeout; `middleware` limits the duration of bodies."""
        self._cancel_timeout()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Count body bytes; they also extend the limit for other bytes."""
        self._received_body_bytes += len(body)
        super().on_body(body)

    def _start_timeout(self) -> None:
        self._cancel_timeout()
        self._timeout_handle = self.loop.call_later(HEAD_TIMEOUT_S, self.transport.close)

    def _cancel_timeout(self) -> None:
        if self._timeout_handle is not None:
            self._timeout_handle.cancel()
            self._timeout_handle = None
