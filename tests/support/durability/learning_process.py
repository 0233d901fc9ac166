"""The program that is killed while it learns: it does what waits for a model, then ends."""

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
"""Between exchanges: people talk slowly enough for some of it to be learned meanwhile."""


class Orders(msgspec.Struct, frozen=True):
    """What the program is to do.

    Attributes:
        store: The file, or the URL of a database.
        key: See `opening`.
        profile: Of the owners.
        url: Where the model is.
        now: The time by its clock.
        name: Told to the model with each call.
        exchanges: How many of the script it logs, but for those that are logged already, while it
            learns in the background; 0: it only learns.
    """

    store: str
    key: str
    profile: str
    url: str
    now: datetime
    name: str = "learner"
    exchanges: int = 0


def learn(encoded: bytes, telling: Connection) -> None:
    """Do as ordered; tell the number of each exchange that is logged."""
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
    """Log what is left of a script, tell of each, and wait until it is learned from."""
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
