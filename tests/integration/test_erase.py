"""Erasure removes every byte of an owner, is permanent and leaves other owners unchanged."""

from __future__ import annotations

from pathlib import Path

import pytest

from memolith import Memolith
from memolith.adapters.crypto.ciphers import PlainCipher
from memolith.errors import NotFound, OwnerErased
from memolith.testing.fakes import HashingEmbedder, WordCounter
from support.databases import bytes_under

SECRET = ["zyxglorp", "quobbish", "vremblin", "drunkel"]


def fill(memory: Memolith, owner: str) -> None:
    for number in range(20):
        memory.learn(f"I like number {number} best.", "I see.", owner=owner)
    memory.remember("The gnome is called Zyxglorp", owner=owner, key="quobbish", tags=["vremblin"])
    memory.learn("My dog is called Drunkel.", "Nice!", owner=owner, session="walks")


def words_found(folder: Path, *words: str) -> list[str]:
    found = bytes_under(folder).lower()
    return [word for word in words if word.encode() in found]


def test_erase_removes_every_byte_of_the_owner(tmp_path: Path) -> None:
    with Memolith.open(
        tmp_path / "memory.db",
        embedder=HashingEmbedder(),
        tokens=WordCounter(),
        cipher=PlainCipher(),
    ) as memory:
        for owner in ("alice", "bob"):
            fill(memory, owner)
            memory.remember("Her own word is blorvint", owner="alice")
        assert words_found(tmp_path, "blorvint", "zyxglorp") == ["blorvint", "zyxglorp"]
        assert memory.erase("alice").compacted
        assert words_found(tmp_path, "blorvint", "alice", "zyxglorp") == ["zyxglorp"]
        assert memory.erase("bob").compacted
        assert words_found(tmp_path, *SECRET) == []


def test_erase_does_not_change_recall_of_others(memory: Memolith) -> None:
    for number in range(20):
        memory.learn(f"I like number {number} best.", "I see.", owner="bob")
    fill(memory, "alice")
    before = memory.recall("which number?", owner="bob", touch=False)
    history = [memory.history(one.id, owner="bob") for one in memory.list(owner="bob").memories]
    assert memory.erase("alice").compacted
    assert memory.owners() == ["bob"]
    assert memory.recall("gnome", owner="alice").memories == ()
    assert memory.stats(owner="alice").messages == 0
    assert memory.recall("which number?", owner="bob", touch=False) == before
    listed = memory.list(owner="bob").memories
    assert [memory.history(one.id, owner="bob") for one in listed] == history


def test_writes_for_erased_owner_fail_until_readmitted(memory: Memolith) -> None:
    stored = memory.remember("Lives in Oslo", owner="alice")
    late = list(memory.export(owner="alice"))
    memory.erase("alice")
    for _ in range(2):
        with pytest.raises(OwnerErased, match="readmit"):
            memory.remember("Lives in Bergen", owner="alice")
        with pytest.raises(OwnerErased):
            memory.learn("I live in Bergen.", owner="alice")
        with pytest.raises(OwnerErased):
            memory.import_(late, owner="alice")
        memory.erase("alice")
    assert memory.owners() == []
    memory.readmit("alice")
    assert memory.list(owner="alice").total == 0
    assert memory.remember("Lives in Bergen", owner="alice").id != stored.id
    with pytest.raises(NotFound):
        memory.readmit("alice")


def test_erase_of_unknown_owner_is_rejected(memory: Memolith) -> None:
    with pytest.raises(NotFound):
        memory.erase("alcie")
    assert memory.remember("Lives in Oslo", owner="alcie").version == 1


def test_late_access_count_does_not_recreate_erased_owner(memory: Memolith) -> None:
    memory.remember("Lives in Oslo", owner="alice")
    memory.recall("Oslo", owner="alice")
    memory.erase("alice")
    memory.flush()
    assert memory.owners() == []
