"""Key rings in a temporary folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from nacl import pwhash

from memolith.adapters.crypto.key_ring import KeyRing
from memolith.adapters.crypto.master_key import KeyFile, MasterKeySource
from memolith.adapters.postgres.dsn import parse_dsn
from memolith.adapters.postgres.key_storage import PostgresKeyStorage
from support.postgres import dropped, own

CHEAP = (pwhash.argon2id.OPSLIMIT_MIN, pwhash.argon2id.MEMLIMIT_MIN)
"""Minimum key derivation cost, to keep tests fast. Production uses `master.MODERATE`."""

Rings = Callable[..., KeyRing]


@pytest.fixture
def key_file(tmp_path: Path) -> KeyFile:
    return KeyFile(tmp_path / "keys" / "memory.key")


@pytest.fixture
def file_rings(tmp_path: Path, key_file: KeyFile) -> Rings:
    """Return a function that opens the ring anew on every call, as another process would."""

    def open_ring(source: MasterKeySource | None = None) -> KeyRing:
        return KeyRing(tmp_path / "keys" / "memory.key.ring", source or key_file, CHEAP)

    return open_ring


@pytest.fixture
def database_rings(postgres_url: str, key_file: KeyFile) -> Iterator[Rings]:
    """Yield a function that opens a ring in a database anew on every call."""
    schema = own("ring")
    dropped(postgres_url, schema)
    place, made = parse_dsn(postgres_url, schema, 10), list[KeyRing]()

    def open_ring(source: MasterKeySource | None = None) -> KeyRing:
        made.append(KeyRing(PostgresKeyStorage(place), source or key_file, CHEAP))
        return made[-1]

    yield open_ring
    for ring in made:
        ring.close()


@pytest.fixture
def rings(file_rings: Rings) -> Rings:
    return file_rings
