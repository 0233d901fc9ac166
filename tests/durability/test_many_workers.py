"""Several processes learn from one store: each exchange once, and in order for each owner."""

from __future__ import annotations

import re
import threading
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from corpora.exchanges import KnowingModel, load_script
from memolith import Memolith
from memolith.demo.model_server import ModelServer, ReceivedRequest, Rule
from memolith.domain.memories import State
from memolith.services.work import LEASE_S
from memolith.testing.fakes import SettableClock
from support.durability.learning_process import Orders, learn
from support.durability.outcomes import deeds, unlearned
from support.processes import started
from support.scripted_learning import OWNER, START, client, end, opened, say, work_off
from support.stores import PLAIN, ciphers

_PROCESSES = 3
_OWNERS = [f"owner {number:02}" for number in range(20)]
_EXCHANGES = 3
_SAID = re.compile(r"Box (\d+) of (owner \d\d) holds lamps\.")
_PATIENCE_S = 60.0


class BoxModel:
    """Extracts the one fact from each message about a box.

    The first calls wait for each other, which ensures that all processes work at the same time.
    """

    def __init__(self) -> None:
        self._all_ask = threading.Barrier(_PROCESSES)
        self._lock = threading.Lock()
        self._known: set[str] = set()
        self.asked: Counter[tuple[str, int]] = Counter()
        self.owners_of: defaultdict[str, set[str]] = defaultdict(set)

    def __call__(self, request: ReceivedRequest) -> Any:
        if '"operation"' in request.system:  # the texts of two boxes are similar
            return {"reasoning": "another box", "operation": "ADD", "content": ""}
        found = _SAID.search(request.user)
        assert found is not None
        with self._lock:
            self.asked[found[2], int(found[1])] += 1
            self.owners_of[request.key].add(found[2])
            is_first = request.key not in self._known
            self._known.add(request.key)
        if is_first:
            self._all_ask.wait(_PATIENCE_S)
        kind = {"category": "project", "importance": 5, "expires_in": "", "from": [1]}
        return {"facts": [{"content": found[0], **kind}]}


def open_store(store: str, url: str, profile: str, clock: SettableClock) -> Memolith:
    return opened(store, client(url), clock=clock, profile=profile, cipher=ciphers(PLAIN))


def log_exchanges(memory: Memolith, owner: str) -> None:
    for number in range(_EXCHANGES):
        memory.learn(f"Box {number} of {owner} holds lamps.", "Noted.", owner=owner)


def learn_in_parallel(store: str, url: str, clock: SettableClock) -> None:
    """Run several learning processes until no work is pending."""
    running = [
        started(
            learn,
            msgspec.json.encode(
                Orders(store, PLAIN, "facts", url, clock.now(), name=f"worker {number}")
            ),
        )
        for number in range(_PROCESSES)
    ]
    for each in running:
        with closing(each.telling):
            each.process.join(_PATIENCE_S)
        assert each.process.exitcode == 0


def test_three_processes_learn_each_exchange_once_and_in_order(store: str) -> None:
    clock, model = SettableClock(START), BoxModel()
    with ModelServer(model) as server:
        with open_store(store, server.openai_url, "facts", clock) as memory:
            for owner in _OWNERS:
                log_exchanges(memory, owner)
        clock.advance(timedelta(hours=1))
        learn_in_parallel(store, server.openai_url, clock)
    said = {(owner, number) for owner in _OWNERS for number in range(_EXCHANGES)}
    assert model.asked == Counter(said)
    assert set().union(*model.owners_of.values()) == set(_OWNERS)
    assert sum(map(len, model.owners_of.values())) == len(_OWNERS)
    assert len(model.owners_of) == _PROCESSES
    assert unlearned(store) == 0
    with open_store(store, "http://127.0.0.1:9", "facts", clock) as memory:
        for owner in _OWNERS:
            assert get_learned_numbers(memory, owner) == list(range(_EXCHANGES))
            assert sum("remembered" in each for each in deeds(memory, owner)) == _EXCHANGES


def get_learned_numbers(memory: Memolith, owner: str) -> list[int]:
    """Return the numbers of the remembered boxes in the order of their storage."""
    with memory._app.store.read(owner) as snapshot:
        vitals = snapshot.memory_stats(states=frozenset({State.ACTIVE}))
        known = sorted(zip(vitals.number.tolist(), vitals.id, strict=True))
        memories = snapshot.memories([id_ for _, id_ in known])
    found = {each.id: _SAID.search(each.content) for each in memories}
    return [int(match[1]) for _, id_ in known if (match := found.get(id_))]


class BlockingModel:
    """Wraps a model; blocks calls with one API key until they are released."""

    def __init__(self, rule: Rule, name: str) -> None:
        self._rule = rule
        self._name = name
        self.began, self.go_on = threading.Event(), threading.Event()

    def __call__(self, request: ReceivedRequest) -> Any:
        if request.key == self._name:
            self.began.set()
            self.go_on.wait(_PATIENCE_S)
        return self._rule(request)


@pytest.mark.parametrize(
    ("store", "profile"),
    [("sqlite", "facts"), ("sqlite", "tiers"), ("postgresql", "tiers")],
    indirect=["store"],
)
def test_worker_with_a_lost_lease_writes_nothing(store: str, profile: str) -> None:
    script = load_script()[:12]
    late, clock = SettableClock(START), SettableClock(START)
    model = BlockingModel(KnowingModel(), "slow")
    with ModelServer(model) as server:
        url = server.openai_url

        def open_as(name: str, of: SettableClock) -> Memolith:
            chat = client(url, name=name)
            return opened(store, chat, clock=of, profile=profile, cipher=ciphers(PLAIN))

        with open_as("quick", clock) as memory:
            say(memory, clock, script)
        late.advance(clock.now() - late.now())
        clock.advance(timedelta(seconds=LEASE_S))
        with (
            open_as("slow", late) as slow,
            open_as("quick", clock) as quick,
            ThreadPoolExecutor(1) as apart,
        ):
            working = apart.submit(slow.work)
            assert model.began.wait(_PATIENCE_S)
            work_off(quick, clock)
            found = end(quick), deeds(quick, OWNER)
            model.go_on.set()
            assert working.result(_PATIENCE_S) == ()
            assert (end(quick), deeds(quick, OWNER)) == found
            assert quick.verify().findings == ()
