"""What a server keeps in memory of its callers: never more than so much."""

from __future__ import annotations

from collections import OrderedDict
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")

MOST = 10_000
"""Some megabytes of what is kept of one caller, or one conversation: a guess."""


def keep(known: OrderedDict[K, V], key: K, value: V, most: int = MOST) -> None:
    """Keep a value as the newest; over so many the one goes that was kept first."""
    known[key] = value
    known.move_to_end(key)
    if len(known) > most:
        known.popitem(last=False)
