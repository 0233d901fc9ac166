"""The first recall of a new process imports no unnecessary heavy package."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from memolith import Memolith
from memolith.adapters.crypto.ciphers import PlainCipher
from memolith.adapters.crypto.key_ring import KeyRing
from memolith.adapters.crypto.master_key import KeyFile
from memolith.adapters.crypto.xchacha import KeyRingCiphers
from memolith.testing.fakes import HashingEmbedder, WordCounter

_RECALL = """
import json, sys
from memolith import Memolith
from memolith.testing.fakes import HashingEmbedder, WordCounter
with Memolith.open(sys.argv[1], embedder=HashingEmbedder(), tokens=WordCounter()) as memory:
    assert memory.recall("What is the gate's code?", owner="alice").memories
print(json.dumps(sorted(sys.modules)))
"""

HEAVY = {
    "anthropic",
    "chromadb",
    "fastapi",
    "httpx",
    "ollama",
    "onnxruntime",
    "openai",
    "psycopg",
    "pydantic",
    "rich",
    "tokenizers",
    "uvicorn",
}
"""Third-party packages that a recall with a custom embedder does not need."""


def get_modules_after_recall(store: Path, home: Path, **settings: str) -> set[str]:
    """Return the modules loaded by a process that recalls, with its keys in this home folder."""
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
def plain_store(tmp_path: Path) -> Path:
    path = tmp_path / "plain.db"
    with Memolith.open(
        path, embedder=HashingEmbedder(), tokens=WordCounter(), cipher=PlainCipher()
    ) as memory:
        memory.remember("The gate's code is in the drawer", owner="alice")
    return path


@pytest.fixture
def encrypted_store(tmp_path: Path) -> Path:
    keys = tmp_path / ".config" / "memolith"
    ring = KeyRing(keys / "memory_encryption.key.ring", KeyFile(keys / "memory_encryption.key"))
    path = tmp_path / "encrypted.db"
    with Memolith.open(
        path, embedder=HashingEmbedder(), tokens=WordCounter(), cipher=KeyRingCiphers(ring)
    ) as memory:
        memory.remember("The gate's code is in the drawer", owner="alice")
    return path


def test_recall_from_plain_store_imports_no_heavy_package(
    plain_store: Path, tmp_path: Path
) -> None:
    imported = get_modules_after_recall(plain_store, tmp_path, MEMOLITH_ENABLE_ENCRYPTION="false")
    assert not imported & {*HEAVY, "nacl"}


def test_recall_from_encrypted_store_imports_only_cipher(
    encrypted_store: Path, tmp_path: Path
) -> None:
    imported = get_modules_after_recall(encrypted_store, tmp_path)
    assert "nacl" in imported
    assert not imported & HEAVY
