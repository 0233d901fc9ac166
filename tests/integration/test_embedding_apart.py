"""Embedding holds no snapshot and no lock of the store."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from itertools import islice, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from corpora.exchanges import KnowingModel, load_script
from memolith import Memolith, stores
from memolith.adapters.crypto.ciphers import PlainCipher
from memolith.config import Settings, load
from memolith.demo.model_server import ModelServer, ReceivedRequest
from memolith.domain.memories import State
from memolith.errors import MemolithError, NotFound, StoreUnavailable
from memolith.ports.models import TextRole
from memolith.services.indexing import Indexer, IndexText
from memolith.services.write import MAX_EMBEDDING_ROUNDS, TransactionRunner, WriteTransaction
from memolith.testing.fakes import HashingEmbedder, SettableClock, WordCounter
from support.databases import check_nothing_is_held, execute
from support.lock_probe import WitnessEmbedder
from support.scripted_learning import SMALL_CASCADES, client, say_one, work_off
from support.tenant_isolation import DOORS, furnish

EMBEDDING_METHODS = {
    "approve",
    "compress",
    "context",
    "context_with_results",
    "forget",
    "hybrid_search",
    "import_",
    "ingest",
    "ingest_stream",
    "learn",
    "log",
    "process_exchange",
    "purge",
    "recall",
    "reject",
    "remember",
    "restore",
    "retrieve_context",
    "search",
    "store_correction",
    "store_fact",
    "store_preference",
    "update",
}
"""The API methods that embed; `switch_profile` and `verify` have separate tests."""

CALLS_PER_METHOD = 8
"""The number of calls of each API method; further calls embed the same texts."""


class ReopenedStore:
    """A store that each step of a test reopens."""

    def __init__(self, path: Path, clock: SettableClock) -> None:
        self.path = path
        self.clock = clock

    @contextmanager
    def open(self, profile: str | None = None) -> Iterator[tuple[Memolith, WitnessEmbedder]]:
        witness = WitnessEmbedder(HashingEmbedder(), lambda: check_nothing_is_held(self.path))
        config = load(env={}, overrides={"enable_encryption": False, "profile": profile})
        with Memolith.open(
            self.path, embedder=witness, clock=self.clock, tokens=WordCounter(), config=config
        ) as memory:
            yield memory, witness

    def open_with(self, embedder: HashingEmbedder) -> Memolith:
        config = load(env={}, overrides={"enable_encryption": False})
        return Memolith.open(
            self.path, embedder=embedder, clock=self.clock, tokens=WordCounter(), config=config
        )

    def forget_vectors(self) -> None:
        """Change the stored digests: every text must be embedded again."""
        execute(self.path, "UPDATE passages SET digest = randomblob(16)")


class InterferingEmbedder(HashingEmbedder):
    """Calls a function once, during its first embedding."""

    def __init__(self, interfere: Callable[[], object]) -> None:
        super().__init__()
        self._left = [interfere]

    def embed(self, texts: Sequence[str], *, role: TextRole) -> NDArray[np.float32]:
        while self._left:
            self._left.pop()()
        return super().embed(texts, role=role)


@pytest.fixture
def reopened(tmp_path: Path, clock: SettableClock) -> ReopenedStore:
    return ReopenedStore(tmp_path / "memory.db", clock)


@pytest.mark.parametrize("api_method", sorted(DOORS))
def test_api_method_embeds_without_holding_the_store(
    reopened: ReopenedStore, api_method: str
) -> None:
    with reopened.open() as (memory, _):
        things = furnish(memory.owner("alice"), "wallaby")
    reopened.forget_vectors()
    with reopened.open() as (memory, witness):
        for call in islice(DOORS[api_method](things, things), CALLS_PER_METHOD):
            with suppress(MemolithError):
                result = call(memory, api_method, "bob" if api_method == "import_" else "alice")
                if isinstance(result, Iterator):
                    list(result)
        assert bool(witness.calls) == (api_method in EMBEDDING_METHODS)


@pytest.mark.parametrize(
    ("profile", "api_method"),
    [
        *product(("companion", "facts", "chunks", "tiers"), ("ingest", "remember", "update")),
        ("companion", "learn"),
        ("chunks", "learn"),
    ],
)
def test_other_profiles_embed_without_holding_the_store(
    reopened: ReopenedStore, profile: str, api_method: str
) -> None:
    with reopened.open(profile) as (memory, witness):
        kept = memory.remember("The tram to Oslo is red", owner="alice")
        before = witness.calls
        text = "My name is Alice Meyer and I live at 12 Oslo Street."
        if api_method == "update":
            memory.update(kept.id, text, owner="alice")
        else:
            getattr(memory, api_method)(text, owner="alice")
        assert witness.calls > before


@pytest.mark.parametrize("profile", ["facts", "tiers", "standard"])
def test_learning_and_consolidation_hold_no_lock_during_model_calls(
    reopened: ReopenedStore, profile: str
) -> None:
    script = load_script()[:20]
    knowing = KnowingModel(script)

    def rule(request: ReceivedRequest) -> Any:
        check_nothing_is_held(reopened.path)
        return knowing(request)

    # One exchange at a time: concurrent calls may write the last one while the next is sent.
    env = {**SMALL_CASCADES, "MEMOLITH_CHAT__CALLS_AT_ONCE": "1", "MEMOLITH_ENABLE_ENCRYPTION": "0"}
    witness = WitnessEmbedder(HashingEmbedder(), lambda: check_nothing_is_held(reopened.path))
    with (
        ModelServer(rule) as server,
        Memolith.open(
            reopened.path,
            profile=profile,
            embedder=witness,
            tokens=WordCounter(),
            clock=reopened.clock,
            config=load(None, env, {}),
            chat=client(server.openai_url),
            worker=False,
        ) as memory,
    ):
        embedded = 0
        for number, exchange in enumerate(script):
            say_one(memory, reopened.clock, number, exchange)
            before = witness.calls
            work_off(memory, reopened.clock)
            embedded += witness.calls - before
        assert server.requests
        assert embedded


@pytest.mark.parametrize("api_method", ["forget", "purge"])
def test_redacted_message_is_embedded_without_holding_the_store(
    reopened: ReopenedStore, api_method: str
) -> None:
    with reopened.open() as (memory, _):
        message = memory.learn("I live in Oslo. My aunt walks.", owner="alice").messages[0]
        (learned,) = memory.list(owner="alice").memories
    reopened.forget_vectors()
    with reopened.open() as (memory, witness):
        getattr(memory, api_method)(learned.id, owner="alice")
        assert witness.calls
        assert memory.message(message.id, owner="alice").content == "My aunt walks."
        found = memory.recall("My aunt walks", owner="alice", mode="vector").memories
        assert message.id in {each.id for each in found}


def test_profile_switch_embeds_without_holding_the_store(reopened: ReopenedStore) -> None:
    with reopened.open("timeline") as (memory, witness):
        for place in range(3):
            memory.remember(f"Fact {place} of Oslo", key=f"k{place}", owner="alice")
        memory.learn("The tram to Oslo was late.", owner="alice")
        before = witness.calls
        assert before == 0
        ready: list[int] = []
        memory.switch_profile("standard", owner="alice", on_progress=ready.append)
        assert witness.calls > before
        assert sum(ready) >= 4
        assert memory.recall("tram", owner="alice", mode="vector").memories


def test_repair_embeds_without_holding_the_store(reopened: ReopenedStore) -> None:
    with reopened.open() as (memory, _):
        memory.remember("Allergic to hazelnuts", owner="alice")
    assert execute(reopened.path, "UPDATE passages SET vector = NULL")
    with reopened.open() as (memory, witness):
        report = memory.verify(repair=True)
        assert report.is_clean
        assert report.findings
        assert witness.calls


@pytest.mark.parametrize("held", ["read", "write"])
def test_witness_detects_open_transactions(reopened: ReopenedStore, held: str) -> None:
    with closing(stores.open_store(str(reopened.path), Settings(), PlainCipher())) as store:
        witness = WitnessEmbedder(HashingEmbedder(), lambda: check_nothing_is_held(reopened.path))
        with store.write("alice") as tx:
            tx.end_session("s", reopened.clock.now())
        witness.embed(["free"], role="query")
        with getattr(store, held)("alice") as snapshot:
            snapshot.sessions()
            with pytest.raises(AssertionError, match="open"):
                witness.embed(["held"], role="query")
        witness.embed(["free again"], role="query")


def test_concurrent_update_during_embedding_is_preserved(reopened: ReopenedStore) -> None:
    with reopened.open() as (memory, _), reopened.open() as (other, _):
        kept = memory.remember("Takes the tram", owner="alice", tags=["work"])
        interfering = InterferingEmbedder(
            lambda: other.update(kept.id, owner="alice", importance=0.875)
        )
        with reopened.open_with(interfering) as changing:
            changed = changing.update(kept.id, "Takes the bus", owner="alice")
        assert (changed.content, changed.importance) == ("Takes the bus", 0.875)
        assert memory.get(kept.id, owner="alice") == changed


OTHER_PROCESS = """
import sys
from memolith import Memolith
from memolith.config import load
from memolith.testing.fakes import HashingEmbedder, WordCounter
config = load(env={}, overrides={"enable_encryption": False, "busy_timeout_s": 0.5})
with Memolith.open(
    sys.argv[1], embedder=HashingEmbedder(), tokens=WordCounter(), config=config
) as memory:
    memory.remember("Written by another process", owner="alice")
"""


@pytest.mark.sqlite
def test_other_process_can_write_during_embedding(reopened: ReopenedStore) -> None:
    def write() -> None:
        subprocess.run(
            [sys.executable, "-c", OTHER_PROCESS, str(reopened.path)], check=True, timeout=60
        )

    with reopened.open() as (memory, _):
        kept = memory.remember("Takes the tram", owner="alice")
        with reopened.open_with(InterferingEmbedder(write)) as changing:
            changing.update(kept.id, "Takes the bus", owner="alice")
        contents = {each.content for each in memory.list(owner="alice").memories}
    assert contents == {"Takes the bus", "Written by another process"}


def test_memory_forgotten_during_embedding_is_not_updated(reopened: ReopenedStore) -> None:
    with reopened.open() as (memory, _), reopened.open() as (other, _):
        kept = memory.remember("Takes the tram", owner="alice")
        with (
            reopened.open_with(
                InterferingEmbedder(lambda: other.forget(kept.id, owner="alice"))
            ) as changing,
            pytest.raises(NotFound),
        ):
            changing.update(kept.id, "Takes the bus", owner="alice")
        assert memory.get(kept.id, owner="alice").state is State.FORGOTTEN


def test_write_gives_up_after_too_many_embedding_rounds(reopened: ReopenedStore) -> None:
    with closing(stores.open_store(str(reopened.path), Settings(), PlainCipher())) as store:
        writing = TransactionRunner(store, Indexer(HashingEmbedder(), WordCounter(), store))
        tries: list[str] = []

        def change(write_tx: WriteTransaction) -> None:
            tries.append("again")
            write_tx.tx.end_session("s", reopened.clock.now())
            write_tx.get_entry(IndexText(" ".join(tries)))

        with pytest.raises(StoreUnavailable):
            writing.write("alice", change)
        assert len(tries) == MAX_EMBEDDING_ROUNDS
        with store.read("alice") as snapshot:
            assert not snapshot.sessions()
