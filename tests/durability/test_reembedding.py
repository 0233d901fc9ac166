"""A store is re-embedded while it is in use, and while the re-embedding process is killed."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime
from functools import cache
from itertools import count as count_up
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Barrier

import numpy as np
import pytest
from numpy.typing import NDArray

from memolith import Memolith, Memory, Message
from memolith.adapters.sql.store import SqlStore
from memolith.admin.reembed import UNLOCKED_ATTEMPTS
from memolith.errors import Conflict, WrongEmbeddingModel
from memolith.ports.admin import EmbeddingModel
from memolith.ports.models import TextRole
from memolith.testing.fakes import HashingEmbedder, SettableClock, WordCounter
from support.durability.reembedding_process import DIMENSION, NEIGHBOUR, Turned, remade
from support.processes import environment
from support.stores import PLAIN, ciphers

Answers = list[tuple[str, float]]

NOW = datetime(2026, 3, 1, tzinfo=UTC)
_PATIENCE_S = 60
_NOUNS = [
    "piano",
    "boat",
    "cat",
    "garden",
    "letter",
    "bridge",
    "kettle",
    "violin",
    "ladder",
    "harbour",
]
_PLACES = [
    "Lisbon",
    "Oslo",
    "Porto",
    "Ghent",
    "Turin",
    "Cork",
    "Bergen",
    "Trieste",
    "Malmo",
    "Nice",
]
QUESTIONS = [
    f"Where is the {noun} of {place}?" for noun, place in zip(_NOUNS, _PLACES, strict=True)
]
OWNERS = ("anna", "bob")


def furnish(memory: Memolith, each: int = 20) -> None:
    """Store memories and messages of two owners; some are changed, forgotten or duplicated."""
    for turn, owner in enumerate(OWNERS):
        chosen = random.Random(turn)  # noqa: S311 - the same in every run
        for number in range(each):
            noun, place = chosen.choice(_NOUNS), chosen.choice(_PLACES)
            kept = memory.remember(f"The {noun} number {number} is in {place}", owner=owner)
            if number % 5 == 1:
                memory.update(kept.id, f"The {noun} number {number} went to Rome", owner=owner)
            if number % 7 == 2:
                memory.forget(kept.id, owner=owner)
        long = " ".join(f"Then the {chosen.choice(_NOUNS)} of {p} was sold." for p in 9 * _PLACES)
        said = [
            Message("Carla", "Yes, indeed."),
            Message(None, long),
            Message("Dan", "Yes, indeed."),
        ]
        memory.log(said, owner=owner, session="s1")


def get_answers(memory: Memolith, owner: str) -> list[Answers]:
    """Return the results of all questions with their scores."""
    found = [memory.recall(question, owner=owner, top_k=8, touch=False) for question in QUESTIONS]
    return [[(each.content, each.score.total) for each in one.memories] for one in found]


def open_store(store: str, key: str, embedder: HashingEmbedder | None = None) -> Memolith:
    """Open a store with a clock that does not advance, so that no memory ages."""
    return Memolith.open(
        store,
        embedder=embedder or HashingEmbedder(),
        tokens=WordCounter(),
        clock=SettableClock(NOW),
        cipher=ciphers(key),
    )


def open_reembedded_store(store: str, key: str) -> Memolith:
    """Open a store that was re-embedded."""
    return open_store(store, key, Turned())


@cache
def get_expected_answers(name: str, dimension: int) -> dict[str, list[Answers]]:
    """Return the answers of a store that used the model from the start."""
    with TemporaryDirectory() as folder:
        store = str(Path(folder) / "memory.db")
        with open_store(store, PLAIN, HashingEmbedder(dimension, name)) as memory:
            furnish(memory)
            return {owner: get_answers(memory, owner) for owner in OWNERS}


def check_answers(store: str, key: str, embedder: HashingEmbedder) -> None:
    """Assert that a store answers like one that used the model from the start."""
    with open_store(store, key, embedder) as memory:
        assert memory.verify().findings == ()
        for owner, said in get_expected_answers(embedder.name, embedder.dimension).items():
            assert get_answers(memory, owner) == said


def check(store: str, key: str) -> None:
    """Assert that a store behaves as if it had used the other model from the start."""
    check_answers(store, key, Turned())
    with pytest.raises(WrongEmbeddingModel, match="memolith reembed --model hashing"):
        open_store(store, key)


@pytest.mark.parametrize("encrypted", [False, True], ids=["plain", "encrypted"])
def test_reembedded_store_equals_a_store_created_with_the_model(
    store: str, tmp_path: Path, *, encrypted: bool
) -> None:
    key = str(tmp_path / "key") if encrypted else PLAIN
    progress: list[tuple[int, int]] = []
    with open_store(store, key) as memory:
        furnish(memory)
        stats = memory.stats(owner="anna")
        done = Memolith.reembed(
            store,
            embedder=Turned(),
            cipher=ciphers(key),
            on_progress=lambda made, total: progress.append((made, total)),
        )
        with pytest.raises(WrongEmbeddingModel, match="open it again"):
            memory.recall("piano", owner="anna")
        with pytest.raises(WrongEmbeddingModel):
            memory.remember("Something new", owner="anna")
        assert memory.list(owner="anna").memories
    assert (done.model, done.dimension) == ("turned", 48)
    assert sum(made for made, _ in progress) == done.vectors_created == progress[-1][1] > 60
    check(store, key)
    with open_reembedded_store(store, key) as memory:
        assert memory.stats(owner="anna") == stats
    assert Memolith.reembed(store, embedder=Turned(), cipher=ciphers(key)).vectors_created == 0


def test_equal_texts_are_embedded_once(store: str) -> None:
    embedded: list[str] = []

    class RecordingEmbedder(Turned):
        """Records the texts that it embeds."""

        def embed(self, texts: Sequence[str], *, role: TextRole) -> NDArray[np.float32]:
            embedded.extend(texts)
            return super().embed(texts, role=role)

    with open_store(store, PLAIN) as memory:
        for number in range(3):
            memory.remember("Some other thing", owner="anna")
            memory.log([Message("Dan", "Yes, indeed.")], owner="anna", session=f"s{number}")
    Memolith.reembed(store, embedder=RecordingEmbedder(), cipher=ciphers(PLAIN))
    assert sorted(embedded) == ["Dan: Yes, indeed.", "Some other thing"]


def test_other_processes_work_until_the_switch_and_are_refused_afterwards(store: str) -> None:
    with open_store(store, PLAIN) as memory:
        furnish(memory)
    using = [sys.executable, "-m", "support.durability.reembedding_process", store, PLAIN]
    with (
        subprocess.Popen(using, stdout=subprocess.PIPE, env=environment()) as neighbour,
        ThreadPoolExecutor(3) as pool,
        open_store(store, PLAIN) as memory,
    ):
        assert neighbour.stdout is not None
        assert neighbour.stdout.readline() == b"begun\n"

        def go_on(owner: str) -> int:
            for count in count_up():
                if count == 1:
                    begun.wait(_PATIENCE_S)
                said = f"The thread {owner} has said thing {count}"
                try:
                    memory.remember(said, owner=owner)
                    found = memory.recall(said, owner=owner).memories
                except WrongEmbeddingModel as refused:
                    return count if refused.is_changed else -1
                assert said in [each.content for each in found]
            raise AssertionError

        begun = Barrier(4)
        threads = {owner: pool.submit(go_on, owner) for owner in ("eve", "finn", "gus")}
        begun.wait(_PATIENCE_S)
        remade(store, PLAIN, 0.002)
        said = {owner: each.result(_PATIENCE_S) for owner, each in threads.items()}
        said[NEIGHBOUR] = int(neighbour.communicate(timeout=_PATIENCE_S)[0])
        assert neighbour.returncode == 0
    check(store, PLAIN)
    with open_reembedded_store(store, PLAIN) as memory:
        for owner, count in said.items():
            # A memory stored just before the switch may have been refused in the recall after it.
            assert memory.stats(owner=owner).vectors - count in (0, 1)
            assert count > 0
            assert memory.recall(f"thing {count - 1}", owner=owner).memories


def kill_repeatedly(store: str, key: str, *, seed: int, kills: int) -> int:
    """Kill the re-embedding process at random moments; return the number of kills."""
    chosen = random.Random(seed)  # noqa: S311 - the same moments in every run
    command = [sys.executable, "-m", "support.durability.reembedding_process", store, key, "0.02"]
    for killed in range(kills):
        with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment()) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"begun\n"
            try:
                process.wait(chosen.uniform(0, 0.35))
            except subprocess.TimeoutExpired:
                process.kill()
            else:
                assert process.returncode == 0
                return killed
    return kills


@pytest.mark.parametrize(
    ("store", "encrypted"), [("sqlite", True), ("postgresql", False)], indirect=["store"]
)
def test_killed_reembedding_resumes_to_the_same_result(
    store: str, tmp_path: Path, *, encrypted: bool
) -> None:
    key = str(tmp_path / "key") if encrypted else PLAIN
    with open_store(store, key) as memory:
        furnish(memory)
    kill_repeatedly(store, key, seed=1, kills=2)
    remade(store, key)
    check(store, key)


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", range(10, 20))
def test_often_killed_reembedding_resumes_to_the_same_result(
    store: str, tmp_path: Path, seed: int
) -> None:
    key = str(tmp_path / "key") if seed % 2 else PLAIN
    with open_store(store, key) as memory:
        furnish(memory)
    assert kill_repeatedly(store, key, seed=seed, kills=25) > 0
    remade(store, key)
    check(store, key)


def interrupt_reembedding(store: str, key: str) -> None:
    """Start to re-embed a store and interrupt it."""

    class InterruptedEmbedder(Turned):
        """Raises KeyboardInterrupt after some calls."""

        calls = 0

        def embed(self, texts: Sequence[str], *, role: TextRole) -> NDArray[np.float32]:
            self.calls += 1
            if self.calls > 4:
                raise KeyboardInterrupt
            return super().embed(texts, role=role)

    with pytest.raises(KeyboardInterrupt):
        remade(store, key, embedder=InterruptedEmbedder())


def test_another_model_is_refused_during_reembedding(store: str) -> None:
    with open_store(store, PLAIN) as memory:
        furnish(memory)
    interrupt_reembedding(store, PLAIN)
    with pytest.raises(Conflict, match="turned"):
        Memolith.reembed(store, embedder=HashingEmbedder(16, "third"), cipher=ciphers(PLAIN))
    with pytest.raises(Conflict):  # the model in use differs as well
        Memolith.reembed(store, embedder=HashingEmbedder(), cipher=ciphers(PLAIN))
    with pytest.raises(WrongEmbeddingModel, match="finish the change in progress"):
        open_reembedded_store(store, PLAIN)


def test_abandoned_reembedding_leaves_the_store_unchanged(store: str) -> None:
    with open_store(store, PLAIN) as memory:
        furnish(memory)
    interrupt_reembedding(store, PLAIN)
    assert Memolith.abandon_reembed(store, cipher=ciphers(PLAIN))
    assert not Memolith.abandon_reembed(store, cipher=ciphers(PLAIN))
    check_answers(store, PLAIN, HashingEmbedder())
    made = Memolith.reembed(store, embedder=HashingEmbedder(16, "third"), cipher=ciphers(PLAIN))
    assert made.vectors_created > 60


def test_interrupted_reembedding_survives_other_changes_to_the_store(
    store: str, tmp_path: Path
) -> None:
    key = str(tmp_path / "key")
    with open_store(store, key) as memory:
        furnish(memory)
        memory.remember("Of somebody who goes", owner="gone")
    interrupt_reembedding(store, key)
    with open_store(store, key) as memory:
        assert memory.rotate_key("anna") == 2
        assert memory.verify().findings == ()
        other = memory.remember("The piano of Bergen was tuned", owner="bob")
        memory.purge(other.id, owner="bob")
        memory.erase("gone")
        assert memory.verify(repair=True).findings == ()
    remade(store, key)
    check(store, key)


def test_backup_during_reembedding_can_be_resumed(tmp_path: Path) -> None:
    first, copy = str(tmp_path / "memory.db"), tmp_path / "copy.db"
    with open_store(first, PLAIN) as memory:
        furnish(memory)
    interrupt_reembedding(first, PLAIN)
    with open_store(first, PLAIN) as memory:
        memory.backup(copy)
    remade(str(copy), PLAIN)
    check(str(copy), PLAIN)
    with open_store(first, PLAIN) as memory:
        assert memory.recall("piano", owner="anna").memories


def test_leftover_vectors_of_another_model_are_reported_and_removed(store: str) -> None:
    with open_store(store, PLAIN) as memory:
        memory.remember("The piano is in Lisbon", owner="anna")
        own = memory._app.store
        assert isinstance(own, SqlStore)
        with own._connections.write("anna") as connection:
            connection.run("UPDATE passages SET vector2 = vector WHERE owner_id > 0")
            connection.run("COMMIT")
        (finding,) = memory.verify().findings
        assert (finding.kind, "another model" in finding.detail) == ("vector", True)
        assert memory.verify(repair=True).is_clean
        assert memory.verify().findings == ()


def test_constant_writers_are_paused_for_the_switch(store: str) -> None:
    with open_store(store, PLAIN) as memory, ThreadPoolExecutor(1) as pool:
        memory.remember("The piano is in Lisbon", owner="anna")

        class WritingEmbedder(Turned):
            """Lets another thread write during each call."""

            writes: tuple[Future[Memory], ...] = ()

            def embed(self, texts: Sequence[str], *, role: TextRole) -> NDArray[np.float32]:
                said = f"Thing {len(self.writes)}"
                self.writes += (pool.submit(memory.remember, said, owner="eve"),)
                if len(self.writes) <= UNLOCKED_ATTEMPTS:  # writers are not paused yet
                    self.writes[-1].result(_PATIENCE_S)
                return super().embed(texts, role=role)

        embedder = WritingEmbedder()
        remade(store, PLAIN, embedder=embedder)
        *written, held = embedder.writes
        assert len(written) == UNLOCKED_ATTEMPTS
        with pytest.raises(WrongEmbeddingModel):
            held.result(_PATIENCE_S)
    with open_reembedded_store(store, PLAIN) as memory:
        assert memory.stats(owner="eve").vectors == len(written)
        assert memory.verify().findings == ()


def test_pause_of_a_killed_reembedding_expires(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memolith.adapters.sql.embedding_generations.MAX_WRITE_PAUSE_S", 0.1)
    with open_store(store, PLAIN) as memory:
        memory.remember("The piano is in Lisbon", owner="anna")
        own = memory._app.store
        assert isinstance(own, SqlStore)
        own.pause_writers()
        for number in range(2):
            memory.remember(f"Thing {number}", owner="anna")
        assert memory.stats(owner="anna").vectors == 3


@pytest.mark.parametrize("store", ["postgresql"], indirect=True)
def test_writer_that_waited_through_the_switch_is_refused(store: str) -> None:
    """The writer sees the current owner row, but all other rows as when it began to wait."""
    with open_store(store, PLAIN) as memory:
        memory.remember("The piano is in Lisbon", owner="anna")
        own = memory._app.store
        assert isinstance(own, SqlStore)
        own.begin_reembedding(EmbeddingModel("turned", DIMENSION))
        bare = own.passages_missing_vectors("anna", 9)
        made = {each.position: np.ones(DIMENSION, dtype=np.int8) for each in bare.passages}
        assert own.add_vectors("anna", bare, made)
        with ThreadPoolExecutor(1) as pool:
            with own.write("anna"):
                waiting = pool.submit(memory.remember, "The boat is in Oslo", owner="anna")
                assert own.switch_vectors()
            with pytest.raises(WrongEmbeddingModel):
                waiting.result(_PATIENCE_S)
    with open_reembedded_store(store, PLAIN) as memory:
        assert memory.stats(owner="anna").vectors == 1


def test_worker_with_outdated_embedder_calls_no_model(store: str) -> None:
    prompts: list[str] = []

    def chat(messages: list[dict[str, str]]) -> str:
        prompts.append(messages[-1]["content"])
        return "{}"

    with Memolith.open(
        store,
        embedder=HashingEmbedder(),
        tokens=WordCounter(),
        cipher=ciphers(PLAIN),
        chat=chat,
        worker=False,
    ) as memory:
        memory.log([Message("Anna", "I live in Oslo now.")], owner="anna", session="s1")
        waiting = memory.backlog(owner="anna")
        remade(store, PLAIN)
        with pytest.raises(WrongEmbeddingModel, match="open it again"):
            memory.work()
        assert memory.backlog(owner="anna") == waiting
    assert prompts == []
