"""The process that is killed while it learns: works off pending exchanges, then ends."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from datetime import datetime
from multiprocessing.connection import Connection

import msgspec

from corpora.exchanges import Scripted, load_script
from memolith import Memolith
from memolith.testing.fakes import SettableClock
from support.scripted_learning import OWNER, client, end_session_after, opened, say_one
from support.stores import ciphers

_PAUSE_S = 0.02
"""Pause between exchanges, so that some are learned before all are logged."""


class Orders(msgspec.Struct, frozen=True):
    """Parameters of the process.

    Attributes:
        store: File, or URL of a database.
        key: See `opened`.
        profile: Profile of the owners.
        url: URL of the model.
        now: Time of its clock.
        name: Name sent to the model with each call.
        exchanges: Number of exchanges to have logged while learning in the background; 0 to only
            learn.
    """

    store: str
    key: str
    profile: str
    url: str
    now: datetime
    name: str = "learner"
    exchanges: int = 0


def learn(encoded: bytes, telling: Connection) -> None:
    """Run as specified; report the number of each logged exchange."""
    orders = msgspec.json.decode(encoded, type=Orders)
    telling.send(0)
    clock = SettableClock(orders.now)
    chat = client(orders.url, name=orders.name)
    with opened(
        orders.store,
        chat,
        clock=clock,
        profile=orders.profile,
        cipher=ciphers(orders.key),
        worker=bool(orders.exchanges),
    ) as memory:
        if orders.exchanges:
            _talk(memory, clock, load_script()[: orders.exchanges], telling)
        else:
            memory.work()


def _talk(
    memory: Memolith, clock: SettableClock, script: Sequence[Scripted], telling: Connection
) -> None:
    """Log the rest of a script, report each exchange, and wait until all are learned."""
    own = memory.owner(OWNER)
    patience = threading.Event()
    begin = own.stats().messages // 2
    end_session_after(memory, begin)
    for number, exchange in enumerate(script[begin:], begin):
        say_one(memory, clock, number, exchange)
        telling.send(number + 1)
        patience.wait(_PAUSE_S)
    while begin < len(script) and own.backlog().pending_messages:
        patience.wait(0.01)
