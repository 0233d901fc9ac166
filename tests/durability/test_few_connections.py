"""One read and one write connection suffice for any call: no call needs a second."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Lock

from support.durability.store_checks import Tally, check
from support.durability.workload import Worker
from support.durability.write_log import Ledger, Line
from support.postgres import new_database
from support.stores import PLAIN, opened

_WORKERS = 3
_CALLS = 10


def test_threads_share_one_read_and_one_write_connection(postgres_url: str, tally: Tally) -> None:
    ledger, lock = Ledger(), Lock()

    def take(line: Line) -> None:
        with lock:
            ledger.take(line)

    with (
        new_database(postgres_url) as url,
        opened(url, PLAIN, connections=1) as memory,
    ):
        workers = [Worker(memory, str(number), number, take) for number in range(_WORKERS)]

        def work(worker: Worker) -> None:
            for _ in range(_CALLS):
                worker.step()

        with ThreadPoolExecutor(_WORKERS) as threads:
            list(threads.map(work, workers))
        memory.run_jobs()
        memory.context("What is there?", owner="owner 0")
        check(memory, ledger, tally)
        memory.erase(owner="owner 0")
        assert memory.verify().findings == ()
