"""A process that does the jobs that are due when it is told to, and says what it did."""

from __future__ import annotations

from datetime import datetime
from multiprocessing.connection import Connection

import msgspec

from memolith.testing.fakes import SettableClock
from support.stores import PLAIN, opened


class Orders(msgspec.Struct, frozen=True):
    """What the program is to do.

    Attributes:
        store: The file, or the URL of a database.
        now: The time by its clock.
        stops_after: For how many owners it does its first job; then it says so, and waits for ever.
            None: it does all.
    """

    store: str
    now: datetime
    stops_after: int | None = None


def do_jobs(encoded: bytes, telling: Connection) -> None:
    """Do what is due once; tell of each job its name, for how many owners, and how many changed."""
    orders = msgspec.json.decode(encoded, type=Orders)
    with opened(orders.store, PLAIN, clock=SettableClock(orders.now)) as memory:
        telling.send(0)
        telling.recv()
        asked = 0

        def stopped() -> bool:
            nonlocal asked
            asked += 1
            if orders.stops_after is not None and asked > orders.stops_after + 1:
                telling.send("stopped")
                telling.recv()
            return False

        done = memory.run_jobs(stopped)
        telling.send([(each.job, each.owners, each.changed, each.finished) for each in done])
