"""Several processes of one server: one opens the address, starts the others, and ends with them.

Each of them opens the store for itself; what they have in common stands there. They take callers
from one queue of the system. One that dies is replaced; one that can't begin ends the server.
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
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from multiprocessing.connection import wait
from multiprocessing.context import SpawnProcess
from multiprocessing.synchronize import Event
from time import monotonic
from typing import Final

from memolith import error_codes
from memolith.api.engine import Memolith
from memolith.errors import InvalidConfiguration, MemolithError
from memolith.server import serve
from memolith.server.metrics import MULTIPROCESS_VARIABLE, remove_process
from memolith.server.serve import ServerPlan
from memolith.stores import IN_MEMORY

_POLL_INTERVAL_S: Final = 0.2
"""How often it is looked whether to end: a guess."""

_RESTART_DELAY_S: Final = 1.0
"""How long a process that died is not replaced, so that one that dies at once costs little."""

_SHUTDOWN_PHASES: Final = 3
_SHUTDOWN_MARGIN_S: Final = 5.0
"""A process waits for what is under way, then for what is learned, then for its model, each for as
long as is configured; whoever takes longer than all that is killed."""

_BACKLOG: Final = 2_048

_log = logging.getLogger("memolith.http")
_spawn_context = multiprocessing.get_context(
    "spawn"
)  # a fork would share connections and threads' locks


def serve_with_workers(plan: ServerPlan) -> int:
    """Serve by several processes until SIGINT or SIGTERM; return the exit code.

    Raises:
        InvalidConfiguration: They would have nothing in common, or be open to others than this
            machine without a key.
        MemolithError: The store can't be opened.
        OSError: The address can't be listened at.
    """
    if plan.loaded.settings.store == IN_MEMORY:
        raise InvalidConfiguration("serve.processes", "a store in memory is of one process alone")
    # What can't be served is said once, here; an older store is brought up to date by one.
    with Memolith.open(config=plan.loaded, worker=False) as engine:
        serve.build_server_options(plan.settings, engine, plan.owner)
    serve.configure_json_logging()
    with _share_metrics(), open_listener(plan) as listener:
        return _WorkerSupervisor(plan, listener).run()


@contextmanager
def _share_metrics() -> Iterator[None]:
    """Let all processes count in files of one folder, so that any of them can tell the sum."""
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
    """Open the address where callers come in.

    Raises:
        OSError: It can't be listened at.
    """
    host = plan.settings.host.strip("[]")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server(
        (host, plan.settings.port), family=family, backlog=_BACKLOG
    ) as listener:
        yield listener


def get_address(listener: socket.socket) -> str:
    """Return the URL at which callers come in."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


@dataclass(slots=True)
class _Worker:
    """A process, and whether it has begun to serve."""

    process: SpawnProcess
    has_started: Event
    started_s: float


class _WorkerSupervisor:
    """The processes of a server."""

    def __init__(self, plan: ServerPlan, listener: socket.socket) -> None:
        self._plan = plan
        self._listener = listener
        self._stop = threading.Event()
        self._workers: list[_Worker] = []
        self._is_announced = False

    def run(self) -> int:
        """Keep them running until told to end; return the exit code."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: self._stop.set())
        with ExitStack() as ending:
            ending.callback(self._stop_workers)
            self._workers = [self._start_worker() for _ in range(self._plan.settings.processes)]
            while not self._stop.is_set():
                wait([each.process.sentinel for each in self._workers], timeout=_POLL_INTERVAL_S)
                self._announce()
                dead = [each for each in self._workers if not each.process.is_alive()]
                for each in dead if not self._stop.is_set() else ():
                    if not each.has_started.is_set():
                        return each.process.exitcode or error_codes.EXIT_FAILED
                    self._workers[self._workers.index(each)] = self._replace_worker(each)
        return 0

    def _announce(self) -> None:
        """Say where callers are answered, once they are."""
        if self._is_announced or not all(each.has_started.is_set() for each in self._workers):
            return
        self._is_announced = True
        pids = ", ".join(str(each.process.pid) for each in self._workers)
        _log.info("running on %s by processes %s", get_address(self._listener), pids)

    def _start_worker(self) -> _Worker:
        has_begun = _spawn_context.Event()
        process = _spawn_context.Process(
            target=_run_worker, args=(self._plan, self._listener, has_begun)
        )
        process.start()
        return _Worker(process, has_begun, monotonic())

    def _replace_worker(self, dead: _Worker) -> _Worker:
        _log.error("process %s ended by %s", dead.process.pid, dead.process.exitcode)
        if dead.process.pid is not None:
            remove_process(dead.process.pid)
        dead.process.close()
        self._stop.wait(max(0.0, dead.started_s + _RESTART_DELAY_S - monotonic()))
        return self._start_worker()

    def _stop_workers(self) -> None:
        """Tell all to end, and wait until they have."""
        for each in self._workers:
            if each.process.is_alive():
                each.process.terminate()
        until_s = (
            monotonic()
            + _SHUTDOWN_PHASES * self._plan.settings.drain_timeout_s
            + _SHUTDOWN_MARGIN_S
        )
        for each in self._workers:
            each.process.join(max(0.0, until_s - monotonic()))
            if each.process.is_alive():
                _log.error("process %s does not end, and is killed", each.process.pid)
                each.process.kill()
                each.process.join()


def _run_worker(plan: ServerPlan, listener: socket.socket, has_started: Event) -> None:
    """Serve as one of several processes."""
    serve.configure_json_logging()
    threading.Thread(target=_stop_with_parent, name="memolith-parent", daemon=True).start()
    try:
        with Memolith.open(config=plan.loaded) as engine:
            serve.run_server(engine, plan, listener, has_started.set)
    except MemolithError as error:
        _log.error("can't serve: %s", error)
        sys.exit(error_codes.get_exit_code(error))


def _stop_with_parent() -> None:
    """End as told by a signal when the process that started this one has ended, however it did."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os.kill(os.getpid(), signal.SIGTERM)
