"""The cost of a recall depends on the number of results, not on the size of the store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memolith import Memolith, Message
from memolith.adapters.crypto.xchacha import XChaChaOwnerCipher
from memolith.adapters.sqlite.store import SqliteStore
from memolith.ports.cipher import EncryptionContext
from memolith.testing.fakes import HashingEmbedder, WordCounter

pytestmark = pytest.mark.sqlite

TEXTS = [f"The {n}th loaf of bread was baked in oven {n % 7}." for n in range(60)]
QUERY = "Which loaf of bread was baked?"


@pytest.fixture
def stored(tmp_path: Path) -> Iterator[Memolith]:
    """An encrypted store of sixty memories, with a loaded index."""
    embedder, tokens = HashingEmbedder(), WordCounter()
    with Memolith.open(tmp_path / "memory.db", embedder=embedder, tokens=tokens) as opened:
        for text in TEXTS:
            opened.remember(text, owner="alice")
        opened.recall(QUERY, owner="alice")
        yield opened


def record_decryptions(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Return a set that receives the id of each record decrypted from now on."""
    seen: set[str] = set()
    as_it_is = XChaChaOwnerCipher.decrypt

    def noting(self: XChaChaOwnerCipher, sealed: bytes, place: EncryptionContext) -> bytes:
        seen.add(place.record)
        return as_it_is(self, sealed, place)

    monkeypatch.setattr(XChaChaOwnerCipher, "decrypt", noting)
    return seen


def test_recall_decrypts_only_returned_records(
    stored: Memolith, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = record_decryptions(monkeypatch)
    found = stored.recall(QUERY, owner="alice", top_k=4).memories
    assert seen == {one.id for one in found}
    assert len(seen) == 4


def test_recall_of_many_equal_matches_decrypts_only_returned_ones(
    stored: Memolith, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored.log([Message("Bob", "ok") for _ in range(30)], owner="alice", session="s")
    stored.recall("ok", owner="alice")
    seen = record_decryptions(monkeypatch)
    found = stored.recall("ok", owner="alice", top_k=3).memories
    assert seen == {"participant:1", *(one.id for one in found)}
    assert [one.content for one in found] == ["ok"] * 3


def test_statement_count_does_not_depend_on_result_count(stored: Memolith) -> None:
    store = stored._app.store
    assert isinstance(store, SqliteStore)
    seen: list[str] = []

    def note(_: object, statement: str, __: object) -> bool:
        seen.append(statement)
        return True

    with store._connections.read() as reader:
        reader._raw.exec_trace = note
    counts = []
    for results in (2, 40):
        seen.clear()
        found = stored.recall(QUERY, owner="alice", top_k=results, token_budget=5_000).memories
        assert len(found) == results
        counts.append(len(seen))
    assert counts[0] == counts[1] > 0
