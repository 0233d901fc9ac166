"""A process that writes to a store on request and reports each write."""

from __future__ import annotations

from multiprocessing.connection import Connection
from pathlib import Path

import msgspec

from memolith import Memolith
from support.stores import opened

OTHER = "somebody else"


class Address(msgspec.Struct, frozen=True):
    """The store to write to.

    Attributes:
        path: The store.
        key: See `opened`.
        owner: Owner to write to, besides the process's own owner.
    """

    path: str
    key: str
    owner: str


def write(encoded: bytes, telling: Connection) -> None:
    """Write once for each number received and send it back; 0 ends the process."""
    address = msgspec.json.decode(encoded, type=Address)
    with opened(Path(address.path), address.key) as memory:
        telling.send(0)
        while number := telling.recv():
            for owner in (address.owner, OTHER):
                _write_in_every_way(memory, owner, number)
            telling.send(number)


def _write_in_every_way(memory: Memolith, owner: str, number: int) -> None:
    own = memory.owner(owner)
    kept = own.remember(f"Parcel {number} is in the cellar", importance=0.1)
    own.learn(f"Where is parcel {number}?", "In the cellar.", session="elsewhere")
    own.update(kept.id, f"Parcel {number} was sent back")
    own.forget(kept.id)
