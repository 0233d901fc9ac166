"""The service is killed, or told to end, while it is used: nothing acknowledged is lost or doubled.

A proxied chat is acknowledged when its reply has come to its end.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from memolith import Memolith
from memolith.adapters.sql.service_tables import REQUEST_TIMEOUT
from memolith.config import load
from memolith.demo.model_server import ModelServer, ReceivedRequest, delayed_answer
from support.durability.service_clients import Clients, Told, answer
from support.durability.store_checks import Tally
from support.durability.write_log import memories
from support.server_process import Server, environment

_MODEL_S = 0.05
_LONGEST_S = 0.3
"""After which a kill comes at most: some hundred calls."""


@dataclass(frozen=True, slots=True)
class Used:
    """A service that is used by many at once."""

    server: Server
    clients: Clients

    def check(self, tally: Tally, *, owed: Sequence[Told] = ()) -> None:
        """Look over its store, while it does not run: what is owed may be there, or not."""
        with Memolith.open(config=load(None, self.server.env, {})) as memory:
            tally.trials += 1
            report = memory.verify()
            tally.findings += len(report.findings)
            assert report.findings == ()
            found = contents(memory, self.clients.owners)
        tally.acknowledged = len(self.clients.acknowledged)
        lost = [told for told in self.clients.acknowledged if times(told, found) != {1}]
        tally.lost += len(lost)
        assert lost == []
        halved = [told for told in owed if times(told, found) not in ({0}, {1})]
        assert halved == []


Found = Counter[tuple[str, str, str]]


def contents(memory: Memolith, owners: Sequence[str]) -> Found:
    """Return how often each text stands in an owner's messages, or memories told as such."""
    found: Found = Counter()
    for owner in owners:
        for session in memory.sessions(owner=owner):
            said = memory.messages(session.id, owner=owner)
            found.update((owner, "message", each.content) for each in said)
        told = [each for each in memories(memory, owner) if not each.sources]
        found.update((owner, "memory", each.content) for each in told)
    return found


def times(told: Told, found: Found) -> set[int]:
    """Return how often the parts of what was told are there."""
    kind = "memory" if told.way == "remember" else "message"
    return {found[told.owner, kind, text] for text in told.stored}


@contextmanager
def used(store: str, folder: Path, seed: int, *, encrypted: bool = False) -> Iterator[Used]:
    def said(request: ReceivedRequest) -> object:
        return delayed_answer(answer(request.user), _MODEL_S)

    with ModelServer(said) as model:
        env = environment(
            folder,
            MEMOLITH_STORE=store,
            MEMOLITH_ENABLE_ENCRYPTION=str(encrypted).lower(),
            MEMOLITH_ENCRYPTION_KEY_PATH=str(folder / "key"),
            MEMOLITH_WORKER="false",  # its model would be asked what it can't answer
            MEMOLITH_CHAT__PROVIDER="openai",
            MEMOLITH_CHAT__MODEL="scripted",
            MEMOLITH_CHAT__BASE_URL=model.openai_url,
            MEMOLITH_PROXY__MEMORY_TIMEOUT_MS="20000",  # on a machine that is busy
            OPENAI_API_KEY="sk-upstream",
        )
        with Memolith.open(config=load(None, env, {})) as memory:
            key = memory.create_api_key("clients", role="service").secret
        server = Server(env)
        yield Used(server, Clients(server.url, key, seed))


def kill_again_and_again(service: Used, tally: Tally, kills: int, seed: int) -> None:
    """Kill it while it is used, and look over its store each time, while nobody is answered."""
    chosen = random.Random(seed)  # noqa: S311 - much the same moments in every run
    service.server.start()
    with service.clients.busy():
        for number in range(kills):
            service.clients.wait(calls=12)
            time.sleep(chosen.uniform(0, _LONGEST_S))
            service.server.kill()
            service.check(tally, owed=service.clients.open)
            if number < kills - 1:
                service.server.start()


@pytest.mark.parametrize("store", ["postgresql"], indirect=True)
def test_nothing_acknowledged_is_lost_to_a_kill(store: str, tmp_path: Path, tally: Tally) -> None:
    with used(store, tmp_path, seed=1) as service:
        kill_again_and_again(service, tally, kills=1, seed=1)


def test_nothing_acknowledged_is_lost_to_a_kill_and_an_end(tmp_path: Path, tally: Tally) -> None:
    with used(str(tmp_path / "memory.db"), tmp_path, seed=2) as service:
        service.server.start()
        with service.clients.busy():
            service.clients.wait(calls=6)
            service.server.kill()
            cut = list(service.clients.open)
            service.check(tally, owed=cut)
            service.server.start()
            service.clients.wait(calls=6)
            assert service.server.stop() == 0
        service.check(tally, owed=cut)


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_what_is_under_way_is_finished_when_it_is_told_to_end_ten_times(
    store: str, tmp_path: Path, tally: Tally
) -> None:
    with used(store, tmp_path, seed=4) as service:
        for _ in range(10):
            service.server.start()
            service.clients.tell_again()  # which is not refused: nothing was left half done
            with service.clients.busy():
                service.clients.wait(calls=12)
                assert service.server.stop() == 0
            service.check(tally, owed=service.clients.open)


@pytest.mark.soak
@pytest.mark.timeout(900)
@pytest.mark.parametrize("encrypted", [True, False], ids=["encrypted", "plain"])
def test_nothing_is_lost_or_doubled_in_twenty_kills(
    store: str, tmp_path: Path, tally: Tally, *, encrypted: bool
) -> None:
    with used(store, tmp_path, seed=3, encrypted=encrypted) as service:
        kill_again_and_again(service, tally, kills=20, seed=3)
        time.sleep(REQUEST_TIMEOUT.total_seconds())  # in which a request may still be under way
        service.server.start()
        service.clients.tell_again()
        assert service.server.stop() == 0
        service.check(tally)
