"""A process that runs due jobs and reports them."""

from __future__ import annotations

from datetime import datetime
from multiprocessing.connection import Connection

import msgspec

from memolith.testing.fakes import SettableClock
from support.stores import PLAIN, opened


class Orders(msgspec.Struct, frozen=True):
    """Parameters of the process.

    Attributes:
        store: File, or URL of a database.
        now: Time of its clock.
        stops_after: Number of owners after which it reports the first job and then waits forever;
            None to run all jobs.
    """

    store: str
    now: datetime
    stops_after: int | None = None


def do_jobs(encoded: bytes, telling: Connection) -> None:
    """Run due jobs once; report each job's name, number of owners and number of changes."""
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
