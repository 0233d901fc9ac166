"""Connections to the server are cut at any message of a call, or go silent.

Acknowledged writes are there. For a failed call the outcome is unknown, and repeating it stores the
write once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from memolith import Memolith, Message, OwnerMemory
from memolith.errors import StoreUnavailable
from support.durability.store_checks import Tally
from support.durability.write_log import Stored, everything
from support.postgres import new_database
from support.postgres_proxy import Cut, Proxy, proxy
from support.stores import PLAIN, opened

_SHARES = (0.0, 0.5, 1.0)


@pytest.fixture
def store(postgres_url: str) -> Iterator[str]:
    with new_database(postgres_url) as url:
        yield url


@pytest.fixture
def wire(store: str) -> Iterator[Proxy]:
    with psycopg.connect(store) as database:
        found = database.execute("SHOW unix_socket_directories").fetchone()
    assert found is not None
    with proxy(str(Path(found[0]) / ".s.PGSQL.5432")) as made:
        yield made


def get_proxied_url(wire: Proxy, store: str) -> str:
    """Return the URL of a store through the proxy."""
    with psycopg.connect(store) as database:
        name, user = database.info.dbname, database.info.user
    return f"postgresql://{user}@127.0.0.1:{wire.port}/{name}"


def build_messages(number: int) -> list[Message]:
    return [
        Message(
            "Ann", f"Line {line} of call {number} is about boats", external_id=f"{number}.{line}"
        )
        for line in range(3)
    ]


CALLS: dict[str, Callable[[OwnerMemory, int], object]] = {
    "remember": lambda own, n: own.remember(f"The boat of pier {n} is green", key=f"boat {n}"),
    "log": lambda own, n: own.log(build_messages(n), session="harbour"),
}


def read_records(memory: Memolith) -> Stored:
    return {owner: dict(records) for owner, records in everything(memory).items()}


def try_call(call: Callable[[OwnerMemory, int], object], own: OwnerMemory, number: int) -> str:
    """Make a call; return the error message if it was refused, else an empty string."""
    try:
        call(own, number)
    except StoreUnavailable as error:
        return str(error)
    return ""


def cut_everywhere(wire: Proxy, store: str, tally: Tally, name: str, step: int) -> None:
    """Cut one call after another, each `step` messages later, over all messages of a call."""
    call = CALLS[name]
    refused = 0
    with opened(get_proxied_url(wire, store), PLAIN) as memory, opened(store, PLAIN) as direct:
        own = memory.owner("alice")
        call(own, 0)
        wire.arm()
        call(own, 1)
        messages, size = wire.passed, len(read_records(direct)["alice"]) // 2
        for number in range(2, 2 + len(_SHARES) * messages // step):
            place, share = divmod((number - 2) * step, messages)[::-1]
            before = read_records(direct)["alice"]
            wire.arm(Cut(place + 1, _SHARES[share]))
            problem = try_call(call, own, number)
            wire.disarm()
            after = read_records(direct)["alice"]
            assert {id_: after.get(id_) for id_ in before} == before
            assert len(after) - len(before) in ((0, size) if problem else (size,))
            assert problem == "" or "PostgreSQL at 127.0.0.1" in problem
            refused += bool(problem)
            call(own, number)
            again = read_records(direct)["alice"]
            assert len(again) == len(before) + size
            assert {id_: again[id_] for id_ in after} == after
            tally.trials += 1
        assert refused
        assert direct.verify().findings == ()


@pytest.mark.parametrize("name", CALLS)
def test_call_is_atomic_if_its_connection_breaks(
    wire: Proxy, store: str, tally: Tally, name: str
) -> None:
    cut_everywhere(wire, store, tally, name, step=41)


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", CALLS)
def test_call_is_atomic_if_cut_at_any_message(
    wire: Proxy, store: str, tally: Tally, name: str
) -> None:
    cut_everywhere(wire, store, tally, name, step=1)


def test_write_with_lost_commit_reply_reports_an_unknown_outcome(wire: Proxy, store: str) -> None:
    with opened(get_proxied_url(wire, store), PLAIN) as memory:
        own = memory.owner("alice")
        CALLS["remember"](own, 0)
        wire.arm(unheard=b"COMMIT\0")
        with pytest.raises(StoreUnavailable, match="it is unknown whether the changes were saved"):
            CALLS["remember"](own, 1)
        wire.disarm()
        assert {each.key for each in own.list().memories} == {"boat 0", "boat 1"}


def test_write_on_silent_connection_times_out(wire: Proxy, store: str) -> None:
    """At any message of a write, including the first one on an idle connection."""
    url = get_proxied_url(wire, store)
    with opened(url, PLAIN, busy_timeout_s=0.5, statement_timeout_s=1) as memory:
        own = memory.owner("alice")
        own.remember("The boat is blue")
        wire.arm()
        own.remember("The pier is grey")
        for after in (0, 1, wire.passed // 3, wire.passed // 2):
            sail = f"The sail of boat {after} is red"
            wire.arm(silent_after=after)
            with pytest.raises(
                StoreUnavailable, match=r"127\.0\.0\.1.* (no answer for|timeout expired)"
            ):
                own.remember(sail)
            wire.disarm()
            assert own.recall("boat").memories
            assert own.remember(sail).content == sail
        assert len(own.list().memories) == 6
        assert memory.verify().findings == ()


def test_connecting_to_a_silent_server_times_out(wire: Proxy, store: str) -> None:
    url = get_proxied_url(wire, store)
    with opened(url, PLAIN, busy_timeout_s=0.2) as memory:
        wire.arm(silent_after=0)
        with pytest.raises(StoreUnavailable, match=r"no answer for [0-9.]+ s|timeout expired"):
            memory.recall("boat", owner="alice")
        with pytest.raises(StoreUnavailable, match="timeout expired"):
            opened(url, PLAIN, busy_timeout_s=0.2)
        wire.disarm()
        assert memory.recall("boat", owner="alice").memories == ()
