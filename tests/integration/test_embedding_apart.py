"""While texts are embedded, nothing of the store is held: no snapshot, no lock."""

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

EMBED = {
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
"""The doors that embed; `switch_profile` and `verify` have tests of their own."""

CALLS = 8
"""How many calls of a door are made: they differ by names, not by what is embedded."""


class Looked:
    """A store, opened anew for each thing that is looked at."""

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
        """Let no text be found that was embedded before: all must be embedded again."""
        execute(self.path, "UPDATE passages SET digest = randomblob(16)")


class Meddling(HashingEmbedder):
    """Lets somebody else do something, once, while it embeds."""

    def __init__(self, meddle: Callable[[], object]) -> None:
        super().__init__()
        self._left = [meddle]

    def embed(self, texts: Sequence[str], *, role: TextRole) -> NDArray[np.float32]:
        while self._left:
            self._left.pop()()
        return super().embed(texts, role=role)


@pytest.fixture
def looked(tmp_path: Path, clock: SettableClock) -> Looked:
    return Looked(tmp_path / "memory.db", clock)


@pytest.mark.parametrize("door", sorted(DOORS))
def test_no_door_embeds_while_it_holds_the_store(looked: Looked, door: str) -> None:
    with looked.open() as (memory, _):
        things = furnish(memory.owner("alice"), "wallaby")
    looked.forget_vectors()
    with looked.open() as (memory, witness):
        for call in islice(DOORS[door](things, things), CALLS):
            with suppress(MemolithError):
                result = call(memory, door, "bob" if door == "import_" else "alice")
                if isinstance(result, Iterator):
                    list(result)
        assert bool(witness.calls) == (door in EMBED)


@pytest.mark.parametrize(
    ("profile", "door"),
    [
        *product(("companion", "facts", "chunks", "tiers"), ("ingest", "remember", "update")),
        ("companion", "learn"),
        ("chunks", "learn"),
    ],
)
def test_nor_does_it_in_another_profile(looked: Looked, profile: str, door: str) -> None:
    with looked.open(profile) as (memory, witness):
        kept = memory.remember("The tram to Oslo is red", owner="alice")
        before = witness.calls
        text = "My name is Alice Meyer and I live at 12 Oslo Street."
        if door == "update":
            memory.update(kept.id, text, owner="alice")
        else:
            getattr(memory, door)(text, owner="alice")
        assert witness.calls > before


@pytest.mark.parametrize("profile", ["facts", "tiers", "standard"])
def test_learning_and_consolidation_ask_their_model_and_embed_apart(
    looked: Looked, profile: str
) -> None:
    script = load_script()[:20]
    knowing = KnowingModel(script)

    def rule(request: ReceivedRequest) -> Any:
        check_nothing_is_held(looked.path)
        return knowing(request)

    # One call at a time, and one exchange: while the next is asked for, the last may be written.
    env = {**SMALL_CASCADES, "MEMOLITH_CHAT__CALLS_AT_ONCE": "1", "MEMOLITH_ENABLE_ENCRYPTION": "0"}
    witness = WitnessEmbedder(HashingEmbedder(), lambda: check_nothing_is_held(looked.path))
    with (
        ModelServer(rule) as server,
        Memolith.open(
            looked.path,
            profile=profile,
            embedder=witness,
            tokens=WordCounter(),
            clock=looked.clock,
            config=load(None, env, {}),
            chat=client(server.openai_url),
            worker=False,
        ) as memory,
    ):
        embedded = 0
        for number, exchange in enumerate(script):
            say_one(memory, looked.clock, number, exchange)
            before = witness.calls
            work_off(memory, looked.clock)
            embedded += witness.calls - before
        assert server.requests
        assert embedded


@pytest.mark.parametrize("door", ["forget", "purge"])
def test_what_is_left_of_a_message_is_embedded_apart(looked: Looked, door: str) -> None:
    with looked.open() as (memory, _):
        said = memory.learn("I live in Oslo. My aunt walks.", owner="alice").messages[0]
        (learned,) = memory.list(owner="alice").memories
    looked.forget_vectors()
    with looked.open() as (memory, witness):
        getattr(memory, door)(learned.id, owner="alice")
        assert witness.calls
        assert memory.message(said.id, owner="alice").content == "My aunt walks."
        found = memory.recall("My aunt walks", owner="alice", mode="vector").memories
        assert said.id in {each.id for each in found}


def test_a_change_of_profile_embeds_apart(looked: Looked) -> None:
    with looked.open("timeline") as (memory, witness):
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


def test_a_repair_embeds_apart(looked: Looked) -> None:
    with looked.open() as (memory, _):
        memory.remember("Allergic to hazelnuts", owner="alice")
    assert execute(looked.path, "UPDATE passages SET vector = NULL")
    with looked.open() as (memory, witness):
        report = memory.verify(repair=True)
        assert report.is_clean
        assert report.findings
        assert witness.calls


@pytest.mark.parametrize("held", ["read", "write"])
def test_the_witness_sees_what_is_held(looked: Looked, held: str) -> None:
    with closing(stores.open_store(str(looked.path), Settings(), PlainCipher())) as store:
        witness = WitnessEmbedder(HashingEmbedder(), lambda: check_nothing_is_held(looked.path))
        with store.write("alice") as tx:
            tx.end_session("s", looked.clock.now())
        witness.embed(["free"], role="query")
        with getattr(store, held)("alice") as snapshot:
            snapshot.sessions()
            with pytest.raises(AssertionError, match="open"):
                witness.embed(["held"], role="query")
        witness.embed(["free again"], role="query")


def test_a_change_made_while_texts_are_embedded_is_kept(looked: Looked) -> None:
    with looked.open() as (memory, _), looked.open() as (other, _):
        kept = memory.remember("Takes the tram", owner="alice", tags=["work"])
        meddled = Meddling(lambda: other.update(kept.id, owner="alice", importance=0.875))
        with looked.open_with(meddled) as changing:
            changed = changing.update(kept.id, "Takes the bus", owner="alice")
        assert (changed.content, changed.importance) == ("Takes the bus", 0.875)
        assert memory.get(kept.id, owner="alice") == changed


ANOTHER = """
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
def test_another_process_writes_for_the_same_owner_meanwhile(looked: Looked) -> None:
    def write() -> None:
        subprocess.run([sys.executable, "-c", ANOTHER, str(looked.path)], check=True, timeout=60)

    with looked.open() as (memory, _):
        kept = memory.remember("Takes the tram", owner="alice")
        with looked.open_with(Meddling(write)) as changing:
            changing.update(kept.id, "Takes the bus", owner="alice")
        contents = {each.content for each in memory.list(owner="alice").memories}
    assert contents == {"Takes the bus", "Written by another process"}


def test_a_memory_that_is_forgotten_while_it_is_embedded_is_not_changed(looked: Looked) -> None:
    with looked.open() as (memory, _), looked.open() as (other, _):
        kept = memory.remember("Takes the tram", owner="alice")
        with (
            looked.open_with(Meddling(lambda: other.forget(kept.id, owner="alice"))) as changing,
            pytest.raises(NotFound),
        ):
            changing.update(kept.id, "Takes the bus", owner="alice")
        assert memory.get(kept.id, owner="alice").state is State.FORGOTTEN


def test_a_change_that_never_fits_ends_and_writes_nothing(looked: Looked) -> None:
    with closing(stores.open_store(str(looked.path), Settings(), PlainCipher())) as store:
        writing = TransactionRunner(store, Indexer(HashingEmbedder(), WordCounter(), store))
        tries: list[str] = []

        def change(write_tx: WriteTransaction) -> None:
            tries.append("again")
            write_tx.tx.end_session("s", looked.clock.now())
            write_tx.get_entry(IndexText(" ".join(tries)))

        with pytest.raises(StoreUnavailable):
            writing.write("alice", change)
        assert len(tries) == MAX_EMBEDDING_ROUNDS
        with store.read("alice") as snapshot:
            assert not snapshot.sessions()
