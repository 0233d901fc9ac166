"""The vectors of a store are made anew while it is in use, and while that is killed."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from itertools import count as count_up
from pathlib import Path
from threading import Barrier

import numpy as np
import pytest
from numpy.typing import NDArray

from durability.killing import environment
from durability.opening import PLAIN, ciphers
from durability.reembedder import NEIGHBOUR, Turned, remade
from mnemon import Message, Mnemon
from mnemon.errors import Conflict, WrongEmbeddingModel
from mnemon.ports.embedder import TextRole
from mnemon.testing.clock import SettableClock
from mnemon.testing.embedders import HashingEmbedder, WordCounter

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


def furnish(memory: Mnemon, each: int = 30) -> None:
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


def answers(memory: Mnemon, owner: str) -> list[Answers]:
    """Return what is found for all questions, with its scores."""
    found = [memory.recall(question, owner=owner, top_k=8) for question in QUESTIONS]
    return [[(each.content, each.score.total) for each in one.memories] for one in found]


def opened(store: str, key: str, embedder: HashingEmbedder | None = None) -> Mnemon:
    """Open a store at an instant that stands still, so that nothing gets older."""
    return Mnemon.open(
        store,
        embedder=embedder or HashingEmbedder(),
        tokens=WordCounter(),
        clock=SettableClock(NOW),
        cipher=ciphers(key),
    )


def opened_anew(store: str, key: str) -> Mnemon:
    """Open a store whose vectors were made anew."""
    return opened(store, key, Turned())


def expected(folder: Path, embedder: HashingEmbedder) -> dict[str, list[Answers]]:
    """Return what a store says that had a model from the start."""
    with opened(str(folder / "from-the-start.db"), PLAIN, embedder) as memory:
        furnish(memory)
        return {owner: answers(memory, owner) for owner in OWNERS}


def check_answers(store: str, key: str, folder: Path, embedder: HashingEmbedder) -> None:
    """See that a store says what one does that had the model from the start."""
    with opened(store, key, embedder) as memory:
        assert memory.verify().findings == ()
        for owner, said in expected(folder, embedder).items():
            assert answers(memory, owner) == said


def check(store: str, key: str, folder: Path) -> None:
    """See that a store is as if it had had the other model from the start."""
    check_answers(store, key, folder, Turned())
    with pytest.raises(WrongEmbeddingModel, match="mnemon reembed --model hashing"):
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
        done = Mnemon.reembed(
            store,
            embedder=Turned(),
            cipher=ciphers(key),
            advance=lambda made, total: told.append((made, total)),
        )
        with pytest.raises(WrongEmbeddingModel, match="open it again"):
            memory.recall("piano", owner="anna")
        with pytest.raises(WrongEmbeddingModel):
            memory.remember("Something new", owner="anna")
        assert memory.list(owner="anna").memories
    assert (done.model, done.dimension) == ("turned", 48)
    assert sum(made for made, _ in told) == done.made == told[-1][1] > 80
    check(store, key, tmp_path)
    with opened_anew(store, key) as memory:
        assert memory.stats(owner="anna") == stats
    assert Mnemon.reembed(store, embedder=Turned(), cipher=ciphers(key)).made == 0


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
    Mnemon.reembed(store, embedder=Noting(), cipher=ciphers(PLAIN))
    assert sorted(asked) == ["Dan: Yes, indeed.", "Some other thing"]


def test_others_go_on_until_the_switch_and_none_mixes_after_it(store: str, tmp_path: Path) -> None:
    with opened(store, PLAIN) as memory:
        furnish(memory)
    using = [sys.executable, "-m", "durability.reembedder", store, PLAIN]
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
    check(store, PLAIN, tmp_path)
    with opened_anew(store, PLAIN) as memory:
        for owner, count in said.items():
            # What was stored just before the switch may have been refused as it was looked for.
            assert memory.stats(owner=owner).vectors - count in (0, 1)
            assert count > 0
            assert memory.recall(f"thing {count - 1}", owner=owner).memories


def kill_again_and_again(store: str, key: str, *, seed: int, kills: int) -> int:
    """Kill what makes the vectors anew at random moments; return how often it was killed."""
    chosen = random.Random(seed)  # noqa: S311 - the same moments in every run
    command = [sys.executable, "-m", "durability.reembedder", store, key, "0.005"]
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
    kill_again_and_again(store, key, seed=1, kills=3)
    remade(store, key)
    check(store, key, tmp_path)


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", range(10, 20))
def test_whatever_is_killed_goes_on_to_the_same_end(store: str, tmp_path: Path, seed: int) -> None:
    key = str(tmp_path / "key") if seed % 2 else PLAIN
    with opened(store, key) as memory:
        furnish(memory)
    assert kill_again_and_again(store, key, seed=seed, kills=25) > 0
    remade(store, key)
    check(store, key, tmp_path)


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
        Mnemon.reembed(store, embedder=HashingEmbedder(16, "third"), cipher=ciphers(PLAIN))
    with pytest.raises(Conflict):  # the model in use is another too
        Mnemon.reembed(store, embedder=HashingEmbedder(), cipher=ciphers(PLAIN))
    with pytest.raises(WrongEmbeddingModel, match="finish the change that is under way"):
        opened_anew(store, PLAIN)


def test_what_is_given_up_leaves_the_store_as_it_was(store: str, tmp_path: Path) -> None:
    with opened(store, PLAIN) as memory:
        furnish(memory)
    half_made(store, PLAIN)
    assert Mnemon.abandon_reembed(store, cipher=ciphers(PLAIN))
    assert not Mnemon.abandon_reembed(store, cipher=ciphers(PLAIN))
    check_answers(store, PLAIN, tmp_path, HashingEmbedder())
    made = Mnemon.reembed(store, embedder=HashingEmbedder(16, "third"), cipher=ciphers(PLAIN))
    assert made.made > 80


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
    check(store, key, tmp_path)


def test_a_backup_of_what_is_half_made_goes_on_there(tmp_path: Path) -> None:
    first, copy = str(tmp_path / "memory.db"), tmp_path / "copy.db"
    with opened(first, PLAIN) as memory:
        furnish(memory)
    half_made(first, PLAIN)
    with opened(first, PLAIN) as memory:
        memory.backup(copy)
    remade(str(copy), PLAIN)
    check(str(copy), PLAIN, tmp_path)
    with opened(first, PLAIN) as memory:
        assert memory.recall("piano", owner="anna").memories
