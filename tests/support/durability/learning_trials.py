"""Learning with repeated kills must end with the same result as without."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any

from corpora.exchanges import KnowingModel, Scripted, load_script
from memolith import Memolith
from memolith.demo.model_server import Asked, ModelServer, late
from memolith.services.work import LEASE_S
from memolith.testing.fakes import SettableClock
from support.durability.outcomes import deeds, unlearned
from support.durability.store_checks import Tally
from support.scripted_learning import (
    OWNER,
    START,
    End,
    client,
    end,
    opened,
    remembering,
    say,
    work_off,
)
from support.stores import PLAIN, ciphers

Found = tuple[End, list[str]]

OVER = timedelta(seconds=LEASE_S + 1)
"""Time after which leases of a killed process have expired."""

LONGEST_CALL_S = 0.02


class SlowModel:
    """A model with a random delay per reply, so that kills interrupt calls; counts calls."""

    def __init__(self, seed: int) -> None:
        self._model = KnowingModel()
        self._random = random.Random(seed)  # noqa: S311 - reproducible delays
        self._lock = threading.Lock()
        self.calls = 0

    def __call__(self, asked: Asked) -> Any:
        with self._lock:
            self.calls += 1
            delay_s = self._random.uniform(0, LONGEST_CALL_S)
        return late(self._model(asked), delay_s)


@dataclass(frozen=True, slots=True)
class Case:
    """Parameters of a trial.

    Attributes:
        profile: Profile of the owner.
        seed: Seed of the times of kills.
        encrypted: Whether the store is encrypted.
        exchanges: Number of exchanges to learn.
        kills: Maximum number of kills.
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
    """A store and a model to learn with."""

    def __init__(
        self, store: str, folder: Path, server: ModelServer, model: SlowModel, case: Case
    ) -> None:
        self.case = case
        self.store = store
        self.key = str(folder / "key") if case.encrypted else PLAIN
        self.url = server.openai_url
        self.model = model
        self.clock = SettableClock(START)

    def opened(self) -> Memolith:
        """Open the store in this process."""
        return opened(
            self.store,
            client(self.url),
            clock=self.clock,
            profile=self.case.profile,
            cipher=ciphers(self.key),
        )


@cache
def undisturbed(profile: str, exchanges: int) -> Found:
    """Return the result without kills, and the work done for it."""
    clock = SettableClock(START)
    with remembering(profile, KnowingModel(), clock) as (memory, _):
        say(memory, clock, load_script()[:exchanges])
        work_off(memory, clock)
        return end(memory), deeds(memory, OWNER)


def check_after(trial: Trial, tally: Tally, *, talked: int = 0) -> None:
    """Check a store after a kill; `talked` exchanges were reported as logged."""
    with trial.opened() as memory:
        report = memory.verify()
        tally.trials += 1
        tally.findings += len(report.findings)
        assert report.findings == ()
        assert memory.stats(owner=OWNER).messages >= 2 * talked


def finish(trial: Trial, tally: Tally) -> Found:
    """Check and return the final result."""
    with trial.opened() as memory:
        assert work_off(memory, trial.clock) == 0
        assert memory.verify().findings == ()
        found = end(memory), deeds(memory, OWNER)
    assert unlearned(trial.store) == 0
    tally.acknowledged += 2 * trial.case.exchanges
    return found


def expected(case: Case) -> Found:
    return undisturbed(case.profile, case.exchanges)


@contextmanager
def trying(store: str, folder: Path, case: Case) -> Iterator[tuple[Trial, random.Random]]:
    model = SlowModel(case.seed)
    chosen = random.Random(case.seed)  # noqa: S311 - reproducible times
    with ModelServer(model) as server:
        yield Trial(store, folder, server, model, case), chosen
