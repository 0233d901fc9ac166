"""Owners share model calls fairly, and a stopping worker keeps its results and releases leases."""

from __future__ import annotations

import re
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest

from memolith import Memolith
from memolith.demo.model_server import ReceivedRequest
from memolith.domain.owners import WorkKind
from memolith.services.work import EXCHANGES_PER_TURN, LEASE_S
from memolith.testing.fakes import SettableClock
from support.scripted_learning import START, remembering

_NUMBER = re.compile(r"Box (\d+) of (\w+) holds lamps\.")
_PATIENCE_S = 60.0
_CONCURRENCY = 4


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock(START)


def facts_of(request: ReceivedRequest) -> dict[str, Any]:
    said = _NUMBER.search(request.user)
    assert said is not None
    kind = {"type": "knowledge", "from": [1]}
    return {"facts": [{"fact": said[0], **kind}]}


def talk(memory: Memolith, owner: str, exchanges: int) -> None:
    for number in range(exchanges):
        memory.learn(f"Box {number} of {owner} holds lamps.", "Noted.", owner=owner)


def learned_numbers(memory: Memolith, owner: str) -> list[int]:
    """Return the sorted numbers of the remembered boxes."""
    page = memory.list(owner=owner, state="all", limit=1_000)
    found = (_NUMBER.search(each.content) for each in page.memories)
    return sorted(int(match[1]) for match in found if match)


class Gate:
    """A model whose calls block until `open` is called.

    Attributes:
        asked: The owners of the calls, in order.
    """

    def __init__(self) -> None:
        self._all_through = threading.Event()
        self._came = threading.Semaphore(0)
        self.asked: list[str] = []

    def __call__(self, request: ReceivedRequest) -> Any:
        said = _NUMBER.search(request.user)
        assert said is not None
        self.asked.append(said[2])
        self._came.release()
        self._all_through.wait(_PATIENCE_S)
        return facts_of(request)

    def wait_for(self, calls: int) -> None:
        for _ in range(calls):
            assert self._came.acquire(timeout=_PATIENCE_S)

    def open(self) -> None:
        self._all_through.set()


def test_short_request_is_not_queued_behind_long_one(clock: SettableClock) -> None:
    gate = Gate()
    with remembering("tiers", gate, clock) as (memory, _), ThreadPoolExecutor(1) as apart:
        talk(memory, "ann", 3 * EXCHANGES_PER_TURN)
        working = apart.submit(memory.work)
        gate.wait_for(_CONCURRENCY)
        talk(memory, "bob", 1)
        gate.open()
        working.result(_PATIENCE_S)
        assert learned_numbers(memory, "ann") == list(range(3 * EXCHANGES_PER_TURN))
        assert learned_numbers(memory, "bob") == [0]
    assert gate.asked.index("bob") <= 2 * EXCHANGES_PER_TURN


def test_stopping_worker_keeps_pending_answers_and_starts_no_calls(
    clock: SettableClock,
) -> None:
    gate, stop = Gate(), threading.Event()
    with remembering("tiers", gate, clock) as (memory, server), ThreadPoolExecutor(1) as apart:
        talk(memory, "ann", 20)
        working = apart.submit(lambda: memory.work(stop.is_set))
        gate.wait_for(_CONCURRENCY)
        stop.set()
        gate.open()
        working.result(_PATIENCE_S)
        asked = len(server.requests)
        assert asked == _CONCURRENCY
        assert learned_numbers(memory, "ann") == list(range(asked))
        assert memory.backlog(owner="ann").pending_messages == 2 * (20 - asked)
        claims = memory._app.store.leases
        assert claims.acquire("ann", WorkKind.LEARN, now=clock.now(), lease_s=1.0) is not None


class Ticking(SettableClock):
    """A clock that advances by a second with each reading."""

    def now(self) -> Any:
        self.advance(timedelta(seconds=1))
        return super().now()


def test_lease_is_renewed_while_work_is_running() -> None:
    clock, opened, rivals = Ticking(START), list[Memolith](), list[object]()

    def rival(request: ReceivedRequest) -> Any:
        if '"facts"' not in request.system:
            return {"summary": "Of boxes."}
        claims = opened[0]._app.store.leases
        rivals.append(claims.acquire("ann", WorkKind.LEARN, now=clock.now(), lease_s=1.0))
        return facts_of(request)

    with remembering("tiers", rival, clock) as (memory, _):
        opened.append(memory)
        talk(memory, "ann", 60)
        begun = clock.now()
        memory.work()
        assert clock.now() - begun > timedelta(seconds=LEASE_S)
        assert rivals == [None] * 60
        assert set(learned_numbers(memory, "ann")) == set(range(60))
