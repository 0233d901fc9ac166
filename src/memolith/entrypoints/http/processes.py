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
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from multiprocessing.connection import wait
from time import monotonic
from typing import TYPE_CHECKING, Final

from memolith.engine import Memolith
from memolith.entrypoints import exits
from memolith.entrypoints.http import serving
from memolith.entrypoints.http.metrics import SHARED, forget_process
from memolith.errors import InvalidConfiguration, MemolithError
from memolith.stores import IN_MEMORY

if TYPE_CHECKING:
    from collections.abc import Iterator
    from multiprocessing.context import SpawnProcess
    from multiprocessing.synchronize import Event

    from memolith.entrypoints.http.serving import Plan

_LOOK_S: Final = 0.2
"""How often it is looked whether to end: a guess."""

_AGAIN_S: Final = 1.0
"""How long a process that died is not replaced, so that one that dies at once costs little."""

_LONGER: Final = 3
_MARGIN_S: Final = 5.0
"""A process waits for what is under way, then for what is learned, then for its model, each for as
long as is configured; whoever takes longer than all that is killed."""

_BACKLOG: Final = 2_048

_log = logging.getLogger("memolith.http")
_spawn = multiprocessing.get_context("spawn")  # a fork would share connections and threads' locks


def serve(plan: Plan) -> int:
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
        serving.serving(plan.serve, engine, plan.owner)
    serving.log_in_json()
    with _counting_together(), listening(plan) as listener:
        return _Processes(plan, listener).run()


@contextmanager
def _counting_together() -> Iterator[None]:
    """Let all processes count in files of one folder, so that any of them can tell the sum."""
    if os.environ.get(SHARED):
        yield
        return
    with tempfile.TemporaryDirectory(prefix="memolith-metrics-") as folder:
        os.environ[SHARED] = folder
        try:
            yield
        finally:
            del os.environ[SHARED]


@contextmanager
def listening(plan: Plan) -> Iterator[socket.socket]:
    """Open the address where callers come in.

    Raises:
        OSError: It can't be listened at.
    """
    host = plan.serve.host.strip("[]")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, plan.serve.port), family=family, backlog=_BACKLOG) as listener:
        yield listener


def address_of(listener: socket.socket) -> str:
    """Return the URL at which callers come in."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


@dataclass(slots=True)
class _Running:
    """A process, and whether it has begun to serve."""

    process: SpawnProcess
    has_begun: Event
    since_s: float


class _Processes:
    """The processes of a server."""

    def __init__(self, plan: Plan, listener: socket.socket) -> None:
        self._plan = plan
        self._listener = listener
        self._ending = threading.Event()
        self._running: list[_Running] = []
        self._is_told = False

    def run(self) -> int:
        """Keep them running until told to end; return the exit code."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: self._ending.set())
        with ExitStack() as ending:
            ending.callback(self._end)
            self._running = [self._started() for _ in range(self._plan.serve.processes)]
            while not self._ending.is_set():
                wait([each.process.sentinel for each in self._running], timeout=_LOOK_S)
                self._tell_once()
                dead = [each for each in self._running if not each.process.is_alive()]
                for each in dead if not self._ending.is_set() else ():
                    if not each.has_begun.is_set():
                        return each.process.exitcode or exits.FAILED
                    self._running[self._running.index(each)] = self._replaced(each)
        return 0

    def _tell_once(self) -> None:
        """Say where callers are answered, once they are."""
        if self._is_told or not all(each.has_begun.is_set() for each in self._running):
            return
        self._is_told = True
        pids = ", ".join(str(each.process.pid) for each in self._running)
        _log.info("running on %s by processes %s", address_of(self._listener), pids)

    def _started(self) -> _Running:
        has_begun = _spawn.Event()
        process = _spawn.Process(target=_work, args=(self._plan, self._listener, has_begun))
        process.start()
        return _Running(process, has_begun, monotonic())

    def _replaced(self, dead: _Running) -> _Running:
        _log.error("process %s ended by %s", dead.process.pid, dead.process.exitcode)
        if dead.process.pid is not None:
            forget_process(dead.process.pid)
        dead.process.close()
        self._ending.wait(max(0.0, dead.since_s + _AGAIN_S - monotonic()))
        return self._started()

    def _end(self) -> None:
        """Tell all to end, and wait until they have."""
        for each in self._running:
            if each.process.is_alive():
                each.process.terminate()
        until_s = monotonic() + _LONGER * self._plan.serve.drain_timeout_s + _MARGIN_S
        for each in self._running:
            each.process.join(max(0.0, until_s - monotonic()))
            if each.process.is_alive():
                _log.error("process %s does not end, and is killed", each.process.pid)
                each.process.kill()
                each.process.join()


def _work(plan: Plan, listener: socket.socket, has_begun: Event) -> None:
    """Serve as one of several processes."""
    serving.log_in_json()
    threading.Thread(target=_end_with_parent, name="memolith-parent", daemon=True).start()
    try:
        with Memolith.open(config=plan.loaded) as engine:
            serving.serve(engine, plan, listener, has_begun.set)
    except MemolithError as error:
        _log.error("can't serve: %s", error)
        sys.exit(exits.exit_code(error))


def _end_with_parent() -> None:
    """End as told by a signal when the process that started this one has ended, however it did."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os.kill(os.getpid(), signal.SIGTERM)
