"""The process that is killed: it writes, and prints each call before and after it.

Its argument contains its parameters. The first line of its output reports the start.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from itertools import count

import msgspec

from support.durability.workload import Worker
from support.durability.write_log import Line, encode
from support.stores import opened


class Orders(msgspec.Struct, frozen=True):
    """Parameters of the process.

    Attributes:
        store: File, or URL of a database.
        key: See `opened`.
        seed: Seed of the writes.
        workers: Names of the workers; each has its own thread.
        facts: Facts that each worker stores first, once standard input is closed.
        calls: Number of further calls of each worker; None for no limit.
    """

    store: str
    key: str
    seed: int
    workers: tuple[str, ...]
    facts: tuple[str, ...] = ()
    calls: int | None = None

    def command(self) -> list[str]:
        """Return the arguments of the Python interpreter."""
        return ["-m", "support.durability.writing_process", msgspec.json.encode(self).decode()]


def main(orders: Orders) -> None:
    say = _printer()
    sys.stdout.write("starting\n")
    sys.stdout.flush()
    with opened(orders.store, orders.key) as memory:
        workers = [
            Worker(memory, name, orders.seed * 1_000 + n, say)
            for n, name in enumerate(orders.workers)
        ]
        if orders.facts:
            sys.stdin.read()
        _all_at_once([_writing(worker, orders) for worker in workers])


def _printer() -> Callable[[Line], None]:
    lock = threading.Lock()

    def say(line: Line) -> None:
        with lock:
            sys.stdout.buffer.write(encode(line) + b"\n")
            sys.stdout.flush()

    return say


def _writing(worker: Worker, orders: Orders) -> Callable[[], None]:
    def run() -> None:
        for fact in orders.facts:
            worker.share(fact)
        for _ in count() if orders.calls is None else range(orders.calls):
            worker.step()

    return run


def _end(failed: threading.ExceptHookArgs) -> None:
    """Exit when a thread fails."""
    sys.__excepthook__(failed.exc_type, failed.exc_value or failed.exc_type(), failed.exc_traceback)
    os._exit(1)


def _all_at_once(tasks: list[Callable[[], None]]) -> None:
    threading.excepthook = _end
    threads = [threading.Thread(target=task) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main(msgspec.json.decode(sys.argv[1], type=Orders))
