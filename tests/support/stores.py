"""Open a store like each of the processes in these tests."""

from __future__ import annotations

from pathlib import Path

from memolith import Memolith
from memolith.adapters.crypto.ciphers import PlainCipher
from memolith.adapters.crypto.key_ring import KeyRing
from memolith.adapters.crypto.master_key import KeyFile
from memolith.adapters.crypto.xchacha import KeyRingCiphers
from memolith.config import load
from memolith.ports.cipher import CipherProvider
from memolith.ports.clock import Clock
from memolith.testing.fakes import HashingEmbedder, WordCounter

PLAIN = "plain"


def opened(
    store: Path | str,
    key: str,
    *,
    clock: Clock | None = None,
    busy_timeout_s: float = 10.0,
    statement_timeout_s: float = 60.0,
    connections: int = 8,
) -> Memolith:
    """Open a store.

    Args:
        store: File, or URL of a database.
        key: File of the master key, or `PLAIN` for an unencrypted store.
        clock: Clock; None for the system's.
        busy_timeout_s: Timeout for locks and connections.
        statement_timeout_s: Timeout of a statement on a server.
        connections: Maximum number of connections for reading, and for writing.
    """
    settings = {
        "MEMOLITH_BUSY_TIMEOUT_S": str(busy_timeout_s),
        "MEMOLITH_POSTGRES__CONNECTIONS": str(connections),
        "MEMOLITH_POSTGRES__STATEMENT_TIMEOUT_MS": str(round(statement_timeout_s * 1000)),
    }
    return Memolith.open(
        store,
        embedder=HashingEmbedder(),
        tokens=WordCounter(),
        clock=clock,
        cipher=ciphers(key),
        config=load(None, settings, {}),
    )


def ciphers(key: str) -> CipherProvider:
    """Return the encryption of a store; see `opened`."""
    if key == PLAIN:
        return PlainCipher()
    return KeyRingCiphers(KeyRing(Path(f"{key}.ring"), KeyFile(Path(key))))
