"""The service is killed or stopped during use: no acknowledged write is lost or duplicated.

A proxied chat is acknowledged by its complete reply.
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
"""Longest time before a kill: some hundred calls."""


@dataclass(frozen=True, slots=True)
class RunningService:
    """A running service and its concurrent clients."""

    server: Server
    clients: Clients

    def check(self, tally: Tally, *, owed: Sequence[Told] = ()) -> None:
        """Check the store while the service is down; `owed` calls may be stored or not."""
        with Memolith.open(config=load(None, self.server.env, {})) as memory:
            tally.trials += 1
            report = memory.verify()
            tally.findings += len(report.findings)
            assert report.findings == ()
            found = count_contents(memory, self.clients.owners)
        tally.acknowledged = len(self.clients.acknowledged)
        lost = [write for write in self.clients.acknowledged if get_counts(write, found) != {1}]
        tally.lost += len(lost)
        assert lost == []
        halved = [write for write in owed if get_counts(write, found) not in ({0}, {1})]
        assert halved == []


Found = Counter[tuple[str, str, str]]


def count_contents(memory: Memolith, owners: Sequence[str]) -> Found:
    """Count each text in the messages and explicitly stored memories of each owner."""
    found: Found = Counter()
    for owner in owners:
        for session in memory.sessions(owner=owner):
            messages = memory.messages(session.id, owner=owner)
            found.update((owner, "message", each.content) for each in messages)
        stored = [each for each in memories(memory, owner) if not each.sources]
        found.update((owner, "memory", each.content) for each in stored)
    return found


def get_counts(write: Told, found: Found) -> set[int]:
    """Return how often the parts of a write are stored."""
    kind = "memory" if write.way == "remember" else "message"
    return {found[write.owner, kind, text] for text in write.stored}


@contextmanager
def run_service(
    store: str, folder: Path, seed: int, *, encrypted: bool = False
) -> Iterator[RunningService]:
    def build_reply(request: ReceivedRequest) -> object:
        return delayed_answer(answer(request.user), _MODEL_S)

    with ModelServer(build_reply) as model:
        env = environment(
            folder,
            MEMOLITH_STORE=store,
            MEMOLITH_ENABLE_ENCRYPTION=str(encrypted).lower(),
            MEMOLITH_ENCRYPTION_KEY_PATH=str(folder / "key"),
            MEMOLITH_WORKER="false",  # it would send the model requests outside the script
            MEMOLITH_CHAT__PROVIDER="openai",
            MEMOLITH_CHAT__MODEL="scripted",
            MEMOLITH_CHAT__BASE_URL=model.openai_url,
            MEMOLITH_PROXY__MEMORY_TIMEOUT_MS="20000",  # the test machine may be busy
            OPENAI_API_KEY="sk-upstream",
        )
        with Memolith.open(config=load(None, env, {})) as memory:
            key = memory.create_api_key("clients", role="service").secret
        server = Server(env)
        yield RunningService(server, Clients(server.url, key, seed))


def kill_repeatedly(service: RunningService, tally: Tally, kills: int, seed: int) -> None:
    """Kill the service repeatedly during use, and check its store after each kill."""
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
def test_no_acknowledged_write_is_lost_to_a_service_kill(
    store: str, tmp_path: Path, tally: Tally
) -> None:
    with run_service(store, tmp_path, seed=1) as service:
        kill_repeatedly(service, tally, kills=1, seed=1)


def test_no_acknowledged_write_is_lost_to_a_kill_and_a_shutdown(
    tmp_path: Path, tally: Tally
) -> None:
    with run_service(str(tmp_path / "memory.db"), tmp_path, seed=2) as service:
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
def test_shutdown_completes_running_requests_ten_times(
    store: str, tmp_path: Path, tally: Tally
) -> None:
    with run_service(store, tmp_path, seed=4) as service:
        for _ in range(10):
            service.server.start()
            service.clients.tell_again()  # not refused, since no request is incomplete
            with service.clients.busy():
                service.clients.wait(calls=12)
                assert service.server.stop() == 0
            service.check(tally, owed=service.clients.open)


@pytest.mark.soak
@pytest.mark.timeout(900)
@pytest.mark.parametrize("encrypted", [True, False], ids=["encrypted", "plain"])
def test_no_write_is_lost_or_duplicated_in_twenty_kills(
    store: str, tmp_path: Path, tally: Tally, *, encrypted: bool
) -> None:
    with run_service(store, tmp_path, seed=3, encrypted=encrypted) as service:
        kill_repeatedly(service, tally, kills=20, seed=3)
        time.sleep(REQUEST_TIMEOUT.total_seconds())  # a request counts as in progress until then
        service.server.start()
        service.clients.tell_again()
        assert service.server.stop() == 0
        service.check(tally)
