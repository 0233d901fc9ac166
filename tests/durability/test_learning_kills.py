"""A process that learns with a model is killed with SIGKILL: it is learned all the same, and once.

The model is here, in the process that kills; each that is killed asks it over a socket.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest

from durability.checking import Tally
from durability.deeds import deeds, unlearned
from durability.forking import Ended, killed_at
from durability.learner import Orders, learn
from durability.opening import PLAIN, ciphers
from integration.learning import (
    OWNER,
    PROFILES,
    START,
    End,
    client,
    end,
    opened,
    remembering,
    say,
    work_off,
)
from mnemon import Mnemon
from mnemon.services.turns import LEASE_S
from mnemon.testing.clock import SettableClock
from mnemon.testing.model_server import Asked, ModelServer, late
from mnemon.testing.script import KnowingModel, Scripted, load_script

Found = tuple[End, list[str]]

_OVER = timedelta(seconds=LEASE_S + 1)
"""After which what a killed process had claimed is free."""

_LONGEST_CALL_S = 0.02
_OPENING_S = 0.3
"""In which a process has opened the store and asked its first, mostly."""


class SlowModel:
    """Takes a moment for each answer, so that kills fall into calls; counts them."""

    def __init__(self, seed: int) -> None:
        self._model = KnowingModel()
        self._random = random.Random(seed)  # noqa: S311 - the same delays in every run
        self._lock = threading.Lock()
        self.calls = 0

    def __call__(self, asked: Asked) -> Any:
        with self._lock:
            self.calls += 1
            delay_s = self._random.uniform(0, _LONGEST_CALL_S)
        return late(self._model(asked), delay_s)


@dataclass(frozen=True, slots=True)
class Case:
    """What is tried.

    Attributes:
        profile: Of the owner.
        seed: Decides when to kill.
        encrypted: Whether the store is.
        exchanges: How many of the script are learned from.
        kills: How many processes are killed at most.
    """

    profile: str
    seed: int
    encrypted: bool = False
    exchanges: int = 12
    kills: int = 2

    @property
    def script(self) -> Sequence[Scripted]:
        return load_script()[: self.exchanges]


class Trial:
    """A store, a model, and one process after the other that learns until it is killed."""

    def __init__(self, folder: Path, server: ModelServer, model: SlowModel, case: Case) -> None:
        self.case = case
        self.path = folder / "memory.db"
        self._key = str(folder / "key") if case.encrypted else PLAIN
        self._server = server
        self._model = model
        self.clock = SettableClock(START)

    def opened(self) -> Mnemon:
        """Open the store here."""
        return opened(
            self.path,
            client(self._server.openai_url),
            clock=self.clock,
            profile=self.case.profile,
            cipher=ciphers(self._key),
        )

    def run_and_kill(self, chosen: random.Random, *, talks: bool = False) -> Ended:
        """Let a process learn, and kill it after some calls, or before its first."""
        opening = chosen.random() < 0.2
        enough = self._model.calls + (0 if opening else chosen.randint(1, 6))
        after_s = chosen.uniform(0, _OPENING_S if opening else 2 * _LONGEST_CALL_S)
        return self._run(lambda: self._model.calls >= enough, after_s, talks=talks)

    def run_to_the_end(self, *, talks: bool = False) -> None:
        """Let a process learn what is left."""
        assert not self._run(lambda: False, 0.0, talks=talks).killed

    def _run(self, is_time: Callable[[], bool], after_s: float, *, talks: bool) -> Ended:
        """Run a process; then it is so late that what it had claimed is free."""
        orders = Orders(
            str(self.path),
            self._key,
            self.case.profile,
            self._server.openai_url,
            self.clock.now(),
            exchanges=self.case.exchanges if talks else 0,
        )
        ended = killed_at(learn, msgspec.json.encode(orders), is_time, after_s)
        self.clock.advance(_OVER + timedelta(minutes=2 * len(ended.told) + 2))
        return ended


@cache
def undisturbed(profile: str, exchanges: int) -> Found:
    """Return what is remembered in the end where nothing is killed, and what was done for it."""
    clock = SettableClock(START)
    with remembering(profile, KnowingModel(), clock) as (memory, _):
        say(memory, clock, load_script()[:exchanges])
        work_off(memory, clock)
        return end(memory), deeds(memory, OWNER)


def check_after(trial: Trial, tally: Tally, *, talked: int = 0) -> None:
    """Look over a store whose process was killed; it had said that so much was logged."""
    with trial.opened() as memory:
        report = memory.verify()
        tally.trials += 1
        tally.findings += len(report.findings)
        assert report.findings == ()
        assert memory.stats(owner=OWNER).messages >= 2 * talked


def finish(trial: Trial, tally: Tally) -> Found:
    """Look over what was learned in the end; return it."""
    with trial.opened() as memory:
        assert work_off(memory, trial.clock) == 0
        assert memory.verify().findings == ()
        found = end(memory), deeds(memory, OWNER)
    assert unlearned(trial.path) == 0
    tally.acknowledged += 2 * trial.case.exchanges
    return found


def expected(case: Case) -> Found:
    return undisturbed(case.profile, case.exchanges)


@contextmanager
def trying(folder: Path, case: Case) -> Iterator[tuple[Trial, random.Random]]:
    model = SlowModel(case.seed)
    chosen = random.Random(case.seed)  # noqa: S311 - much the same moments in every run
    with ModelServer(model) as server:
        yield Trial(folder, server, model, case), chosen


def learn_through_kills(folder: Path, tally: Tally, case: Case) -> Found:
    """Log exchanges, then kill one process after the other that learns from them."""
    with trying(folder, case) as (trial, chosen):
        with trial.opened() as memory:
            say(memory, trial.clock, case.script)
        for _ in range(case.kills):
            if not trial.run_and_kill(chosen).killed:
                break
            check_after(trial, tally)
        trial.run_to_the_end()
        return finish(trial, tally)


def talk_through_kills(folder: Path, tally: Tally, case: Case) -> Found:
    """Kill one process after the other that logs exchanges and learns at the same time."""
    with trying(folder, case) as (trial, chosen):
        for _ in range(case.kills):
            ended = trial.run_and_kill(chosen, talks=True)
            if not ended.killed:
                break
            check_after(trial, tally, talked=max(ended.told, default=0))
        trial.run_to_the_end(talks=True)
        return finish(trial, tally)


@pytest.mark.parametrize(
    "case", [Case("facts", 1, encrypted=True), Case("tiers", 2), Case("standard", 3)], ids=str
)
def test_learning_through_kills_ends_as_without(tmp_path: Path, tally: Tally, case: Case) -> None:
    assert learn_through_kills(tmp_path, tally, case) == expected(case)


def test_talking_and_learning_through_kills_ends_as_without(tmp_path: Path, tally: Tally) -> None:
    case = Case("facts", 4)
    assert talk_through_kills(tmp_path, tally, case) == expected(case)


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.parametrize("encrypted", [True, False], ids=["encrypted", "plain"])
@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("seed", [10])
def test_learning_through_a_hundred_kills_ends_as_without(
    tmp_path: Path, tally: Tally, profile: str, *, encrypted: bool, seed: int
) -> None:
    case = Case(profile, seed, encrypted, exchanges=60, kills=1_000)
    assert learn_through_kills(tmp_path, tally, case) == expected(case)
    assert tally.trials >= 10


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.parametrize("encrypted", [True, False], ids=["encrypted", "plain"])
@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("seed", [20, 21])
def test_talking_and_learning_through_many_kills_ends_as_without(
    tmp_path: Path, tally: Tally, profile: str, *, encrypted: bool, seed: int
) -> None:
    case = Case(profile, seed, encrypted, exchanges=60, kills=1_000)
    found, wanted = talk_through_kills(tmp_path, tally, case), expected(case)
    assert tally.trials >= 2  # who talks is soon done: a fast machine is killed less often
    if profile == "tiers":  # which messages a summary is of hangs on when there was time
        assert found[0].memories == wanted[0].memories
        assert summarised(found) == summarised(wanted)
    else:
        assert found == wanted


def summarised(found: Found) -> list[str]:
    """Return the messages of which a memory was condensed: each as often as that happened."""
    _, told = found
    made = {line.split(" | ")[0] for line in told if "| condensed by" in line}
    return sorted(
        line.split(" | of ")[1]
        for line in told
        if " | of " in line and line.split(" | ")[0] in made
    )
