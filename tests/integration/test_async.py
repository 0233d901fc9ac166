from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from memolith import AsyncMemolith, Message
from memolith.errors import InvalidInput, StoreUnavailable
from memolith.testing.fakes import HashingEmbedder, WordCounter


async def open_at(path: Path) -> AsyncMemolith:
    return await AsyncMemolith.open(path, embedder=HashingEmbedder(), tokens=WordCounter())


def test_async_engine_stores_and_recalls(tmp_path: Path) -> None:
    async def run() -> None:
        async with await open_at(tmp_path / "memory.db") as memory:
            alice = memory.owner("alice")
            stored = await alice.remember("Prefers metric units")
            found = await memory.recall("metric units", owner="alice")
            assert [one.id for one in found.memories] == [stored.id]
            assert "metric" in await alice.context("units")
            assert await memory.owners() == ["alice"]
            with pytest.raises(InvalidInput):
                await alice.remember("")

    asyncio.run(run())


def test_concurrent_tasks_store_every_memory(tmp_path: Path) -> None:
    async def run() -> None:
        async with await open_at(tmp_path / "memory.db") as memory:
            alice = memory.owner("alice")
            await asyncio.gather(*(alice.remember(f"Fact number {n}") for n in range(50)))
            assert (await alice.stats()).total_count == 50

    asyncio.run(run())


def test_async_export_returns_every_message_in_order(tmp_path: Path) -> None:
    async def run() -> None:
        async with await open_at(tmp_path / "memory.db") as memory:
            alice = memory.owner("alice")
            await alice.log([Message("Bob", f"Line {n}") for n in range(600)])
            records = [record async for record in alice.export()]
            contents = [record.content for record in records if isinstance(record, Message)]
            assert contents == [f"Line {n}" for n in range(600)]

    asyncio.run(run())


def test_event_loop_runs_while_embedder_blocks(tmp_path: Path) -> None:
    def slow(texts: list[str]) -> list[list[float]]:
        import time

        time.sleep(0.2)
        return [[1.0, 0.0] for _ in texts]

    async def run() -> int:
        async with await AsyncMemolith.open(
            tmp_path / "memory.db", embedder=slow, tokens=WordCounter()
        ) as memory:
            writing = asyncio.ensure_future(memory.remember("x", owner="alice"))
            beats = 0
            while not writing.done():
                await asyncio.sleep(0.01)
                beats += 1
            await writing
            return beats

    assert asyncio.run(run()) > 5


def test_closed_engine_raises_store_unavailable(tmp_path: Path) -> None:
    async def run() -> None:
        memory = await open_at(tmp_path / "memory.db")
        await memory.close()
        await memory.close()
        with pytest.raises(StoreUnavailable):
            await memory.owners()

    asyncio.run(run())
