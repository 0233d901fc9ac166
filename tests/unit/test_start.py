"""A fresh process imports for its first recall only what that needs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from mnemon import Mnemon
from mnemon.adapters.crypto.master import KeyFile
from mnemon.adapters.crypto.plain import PlainCipher
from mnemon.adapters.crypto.ring import KeyRing
from mnemon.adapters.crypto.xchacha import KeyRingCiphers
from mnemon.testing.embedders import HashingEmbedder, WordCounter

_RECALL = """
import json, sys
from mnemon import Mnemon
from mnemon.testing.embedders import HashingEmbedder, WordCounter
with Mnemon.open(sys.argv[1], embedder=HashingEmbedder(), tokens=WordCounter()) as memory:
    assert memory.recall("What is the gate's code?", owner="alice").memories
print(json.dumps(sorted(sys.modules)))
"""

FOR_OTHERS = {
    "asyncio",
    "calendar",
    "click",
    "decimal",
    "email",
    "httpx",
    "mnemon.adapters.arbitrators.timed",
    "mnemon.adapters.chat.steady",
    "mnemon.adapters.clients.wire",
    "mnemon.adapters.embedders.local",
    "mnemon.adapters.rerankers.cross_encoder",
    "mnemon.adapters.sql.api_keys",
    "mnemon.adapters.sql.checks",
    "mnemon.adapters.sql.claims",
    "mnemon.adapters.sql.copying",
    "mnemon.adapters.sql.idempotency",
    "mnemon.adapters.sql.jobs",
    "mnemon.adapters.sql.mending",
    "mnemon.adapters.sql.resealing",
    "mnemon.adapters.sql.tables",
    "mnemon.adapters.sql.transaction",
    "mnemon.adapters.sql.upkeep",
    "mnemon.adapters.sql.usage",
    "mnemon.adapters.sql.verifying",
    "mnemon.adapters.sql.writes",
    "mnemon.adapters.sqlite.backups",
    "mnemon.ports.moving",
    "mnemon.services.learn",
    "mnemon.services.remember",
    "mnemon.text.chunking.chunks",
    "mnemon.text.cutting",
    "mnemon.text.features",
    "mnemon.text.injection_rules",
    "mnemon.text.passages",
    "msgspec",
    "numpy.typing",
    "onnxruntime",
    "pkgutil",
    "pydantic",
    "rich",
    "tokenizers",
    "typing_extensions",
    "uuid",
}
"""What a recall does without; each costs a process between 0.3 and 300 ms."""

MOST_MODULES = 205
"""Of ours: 189, and room for some more. A module costs a process some 0.2 ms."""


def imported_for_a_recall(store: Path, home: Path, **settings: str) -> set[str]:
    """Return the modules of a process that recalls, with keys in this home folder."""
    done = subprocess.run(
        [sys.executable, "-c", _RECALL, str(store)],
        check=True,
        capture_output=True,
        text=True,
        env={"PYTHONPATH": ":".join(sys.path), "HOME": str(home), **settings},
    )
    found: list[str] = json.loads(done.stdout)
    return set(found)


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    path = tmp_path / "plain.db"
    with Mnemon.open(
        path, embedder=HashingEmbedder(), tokens=WordCounter(), cipher=PlainCipher()
    ) as memory:
        memory.remember("The gate's code is in the drawer", owner="alice")
    return path


@pytest.fixture
def encrypted(tmp_path: Path) -> Path:
    keys = tmp_path / ".config" / "mnemon"
    ring = KeyRing(keys / "memory_encryption.key.ring", KeyFile(keys / "memory_encryption.key"))
    path = tmp_path / "encrypted.db"
    with Mnemon.open(
        path, embedder=HashingEmbedder(), tokens=WordCounter(), cipher=KeyRingCiphers(ring)
    ) as memory:
        memory.remember("The gate's code is in the drawer", owner="alice")
    return path


def test_a_recall_on_a_plain_store_imports_little(plain: Path, tmp_path: Path) -> None:
    imported = imported_for_a_recall(plain, tmp_path, MNEMON_ENABLE_ENCRYPTION="false")
    assert not imported & {*FOR_OTHERS, "logging", "nacl", "mnemon.adapters.crypto.xchacha"}
    assert len([name for name in imported if name.startswith("mnemon.")]) < MOST_MODULES


def test_a_recall_on_an_encrypted_store_imports_the_cipher_besides(
    encrypted: Path, tmp_path: Path
) -> None:
    imported = imported_for_a_recall(encrypted, tmp_path)
    assert "nacl" in imported
    assert not imported & FOR_OTHERS
