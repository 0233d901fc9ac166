"""What a server keeps in memory of its callers: never more than so much."""

from __future__ import annotations

from collections import OrderedDict
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")

MAX_ENTRIES = 10_000
"""Some megabytes of what is kept of one caller, or one conversation: a guess."""


def put_bounded(
    entries: OrderedDict[K, V], key: K, value: V, max_entries: int = MAX_ENTRIES
) -> None:
    """Keep a value as the newest; over so many the one goes that was kept first."""
    entries[key] = value
    entries.move_to_end(key)
    if len(entries) > max_entries:
        entries.popitem(last=False)
