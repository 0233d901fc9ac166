"""An HTTP service on a real socket, in a thread of this process."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from fastapi import FastAPI


@contextmanager
def running(app: FastAPI, **more: Any) -> Iterator[str]:
    """Run a service and yield its URL; stop it and wait for its end on exit."""
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_config=None, access_log=False, **more))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started and thread.is_alive():
            time.sleep(0.005)
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()
