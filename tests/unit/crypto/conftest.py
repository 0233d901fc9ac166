"""Key rings in a folder of the test's own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from nacl import pwhash

from mnemon.adapters.crypto.master import KeyFile, Source
from mnemon.adapters.crypto.ring import KeyRing

CHEAP = (pwhash.argon2id.OPSLIMIT_MIN, pwhash.argon2id.MEMLIMIT_MIN)
"""So that a test does not take most of a second; what is real stands in `master.MODERATE`."""

Rings = Callable[..., KeyRing]


@pytest.fixture
def key_file(tmp_path: Path) -> KeyFile:
    return KeyFile(tmp_path / "keys" / "memory.key")


@pytest.fixture
def rings(tmp_path: Path, key_file: KeyFile) -> Rings:
    """Opens the ring anew at every call, as another process would."""

    def opened(source: Source | None = None) -> KeyRing:
        return KeyRing(tmp_path / "keys" / "memory.key.ring", source or key_file, CHEAP)

    return opened
