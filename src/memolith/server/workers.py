"""Serves with several worker processes under uvicorn's supervisor.

Each worker opens the store itself. All accept connections from one listening socket. A worker that
dies is replaced; a worker that fails to start stops the server.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from multiprocessing.connection import wait
from typing import Final

from fastapi import FastAPI
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors import Multiprocess

from memolith.api.engine import Memolith
from memolith.error_codes import EXIT_FAILED
from memolith.errors import InvalidConfiguration, MemolithError
from memolith.server import serve
from memolith.server.metrics import MULTIPROCESS_VARIABLE, remove_process
from memolith.server.serve import ServerPlan
from memolith.stores import IN_MEMORY

_BACKLOG: Final = 2_048

_log = logging.getLogger("memolith.http")


def serve_with_workers(plan: ServerPlan) -> int:
    """Serve with several processes until SIGINT or SIGTERM; return the exit code.

    Raises:
        InvalidConfiguration: The store is in memory, or the server would be reachable from other
            machines without an API key.
        MemolithError: The store cannot be opened.
        OSError: The address cannot be bound.
    """
    if plan.loaded.settings.store == IN_MEMORY:
        raise InvalidConfiguration(
            "serve.processes", "an in-memory store supports one process only"
        )
    # Migrate the store once, and report errors once, before the workers open it.
    with Memolith.open(config=plan.loaded, worker=False) as engine:
        serve.build_server_options(plan.settings, engine, plan.owner)
    serve.configure_json_logging()
    with _share_metrics(), open_listener(plan) as listener:
        supervisor = _WorkerSupervisor(plan, listener)
        supervisor.run()
    has_failed = any(each.exitcode == STARTUP_FAILURE for each in supervisor.processes)
    return EXIT_FAILED if has_failed else 0


@contextmanager
def _share_metrics() -> Iterator[None]:
    """Have all processes count in files of one directory, so that each can report the sum."""
    if os.environ.get(MULTIPROCESS_VARIABLE):
        yield
        return
    with tempfile.TemporaryDirectory(prefix="memolith-metrics-") as folder:
        os.environ[MULTIPROCESS_VARIABLE] = folder
        try:
            yield
        finally:
            del os.environ[MULTIPROCESS_VARIABLE]


@contextmanager
def open_listener(plan: ServerPlan) -> Iterator[socket.socket]:
    """Open the listening socket.

    Raises:
        OSError: The address cannot be bound.
    """
    host = plan.settings.host.strip("[]")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server(
        (host, plan.settings.port), family=family, backlog=_BACKLOG
    ) as listener:
        yield listener


def get_address(listener: socket.socket) -> str:
    """Return the URL of a listening socket."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class _WorkerSupervisor(Multiprocess):
    """uvicorn's supervisor, which also logs the address and drops the gauges of dead workers."""

    def __init__(self, plan: ServerPlan, listener: socket.socket) -> None:
        app = partial(_build_worker_app, plan)
        config = serve.build_uvicorn_config(app, plan, workers=plan.settings.processes)
        super().__init__(config, [listener])
        self._address = get_address(listener)
        self._pids: set[int] = set()
        self._is_announced = False

    def keep_subprocess_alive(self) -> None:
        """Replace dead workers; called twice a second."""
        for each in self.processes:
            each.child_conn.close()  # else the health check of a dead worker waits for its timeout
        super().keep_subprocess_alive()
        if self.should_exit.is_set():
            return
        pids = {each.pid for each in self.processes if each.pid is not None}
        for pid in self._pids - pids:
            remove_process(pid)
        self._pids = pids
        if not self._is_announced and all(each.is_ready() for each in self.processes):
            self._is_announced = True
            running = ", ".join(map(str, sorted(pids)))
            _log.info("running on %s by processes %s", self._address, running)


def _build_worker_app(plan: ServerPlan) -> FastAPI:
    """Open the engine of a worker process and return its application, which closes the engine."""
    serve.configure_json_logging()
    threading.Thread(target=_stop_with_parent, name="memolith-parent", daemon=True).start()
    try:
        engine = Memolith.open(config=plan.loaded)
        return serve.build_app(engine, plan, on_stopped=engine.close)
    except MemolithError as error:
        _log.error("cannot serve: %s", error)
        sys.exit(STARTUP_FAILURE)  # any other exit status makes uvicorn start the worker again


def _stop_with_parent() -> None:
    """Stop this worker when its parent process ends, even if the parent was killed."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os.kill(os.getpid(), signal.SIGTERM)
