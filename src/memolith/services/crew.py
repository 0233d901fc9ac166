"""Threads for work that a process that ends need not wait for."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from queue import SimpleQueue
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Self

T = TypeVar("T")


class DaemonExecutor:
    """Does what it is given, in the order given, so many things at once.

    As an executor of the standard library, but for one thing: the interpreter's end waits for the
    threads of those, and so for a service that does not answer, however long that takes.
    Thread-safe.
    """

    def __init__(self, size: int, name: str) -> None:
        """Be so many threads at most; none is started before it is needed."""
        self._size = size
        self._name = name
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._tasks: SimpleQueue[Callable[[], None] | None] = SimpleQueue()

    def submit(self, call: Callable[[], T]) -> Future[T]:
        """Have a function called; return what holds its result then."""
        future: Future[T] = Future()
        self._tasks.put(lambda: _run_task(call, future))
        with self._lock:
            if len(self._threads) < self._size:
                name = f"{self._name}-{len(self._threads)}"
                self._threads.append(threading.Thread(target=self._run, name=name, daemon=True))
                self._threads[-1].start()
        return future

    def _run(self) -> None:
        while (task := self._tasks.get()) is not None:
            task()

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Wait until all is done that was given and not cancelled."""
        for _ in self._threads:
            self._tasks.put(None)
        for thread in self._threads:
            thread.join()


def _run_task(call: Callable[[], T], future: Future[T]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = call()
    except BaseException as error:  # noqa: BLE001 - it is raised where the result is asked for
        future.set_exception(error)
    else:
        future.set_result(result)
