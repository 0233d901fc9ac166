"""Other processes write during a model call: it holds no lock and no open transaction."""

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
    """Answers calls, but blocks the first call for one purpose until it is released.

    Attributes:
        began: Set as soon as that call arrives.
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


def extract(memory: Memolith, clock: SettableClock) -> None:
    said = load_script()[0]
    memory.learn(said.user, said.assistant, owner=OWNER)
    clock.advance(timedelta(hours=1))
    memory.work()
    assert said.facts[0].content in get_contents(memory)


def arbitrate(memory: Memolith, _clock: SettableClock) -> None:
    said = "The user drinks tea with honey from the valley each {} before work at home"
    memory.remember(said.format("morning"), owner=OWNER)
    memory.remember(said.format("evening"), owner=OWNER)
    assert get_contents(memory) >= {said.format("morning"), said.format("evening")}


def consolidate(memory: Memolith, _clock: SettableClock) -> None:
    said = (
        Message(role, text)
        for each in load_script()[:40]
        for role, text in (("user", each.user), ("assistant", each.assistant))
    )
    memory.log(list(said), owner=OWNER)
    made = memory.consolidate(owner=OWNER)
    assert {each.output for each in made} == {"summary", "base memory"}
    assert all(each.by_model for each in made[:1])


def compress(memory: Memolith, _clock: SettableClock) -> None:
    history = [
        {"role": role, "content": text}
        for each in load_script()[:6]
        for role, text in (("user", each.user), ("assistant", each.assistant))
    ]
    compressed = memory.compress(history, owner=OWNER)
    assert len(compressed.memories) == 1
    assert not compressed.failed


def get_contents(memory: Memolith) -> set[str]:
    return {each.content for each in memory.list(owner=OWNER).memories}


@contextmanager
def run_writer(path: Path, key: str) -> Iterator[Running]:
    """Run another process that writes to the same store."""
    running = started(write, msgspec.json.encode(Address(str(path), key, OWNER)))
    with closing(running.telling):
        yield running
        running.telling.send(0)
        running.process.join(_PATIENCE_S)
    assert running.process.exitcode == 0


CALLS = pytest.mark.parametrize(
    ("profile", "operation", "marker"),
    [
        ("facts", extract, '"facts"'),
        ("facts", arbitrate, '"operation"'),
        ("tiers", consolidate, '"summary"'),
        ("tiers", consolidate, '"user_profile"'),
        ("timeline", compress, '"summary"'),
    ],
    ids=["extraction", "arbitration", "summary", "base memory", "history"],
)
Operation = Callable[[Memolith, SettableClock], None]


def write_meanwhile(
    path: Path, profile: str, operation: Operation, marker: str, held_s: float
) -> None:
    """Block a model call while another process writes, for at least `held_s` seconds."""
    model, clock, key = HeldModel(marker), SettableClock(START), PLAIN
    with (
        ModelServer(model) as server,
        opened(
            path, client(server.openai_url), clock=clock, profile=profile, cipher=ciphers(key)
        ) as memory,
        run_writer(path, key) as other,
        ThreadPoolExecutor(1) as apart,
    ):
        done = apart.submit(operation, memory, clock)
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
    """Let the other process write for some seconds; return the number of writes."""
    begun = monotonic()
    for number in count(1):
        other.telling.send(number)
        assert other.telling.poll(_PATIENCE_S)
        assert other.telling.recv() == number
        if number >= _WRITES and monotonic() - begun >= seconds:
            return number
    raise AssertionError


@CALLS
def test_another_process_writes_during_a_model_call(
    tmp_path: Path, profile: str, operation: Operation, marker: str
) -> None:
    write_meanwhile(tmp_path / "memory.db", profile, operation, marker, 0.0)


@pytest.mark.soak
@CALLS
def test_another_process_writes_throughout_a_five_second_model_call(
    tmp_path: Path, profile: str, operation: Operation, marker: str
) -> None:
    write_meanwhile(tmp_path / "memory.db", profile, operation, marker, 5.0)
