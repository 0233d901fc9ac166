"""A fresh process imports for its first recall only what that needs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from memolith import Memolith
from memolith.adapters.crypto.master import KeyFile
from memolith.adapters.crypto.plain import PlainCipher
from memolith.adapters.crypto.ring import KeyRing
from memolith.adapters.crypto.xchacha import KeyRingCiphers
from memolith.testing.embedders import HashingEmbedder, WordCounter

_RECALL = """
import json, sys
from memolith import Memolith
from memolith.testing.embedders import HashingEmbedder, WordCounter
with Memolith.open(sys.argv[1], embedder=HashingEmbedder(), tokens=WordCounter()) as memory:
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
    "memolith.adapters.arbitrators.timed",
    "memolith.adapters.chat.steady",
    "memolith.adapters.clients.wire",
    "memolith.adapters.embedders.local",
    "memolith.adapters.rerankers.cross_encoder",
    "memolith.adapters.sql.api_keys",
    "memolith.adapters.sql.checks",
    "memolith.adapters.sql.claims",
    "memolith.adapters.sql.copying",
    "memolith.adapters.sql.idempotency",
    "memolith.adapters.sql.jobs",
    "memolith.adapters.sql.mending",
    "memolith.adapters.sql.resealing",
    "memolith.adapters.sql.tables",
    "memolith.adapters.sql.transaction",
    "memolith.adapters.sql.upkeep",
    "memolith.adapters.sql.usage",
    "memolith.adapters.sql.verifying",
    "memolith.adapters.sql.writes",
    "memolith.adapters.sqlite.backups",
    "memolith.ports.moving",
    "memolith.services.learn",
    "memolith.services.remember",
    "memolith.text.chunking.chunks",
    "memolith.text.cutting",
    "memolith.text.features",
    "memolith.text.injection_rules",
    "memolith.text.passages",
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
    with Memolith.open(
        path, embedder=HashingEmbedder(), tokens=WordCounter(), cipher=PlainCipher()
    ) as memory:
        memory.remember("The gate's code is in the drawer", owner="alice")
    return path


@pytest.fixture
def encrypted(tmp_path: Path) -> Path:
    keys = tmp_path / ".config" / "memolith"
    ring = KeyRing(keys / "memory_encryption.key.ring", KeyFile(keys / "memory_encryption.key"))
    path = tmp_path / "encrypted.db"
    with Memolith.open(
        path, embedder=HashingEmbedder(), tokens=WordCounter(), cipher=KeyRingCiphers(ring)
    ) as memory:
        memory.remember("The gate's code is in the drawer", owner="alice")
    return path


def test_a_recall_on_a_plain_store_imports_little(plain: Path, tmp_path: Path) -> None:
    imported = imported_for_a_recall(plain, tmp_path, MEMOLITH_ENABLE_ENCRYPTION="false")
    assert not imported & {*FOR_OTHERS, "logging", "nacl", "memolith.adapters.crypto.xchacha"}
    assert len([name for name in imported if name.startswith("memolith.")]) < MOST_MODULES


def test_a_recall_on_an_encrypted_store_imports_the_cipher_besides(
    encrypted: Path, tmp_path: Path
) -> None:
    imported = imported_for_a_recall(encrypted, tmp_path)
    assert "nacl" in imported
    assert not imported & FOR_OTHERS
