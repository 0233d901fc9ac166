"""While a model is asked, other processes write: nothing is locked, and no transaction is open."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from datetime import timedelta
from itertools import count
from pathlib import Path
from time import monotonic
from typing import Any

import msgspec
import pytest

from corpora.exchanges import KnowingModel, load_script
from memolith import Memolith, Message
from memolith.demo.model_server import ModelServer, ReceivedRequest
from memolith.testing.fakes import SettableClock
from support.durability.second_writer import OTHER, Address, write
from support.processes import Running, started
from support.scripted_learning import OWNER, START, client, opened
from support.stores import PLAIN, ciphers

_WRITES = 3
_PATIENCE_S = 60.0


class HeldModel:
    """Answers, but the first call for one purpose only when it is let go.

    Attributes:
        began: Set as soon as that call has come.
    """

    def __init__(self, marker: str) -> None:
        self._marker = marker
        self._model = KnowingModel()
        self.began = threading.Event()
        self._go_on = threading.Event()

    def __call__(self, request: ReceivedRequest) -> Any:
        if self._marker in request.system and not self.began.is_set():
            self.began.set()
            self._go_on.wait(_PATIENCE_S)
        return self._model(request)

    def let_go(self) -> None:
        self._go_on.set()


def extraction(memory: Memolith, clock: SettableClock) -> None:
    said = load_script()[0]
    memory.learn(said.user, said.assistant, owner=OWNER)
    clock.advance(timedelta(hours=1))
    memory.work()
    assert said.facts[0].content in contents(memory)


def arbitration(memory: Memolith, _clock: SettableClock) -> None:
    said = "The user drinks tea with honey from the valley each {} before work at home"
    memory.remember(said.format("morning"), owner=OWNER)
    memory.remember(said.format("evening"), owner=OWNER)
    assert contents(memory) >= {said.format("morning"), said.format("evening")}


def condensing(memory: Memolith, _clock: SettableClock) -> None:
    said = (
        Message(role, text)
        for each in load_script()[:40]
        for role, text in (("user", each.user), ("assistant", each.assistant))
    )
    memory.log(list(said), owner=OWNER)
    made = memory.consolidate(owner=OWNER)
    assert {each.output for each in made} == {"summary", "base memory"}
    assert all(each.by_model for each in made[:1])


def compressing(memory: Memolith, _clock: SettableClock) -> None:
    history = [
        {"role": role, "content": text}
        for each in load_script()[:6]
        for role, text in (("user", each.user), ("assistant", each.assistant))
    ]
    compressed = memory.compress(history, owner=OWNER)
    assert len(compressed.memories) == 1
    assert not compressed.failed


def contents(memory: Memolith) -> set[str]:
    return {each.content for each in memory.list(owner=OWNER).memories}


@contextmanager
def neighbour(path: Path, key: str) -> Iterator[Running]:
    """Run a process that writes to the same store."""
    running = started(write, msgspec.json.encode(Address(str(path), key, OWNER)))
    with closing(running.telling):
        yield running
        running.telling.send(0)
        running.process.join(_PATIENCE_S)
    assert running.process.exitcode == 0


CALLS = pytest.mark.parametrize(
    ("profile", "door", "marker"),
    [
        ("facts", extraction, '"facts"'),
        ("facts", arbitration, '"operation"'),
        ("tiers", condensing, '"summary"'),
        ("tiers", condensing, '"user_profile"'),
        ("timeline", compressing, '"summary"'),
    ],
    ids=["extraction", "arbitration", "summary", "base memory", "history"],
)
Door = Callable[[Memolith, SettableClock], None]


def write_meanwhile(path: Path, profile: str, door: Door, marker: str, held_s: float) -> None:
    """Hold a call of the model open; let another process write until it has, and so long."""
    model, clock, key = HeldModel(marker), SettableClock(START), PLAIN
    with (
        ModelServer(model) as server,
        opened(
            path, client(server.openai_url), clock=clock, profile=profile, cipher=ciphers(key)
        ) as memory,
        neighbour(path, key) as other,
        ThreadPoolExecutor(1) as apart,
    ):
        done = apart.submit(door, memory, clock)
        try:
            assert model.began.wait(_PATIENCE_S)
            written = write_for(other, held_s)
            assert not done.done()
        finally:
            model.let_go()
        done.result(_PATIENCE_S)
        for owner in (OWNER, OTHER):
            assert len(memory.messages("elsewhere", owner=owner)) == 2 * written


def write_for(other: Running, seconds: float) -> int:
    """Have another process write, some times at least; return how often it has."""
    begun = monotonic()
    for number in count(1):
        other.telling.send(number)
        assert other.telling.poll(_PATIENCE_S)
        assert other.telling.recv() == number
        if number >= _WRITES and monotonic() - begun >= seconds:
            return number
    raise AssertionError


@CALLS
def test_another_process_writes_while_a_model_is_asked(
    tmp_path: Path, profile: str, door: Door, marker: str
) -> None:
    write_meanwhile(tmp_path / "memory.db", profile, door, marker, 0.0)


@pytest.mark.soak
@CALLS
def test_another_process_writes_all_through_a_call_of_five_seconds(
    tmp_path: Path, profile: str, door: Door, marker: str
) -> None:
    write_meanwhile(tmp_path / "memory.db", profile, door, marker, 5.0)
