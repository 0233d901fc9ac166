"""The server for one client that started it: over standard input and output."""

from __future__ import annotations

import logging
import signal
from typing import TYPE_CHECKING

import anyio
from mcp.server.stdio import stdio_server

from memolith.entrypoints.mcp.server import create_server

if TYPE_CHECKING:
    from memolith.owner import OwnerMemory


def run_stdio(memory: OwnerMemory) -> None:
    """Serve one owner until the client closes its end.

    Standard output carries nothing but the protocol; what is logged goes to standard error.
    """
    # What waits for a line can't be interrupted otherwise; what was acknowledged is on disk.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    logging.getLogger("mcp").setLevel(logging.CRITICAL)  # it would log what clients send
    anyio.run(_serve_stdio, memory)


async def _serve_stdio(memory: OwnerMemory) -> None:
    server = create_server(lambda _context: memory)
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())
