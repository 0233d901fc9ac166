"""Opening a store as each of the processes in these tests does."""

from __future__ import annotations

from pathlib import Path

from mnemon import Mnemon
from mnemon.adapters.crypto.master import KeyFile
from mnemon.adapters.crypto.plain import PlainCipher
from mnemon.adapters.crypto.ring import KeyRing
from mnemon.adapters.crypto.xchacha import KeyRingCiphers
from mnemon.config import load
from mnemon.ports.cipher import Ciphers
from mnemon.ports.clock import Clock
from mnemon.testing.embedders import HashingEmbedder, WordCounter

PLAIN = "plain"


def opened(
    store: Path | str,
    key: str,
    *,
    clock: Clock | None = None,
    busy_timeout_s: float = 10.0,
    statement_timeout_s: float = 60.0,
    connections: int = 8,
) -> Mnemon:
    """Open a store.

    Args:
        store: The file, or the URL of a database.
        key: The file of the master key, or `PLAIN` for a store without encryption.
        clock: Gives the time; None: the system's.
        busy_timeout_s: For how long to wait for others, or for a server.
        statement_timeout_s: For how long a server may take for a statement.
        connections: How many there are to read at most, and as many to write.
    """
    settings = {
        "MNEMON_BUSY_TIMEOUT_S": str(busy_timeout_s),
        "MNEMON_POSTGRES__CONNECTIONS": str(connections),
        "MNEMON_POSTGRES__STATEMENT_TIMEOUT_MS": str(round(statement_timeout_s * 1000)),
    }
    return Mnemon.open(
        store,
        embedder=HashingEmbedder(),
        tokens=WordCounter(),
        clock=clock,
        cipher=ciphers(key),
        config=load(None, settings, {}),
    )


def ciphers(key: str) -> Ciphers:
    """Return what a store is encrypted with; see `opened`."""
    if key == PLAIN:
        return PlainCipher()
    return KeyRingCiphers(KeyRing(Path(f"{key}.ring"), KeyFile(Path(key))))
