"""The program that is killed: writes until then, and prints what it begins and what is done.

Its arguments: the store, the key (see `opening`), a seed, how many threads write, and how many
calls each of them makes (0: without end). The first line that it prints says that it starts.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from itertools import count
from pathlib import Path

from durability.ledger import Line, encode
from durability.opening import opened
from durability.workload import Worker


def main(path: str, key: str, seed: str, threads: str, steps: str) -> None:
    say = _printer()
    sys.stdout.write("starting\n")
    sys.stdout.flush()
    with opened(Path(path), key) as memory:
        workers = [Worker(memory, str(n), int(seed) * 1_000 + n, say) for n in range(int(threads))]
        _all_at_once([_steps(worker, int(steps)) for worker in workers])


def _printer() -> Callable[[Line], None]:
    lock = threading.Lock()

    def say(line: Line) -> None:
        with lock:
            sys.stdout.buffer.write(encode(line) + b"\n")
            sys.stdout.flush()

    return say


def _steps(worker: Worker, steps: int) -> Callable[[], None]:
    def run() -> None:
        for _ in range(steps) if steps else count():
            worker.step()

    return run


def _end(failed: threading.ExceptHookArgs) -> None:
    """End the program when one of its threads fails."""
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
    main(*sys.argv[1:])
