"""`AsyncMemolith` and `AsyncOwnerMemory`: the API for asynchronous code.

Their methods are generated; each runs the synchronous method on a worker thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import islice
from types import TracebackType
from typing import Any, Self, TypeVar

from memolith.admin.reembed import ReembedResult
from memolith.api._generated import (
    AsyncEngineMethods,
    AsyncOwnerMemoryMethods,
    AsyncOwnerMethods,
    Runner,
)
from memolith.api.engine import Memolith
from memolith.api.owner import OwnerMemory
from memolith.client import DEFAULT_TIMEOUT_S, DEFAULT_URL
from memolith.domain.reports import IngestResult
from memolith.errors import StoreUnavailable
from memolith.import_export.records import Record
from memolith.ports.admin import RestoreResult
from memolith.services.migrate import MigrationResult

R = TypeVar("R")

_BATCH_SIZE = 256
"""Records of an export that are read at a time. A guess."""

_THREADS = 8
"""Worker threads: a recall computes on one core, a write waits for the disk. A guess."""


class _ThreadRunner:
    """Runs blocking calls on worker threads, until it is closed."""

    def __init__(self) -> None:
        self._executor = ThreadPoolExecutor(_THREADS, thread_name_prefix="memolith")
        self.is_closed = False

    async def run(self, call: Callable[[], R]) -> R:
        if self.is_closed:
            raise StoreUnavailable("the store is closed")
        return await asyncio.get_running_loop().run_in_executor(self._executor, call)

    def close(self) -> None:
        self.is_closed = True
        self._executor.shutdown(wait=False)


async def _iterate_in_batches(
    runner: Runner, start: Callable[[], Iterator[R]], size: int
) -> AsyncIterator[R]:
    """Yield the items of an iterator that is read on worker threads, `size` items at a time."""
    items = await runner.run(start)
    while batch := await runner.run(lambda: list(islice(items, size))):
        for item in batch:
            yield item


class AsyncOwnerMemory(AsyncOwnerMemoryMethods):
    """The memory of one owner, for asynchronous code. See `OwnerMemory`.

    Returned by `AsyncMemolith.owner`.
    """

    def __init__(self, memory: OwnerMemory, runner: Runner) -> None:
        """Run the methods of `memory` with `runner`."""
        self._memory = memory
        self._runner = runner

    @property
    def owner_id(self) -> str:
        """The owner's id."""
        return self._memory.owner_id

    def export(self) -> AsyncIterator[Record]:
        """Yield the records of `OwnerMemory.export`."""
        return _iterate_in_batches(self._runner, self._memory.export, _BATCH_SIZE)

    def ingest_stream(self, pieces: Iterable[str], **options: Any) -> AsyncIterator[IngestResult]:
        """Store a text of any length. Arguments and results: `OwnerMemory.ingest_stream`."""
        return _iterate_in_batches(
            self._runner, lambda: self._memory.ingest_stream(pieces, **options), 1
        )


class AsyncMemolith(AsyncEngineMethods, AsyncOwnerMethods):
    """A memory store for asynchronous code: the methods of `Memolith`, on worker threads.

    Calls never block the event loop. A cancelled call still completes on its thread.

        async with await AsyncMemolith.open("memory.db") as memory:
            await memory.remember("Prefers metric units", owner="alice")
    """

    def __init__(self, engine: Memolith) -> None:
        """Wrap an open store. Closing this object closes the store."""
        self._engine = engine
        self._runner: _ThreadRunner = _ThreadRunner()

    @classmethod
    async def open(cls, *args: Any, **options: Any) -> Self:
        """Open a store. Arguments and errors: `Memolith.open`."""
        return cls(await asyncio.to_thread(partial(Memolith.open, *args, **options)))

    @classmethod
    async def restore_backup(cls, *args: Any, **options: Any) -> RestoreResult:
        """Replace a store by a backup. Arguments and errors: `Memolith.restore_backup`."""
        return await asyncio.to_thread(partial(Memolith.restore_backup, *args, **options))

    @classmethod
    async def migrate(cls, *args: Any, **options: Any) -> MigrationResult:
        """Copy a store to another database. Arguments and errors: `Memolith.migrate`."""
        return await asyncio.to_thread(partial(Memolith.migrate, *args, **options))

    @classmethod
    async def reembed(cls, *args: Any, **options: Any) -> ReembedResult:
        """Recompute all vectors of a store. Arguments and errors: `Memolith.reembed`."""
        return await asyncio.to_thread(partial(Memolith.reembed, *args, **options))

    @classmethod
    async def abandon_reembed(cls, *args: Any, **options: Any) -> bool:
        """Cancel an unfinished `reembed`. Arguments: `Memolith.abandon_reembed`."""
        return await asyncio.to_thread(partial(Memolith.abandon_reembed, *args, **options))

    @classmethod
    async def connect(
        cls, url: str = DEFAULT_URL, *, key: str | None = None, timeout_s: float = DEFAULT_TIMEOUT_S
    ) -> AsyncMemolith:
        """Return a client of a Memolith service, without threads. See `Memolith.connect`.

        The client belongs to the event loop in which it is first used.
        """
        from memolith.client.remote import AsyncRemoteMemolith, build_async_transport

        return AsyncRemoteMemolith(build_async_transport(url, key, timeout_s))

    def owner(self, owner_id: str) -> AsyncOwnerMemory:
        """Return the memory of one owner. See `Memolith.owner`."""
        return AsyncOwnerMemory(self._engine.owner(owner_id), self._runner)

    async def close(self) -> None:
        """Flush pending writes and close the store. Closing twice is not an error."""
        if not self._runner.is_closed:
            await self._runner.run(self._engine.close)
            self._runner.close()

    async def __aenter__(self) -> Self:
        """Return itself."""
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the store."""
        await self.close()

    def export(self, *, owner: str) -> AsyncIterator[Record]:
        """Yield the records of `OwnerMemory.export`."""
        return self.owner(owner).export()

    def ingest_stream(
        self, pieces: Iterable[str], *, owner: str, **options: Any
    ) -> AsyncIterator[IngestResult]:
        """Store a text of any length. Arguments and results: `OwnerMemory.ingest_stream`."""
        return self.owner(owner).ingest_stream(pieces, **options)
