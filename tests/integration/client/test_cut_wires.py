"""Requests that are retried after a lost connection take effect once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from memolith import AsyncMemolith, Memolith, Message, OwnerMemory
from memolith.errors import StoreUnavailable
from memolith.import_export.jsonl import ImportedMemory
from support.broken_connections import Wire, wired

WRITES: dict[str, Callable[[OwnerMemory], object]] = {
    "remember": lambda alice: alice.remember("Prefers metric units"),
    "learn": lambda alice: alice.learn("I live in Oslo", "I see."),
    "log": lambda alice: alice.log([Message("Bob", "Hello"), Message("Ann", "Hi")], session="s/1"),
    "ingest": lambda alice: alice.ingest("The mill stands by the river. " * 20),
    "import_": lambda alice: alice.import_([ImportedMemory(content="Likes tea")]),
    "set_base_memory": lambda alice: alice.set_base_memory("Lives in Oslo."),
    "store_fact": lambda alice: alice.store_fact("Oslo lies by a fjord"),
}


@pytest.fixture
def wire(url: str) -> Iterator[Wire]:
    with wired(url) as made:
        yield made


def _contents(alice: OwnerMemory) -> tuple[object, ...]:
    events = [alice.history(each.id).events for each in alice.list(state="all").memories]
    return (
        replace(alice.stats(), vectors_pending=0),
        [len(each) for each in events],
        len(alice.base_memory_versions()),
    )


@pytest.mark.parametrize("let_through", [0, 30])
def test_retried_write_takes_effect_once(
    let_through: int, wire: Wire, key: str, memory: Memolith
) -> None:
    wire.let_through = let_through
    with Memolith.connect(wire.url, key=key) as remote:
        for name, write in WRITES.items():
            wire.breaks, wire.broken = 2, 0
            write(remote.owner(f"{name} over a wire"))
            assert wire.broken == 2
            write(memory.owner(f"{name} here"))
            once = _contents(memory.owner(f"{name} here"))
            assert _contents(memory.owner(f"{name} over a wire")) == once, name


def test_write_retried_by_async_client_takes_effect_once(
    wire: Wire, key: str, alice: OwnerMemory
) -> None:
    async def run() -> None:
        async with await AsyncMemolith.connect(wire.url, key=key) as remote:
            wire.breaks = 2
            await remote.learn("I live in Oslo", "I see.", owner="alice")
            assert wire.broken == 2

    asyncio.run(run())
    assert alice.stats().messages == 2


def test_reads_are_retried(wire: Wire, key: str, alice: OwnerMemory) -> None:
    kept = alice.remember("Prefers metric units")
    with Memolith.connect(wire.url, key=key) as remote:
        wire.breaks = 2
        assert remote.get(kept.id, owner="alice") == kept
        assert [each.id for each in remote.recall("metric", owner="alice").memories] == [kept.id]


def test_non_idempotent_requests_are_not_retried(wire: Wire, key: str, memory: Memolith) -> None:
    memory.remember("Prefers metric units", owner="alice")
    memory.erase("alice")
    with Memolith.connect(wire.url, key=key) as remote:
        wire.breaks = 1
        with pytest.raises(StoreUnavailable, match="closed the connection"):
            remote.readmit("alice")
    assert wire.broken == 1


def test_error_after_all_retries_names_the_server(wire: Wire, key: str, alice: OwnerMemory) -> None:
    with Memolith.connect(wire.url, key=key) as remote:
        wire.breaks = 1_000
        with pytest.raises(StoreUnavailable, match=wire.url) as failed:
            remote.remember("Prefers metric units", owner="alice")
    assert key not in str(failed.value)
    assert wire.broken == 6
    assert alice.stats().total_count == 1


def test_interrupted_export_raises_an_error(wire: Wire, key: str, alice: OwnerMemory) -> None:
    alice.log([Message("Bob", f"Hello for the {n}th time " + "…" * 200) for n in range(300)])
    with Memolith.connect(wire.url, key=key) as remote:
        wire.breaks, wire.let_through = 1, 20_000
        with pytest.raises(StoreUnavailable, match="closed the connection"):
            list(remote.export(owner="alice"))
