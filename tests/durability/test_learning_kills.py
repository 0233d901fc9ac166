"""A process that learns with a model is killed with SIGKILL: each exchange is learned once.

The model runs in the test process; the killed processes call it over a socket.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from support.durability.learning_process import Orders, learn
from support.durability.learning_trials import (
    LONGEST_CALL_S,
    OVER,
    Case,
    Found,
    Trial,
    check_after,
    expected,
    finish,
    trying,
)
from support.durability.store_checks import Tally
from support.processes import Ended, killed_at
from support.scripted_learning import PROFILES, say

_OPENING_S = 0.3
"""Usual time until a process has opened the store and made its first call."""


def run_and_kill(trial: Trial, chosen: random.Random, *, talks: bool = False) -> Ended:
    """Run a learning process and kill it after some calls, or before its first."""
    opening = chosen.random() < 0.2
    enough = trial.model.calls + (0 if opening else chosen.randint(1, 6))
    after_s = chosen.uniform(0, _OPENING_S if opening else 2 * LONGEST_CALL_S)
    return _run(trial, lambda: trial.model.calls >= enough, after_s, talks=talks)


def run_to_the_end(trial: Trial, *, talks: bool = False) -> None:
    """Run a process that learns the remaining exchanges."""
    assert not _run(trial, lambda: False, 0.0, talks=talks).killed


def _run(trial: Trial, is_time: Callable[[], bool], after_s: float, *, talks: bool) -> Ended:
    """Run a process, then advance the clock until its leases have expired."""
    orders = Orders(
        trial.store,
        trial.key,
        trial.case.profile,
        trial.url,
        trial.clock.now(),
        exchanges=trial.case.exchanges if talks else 0,
    )
    ended = killed_at(learn, msgspec.json.encode(orders), is_time, after_s)
    trial.clock.advance(OVER + timedelta(minutes=2 * len(ended.told) + 2))
    return ended


def learn_through_kills(store: str, folder: Path, tally: Tally, case: Case) -> Found:
    """Log exchanges, then repeatedly kill the process that learns from them."""
    with trying(store, folder, case) as (trial, chosen):
        with trial.opened() as memory:
            say(memory, trial.clock, case.script)
        for _ in range(case.kills):
            if not run_and_kill(trial, chosen).killed:
                break
            check_after(trial, tally)
        run_to_the_end(trial)
        return finish(trial, tally)


def talk_through_kills(store: str, folder: Path, tally: Tally, case: Case) -> Found:
    """Repeatedly kill a process that logs exchanges and learns at the same time."""
    with trying(store, folder, case) as (trial, chosen):
        for _ in range(case.kills):
            ended = run_and_kill(trial, chosen, talks=True)
            if not ended.killed:
                break
            check_after(trial, tally, talked=max(ended.told, default=0))
        run_to_the_end(trial, talks=True)
        return finish(trial, tally)


@pytest.mark.parametrize(
    ("store", "case"),
    [
        ("sqlite", Case("facts", 1, encrypted=True)),
        ("sqlite", Case("tiers", 2)),
        ("sqlite", Case("standard", 3)),
        ("postgresql", Case("tiers", 5, encrypted=True)),
    ],
    indirect=["store"],
    ids=str,
)
def test_learning_through_kills_gives_the_same_result(
    store: str, tmp_path: Path, tally: Tally, case: Case
) -> None:
    assert learn_through_kills(store, tmp_path, tally, case) == expected(case)


@pytest.mark.parametrize("store", ["sqlite"], indirect=True)
def test_logging_and_learning_through_kills_gives_the_same_result(
    store: str, tmp_path: Path, tally: Tally
) -> None:
    case = Case("facts", 4)
    assert talk_through_kills(store, tmp_path, tally, case) == expected(case)


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.parametrize("encrypted", [True, False], ids=["encrypted", "plain"])
@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("seed", [10])
def test_learning_through_a_hundred_kills_gives_the_same_result(
    store: str, tmp_path: Path, tally: Tally, profile: str, *, encrypted: bool, seed: int
) -> None:
    case = Case(profile, seed, encrypted, exchanges=60, kills=1_000)
    assert learn_through_kills(store, tmp_path, tally, case) == expected(case)
    assert tally.trials >= 10


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.parametrize("encrypted", [True, False], ids=["encrypted", "plain"])
@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("seed", [20, 21])
def test_logging_and_learning_through_many_kills_gives_the_same_result(
    store: str, tmp_path: Path, tally: Tally, profile: str, *, encrypted: bool, seed: int
) -> None:
    case = Case(profile, seed, encrypted, exchanges=60, kills=1_000)
    found, wanted = talk_through_kills(store, tmp_path, tally, case), expected(case)
    assert tally.trials >= 2  # logging finishes early: on a fast machine there are fewer kills
    if profile == "tiers":  # the sources of a summary depend on timing
        assert found[0].memories == wanted[0].memories
        assert get_summarised_messages(found) == get_summarised_messages(wanted)
    else:
        assert found == wanted


def get_summarised_messages(found: Found) -> list[str]:
    """Return the source messages of summaries, each once for every summary."""
    _, history = found
    made = {line.split(" | ")[0] for line in history if "| condensed by" in line}
    return sorted(
        line.split(" | of ")[1]
        for line in history
        if " | of " in line and line.split(" | ")[0] in made
    )
