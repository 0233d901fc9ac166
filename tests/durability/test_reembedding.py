"""The vectors of a store are made anew while it is in use, and while that is killed."""

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
    """Give two owners memories and messages, some of them changed or forgotten, some twice."""
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


def answers(memory: Memolith, owner: str) -> list[Answers]:
    """Return what is found for all questions, with its scores."""
    found = [memory.recall(question, owner=owner, top_k=8, touch=False) for question in QUESTIONS]
    return [[(each.content, each.score.total) for each in one.memories] for one in found]


def opened(store: str, key: str, embedder: HashingEmbedder | None = None) -> Memolith:
    """Open a store at an instant that stands still, so that nothing gets older."""
    return Memolith.open(
        store,
        embedder=embedder or HashingEmbedder(),
        tokens=WordCounter(),
        clock=SettableClock(NOW),
        cipher=ciphers(key),
    )


def opened_anew(store: str, key: str) -> Memolith:
    """Open a store whose vectors were made anew."""
    return opened(store, key, Turned())


@cache
def expected(name: str, dimension: int) -> dict[str, list[Answers]]:
    """Return what a store says that had a model from the start."""
    with TemporaryDirectory() as folder:
        store = str(Path(folder) / "memory.db")
        with opened(store, PLAIN, HashingEmbedder(dimension, name)) as memory:
            furnish(memory)
            return {owner: answers(memory, owner) for owner in OWNERS}


def check_answers(store: str, key: str, embedder: HashingEmbedder) -> None:
    """See that a store says what one does that had the model from the start."""
    with opened(store, key, embedder) as memory:
        assert memory.verify().findings == ()
        for owner, said in expected(embedder.name, embedder.dimension).items():
            assert answers(memory, owner) == said


def check(store: str, key: str) -> None:
    """See that a store is as if it had had the other model from the start."""
    check_answers(store, key, Turned())
    with pytest.raises(WrongEmbeddingModel, match="memolith reembed --model hashing"):
        opened(store, key)


@pytest.mark.parametrize("encrypted", [False, True], ids=["plain", "encrypted"])
def test_a_store_is_as_if_it_had_had_the_model_from_the_start(
    store: str, tmp_path: Path, *, encrypted: bool
) -> None:
    key = str(tmp_path / "key") if encrypted else PLAIN
    told: list[tuple[int, int]] = []
    with opened(store, key) as memory:
        furnish(memory)
        stats = memory.stats(owner="anna")
        done = Memolith.reembed(
            store,
            embedder=Turned(),
            cipher=ciphers(key),
            on_progress=lambda made, total: told.append((made, total)),
        )
        with pytest.raises(WrongEmbeddingModel, match="open it again"):
            memory.recall("piano", owner="anna")
        with pytest.raises(WrongEmbeddingModel):
            memory.remember("Something new", owner="anna")
        assert memory.list(owner="anna").memories
    assert (done.model, done.dimension) == ("turned", 48)
    assert sum(made for made, _ in told) == done.vectors_created == told[-1][1] > 60
    check(store, key)
    with opened_anew(store, key) as memory:
        assert memory.stats(owner="anna") == stats
    assert Memolith.reembed(store, embedder=Turned(), cipher=ciphers(key)).vectors_created == 0


def test_a_text_is_embedded_once(store: str) -> None:
    asked: list[str] = []

    class Noting(Turned):
        """Keeps what it is asked."""

        def embed(self, texts: Sequence[str], *, role: TextRole) -> NDArray[np.float32]:
            asked.extend(texts)
            return super().embed(texts, role=role)

    with opened(store, PLAIN) as memory:
        for number in range(3):
            memory.remember("Some other thing", owner="anna")
            memory.log([Message("Dan", "Yes, indeed.")], owner="anna", session=f"s{number}")
    Memolith.reembed(store, embedder=Noting(), cipher=ciphers(PLAIN))
    assert sorted(asked) == ["Dan: Yes, indeed.", "Some other thing"]


def test_others_go_on_until_the_switch_and_none_mixes_after_it(store: str) -> None:
    with opened(store, PLAIN) as memory:
        furnish(memory)
    using = [sys.executable, "-m", "support.durability.reembedding_process", store, PLAIN]
    with (
        subprocess.Popen(using, stdout=subprocess.PIPE, env=environment()) as neighbour,
        ThreadPoolExecutor(3) as pool,
        opened(store, PLAIN) as memory,
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
    with opened_anew(store, PLAIN) as memory:
        for owner, count in said.items():
            # What was stored just before the switch may have been refused as it was looked for.
            assert memory.stats(owner=owner).vectors - count in (0, 1)
            assert count > 0
            assert memory.recall(f"thing {count - 1}", owner=owner).memories


def kill_again_and_again(store: str, key: str, *, seed: int, kills: int) -> int:
    """Kill what makes the vectors anew at random moments; return how often it was killed."""
    chosen = random.Random(seed)  # noqa: S311 - the same moments in every run
    command = [sys.executable, "-m", "support.durability.reembedding_process", store, key, "0.005"]
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
def test_what_is_killed_goes_on_to_the_same_end(
    store: str, tmp_path: Path, *, encrypted: bool
) -> None:
    key = str(tmp_path / "key") if encrypted else PLAIN
    with opened(store, key) as memory:
        furnish(memory)
    kill_again_and_again(store, key, seed=1, kills=2)
    remade(store, key)
    check(store, key)


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", range(10, 20))
def test_whatever_is_killed_goes_on_to_the_same_end(store: str, tmp_path: Path, seed: int) -> None:
    key = str(tmp_path / "key") if seed % 2 else PLAIN
    with opened(store, key) as memory:
        furnish(memory)
    assert kill_again_and_again(store, key, seed=seed, kills=25) > 0
    remade(store, key)
    check(store, key)


def half_made(store: str, key: str) -> None:
    """Begin to make a store's vectors anew, and leave it at that."""

    class Failing(Turned):
        """Is interrupted after some calls."""

        calls = 0

        def embed(self, texts: Sequence[str], *, role: TextRole) -> NDArray[np.float32]:
            self.calls += 1
            if self.calls > 4:
                raise KeyboardInterrupt
            return super().embed(texts, role=role)

    with pytest.raises(KeyboardInterrupt):
        remade(store, key, embedder=Failing())


def test_another_model_is_refused_while_one_is_under_way(store: str) -> None:
    with opened(store, PLAIN) as memory:
        furnish(memory)
    half_made(store, PLAIN)
    with pytest.raises(Conflict, match="turned"):
        Memolith.reembed(store, embedder=HashingEmbedder(16, "third"), cipher=ciphers(PLAIN))
    with pytest.raises(Conflict):  # the model in use is another too
        Memolith.reembed(store, embedder=HashingEmbedder(), cipher=ciphers(PLAIN))
    with pytest.raises(WrongEmbeddingModel, match="finish the change in progress"):
        opened_anew(store, PLAIN)


def test_what_is_given_up_leaves_the_store_as_it_was(store: str) -> None:
    with opened(store, PLAIN) as memory:
        furnish(memory)
    half_made(store, PLAIN)
    assert Memolith.abandon_reembed(store, cipher=ciphers(PLAIN))
    assert not Memolith.abandon_reembed(store, cipher=ciphers(PLAIN))
    check_answers(store, PLAIN, HashingEmbedder())
    made = Memolith.reembed(store, embedder=HashingEmbedder(16, "third"), cipher=ciphers(PLAIN))
    assert made.vectors_created > 60


def test_what_is_half_made_survives_all_that_changes_meanwhile(store: str, tmp_path: Path) -> None:
    key = str(tmp_path / "key")
    with opened(store, key) as memory:
        furnish(memory)
        memory.remember("Of somebody who goes", owner="gone")
    half_made(store, key)
    with opened(store, key) as memory:
        assert memory.rotate_key("anna") == 2
        assert memory.verify().findings == ()
        other = memory.remember("The piano of Bergen was tuned", owner="bob")
        memory.purge(other.id, owner="bob")
        memory.erase("gone")
        assert memory.verify(repair=True).findings == ()
    remade(store, key)
    check(store, key)


def test_a_backup_of_what_is_half_made_goes_on_there(tmp_path: Path) -> None:
    first, copy = str(tmp_path / "memory.db"), tmp_path / "copy.db"
    with opened(first, PLAIN) as memory:
        furnish(memory)
    half_made(first, PLAIN)
    with opened(first, PLAIN) as memory:
        memory.backup(copy)
    remade(str(copy), PLAIN)
    check(str(copy), PLAIN)
    with opened(first, PLAIN) as memory:
        assert memory.recall("piano", owner="anna").memories


def test_what_is_left_of_another_model_is_damage_and_removed(store: str) -> None:
    with opened(store, PLAIN) as memory:
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


def test_who_never_stops_writing_is_asked_to_wait(store: str) -> None:
    with opened(store, PLAIN) as memory, ThreadPoolExecutor(1) as pool:
        memory.remember("The piano is in Lisbon", owner="anna")

        class Meddling(Turned):
            """Lets somebody write whenever it is asked."""

            writes: tuple[Future[Memory], ...] = ()

            def embed(self, texts: Sequence[str], *, role: TextRole) -> NDArray[np.float32]:
                said = f"Thing {len(self.writes)}"
                self.writes += (pool.submit(memory.remember, said, owner="eve"),)
                if len(self.writes) <= UNLOCKED_ATTEMPTS:  # what is written now is written in time
                    self.writes[-1].result(_PATIENCE_S)
                return super().embed(texts, role=role)

        embedder = Meddling()
        remade(store, PLAIN, embedder=embedder)
        *written, held = embedder.writes
        assert len(written) == UNLOCKED_ATTEMPTS
        with pytest.raises(WrongEmbeddingModel):
            held.result(_PATIENCE_S)
    with opened_anew(store, PLAIN) as memory:
        assert memory.stats(owner="eve").vectors == len(written)
        assert memory.verify().findings == ()


def test_who_asked_writers_to_wait_and_was_killed_is_not_waited_for_long(
    store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memolith.adapters.sql.embedding_generations.MAX_WRITE_PAUSE_S", 0.1)
    with opened(store, PLAIN) as memory:
        memory.remember("The piano is in Lisbon", owner="anna")
        own = memory._app.store
        assert isinstance(own, SqlStore)
        own.pause_writers()
        for number in range(2):
            memory.remember(f"Thing {number}", owner="anna")
        assert memory.stats(owner="anna").vectors == 3


@pytest.mark.parametrize("store", ["postgresql"], indirect=True)
def test_who_waited_for_the_owner_while_vectors_were_switched_stores_none(store: str) -> None:
    """They see the owner as it is, but all else as it was when they began to wait."""
    with opened(store, PLAIN) as memory:
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
    with opened_anew(store, PLAIN) as memory:
        assert memory.stats(owner="anna").vectors == 1


def test_a_worker_asks_no_model_for_what_it_could_not_keep(store: str) -> None:
    asked: list[str] = []

    def chat(messages: list[dict[str, str]]) -> str:
        asked.append(messages[-1]["content"])
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
    assert asked == []
