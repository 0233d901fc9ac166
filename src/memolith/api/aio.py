"""`AsyncMemolith`: the same methods, awaitable; one thin wrapper over the synchronous core."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial, wraps
from itertools import islice
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from memolith.admin.reembed import ReembedResult
from memolith.api.engine import Memolith
from memolith.api.owner import OwnerMemory
from memolith.client import DEFAULT_TIMEOUT_S, DEFAULT_URL
from memolith.domain.reports import IngestResult
from memolith.errors import StoreUnavailable
from memolith.import_export.records import Record
from memolith.ports.admin import RestoreResult
from memolith.services.migrate import MigrationResult

P = ParamSpec("P")
R = TypeVar("R")

_BATCH_SIZE = 256

_THREADS = 8
"""Worker threads: a recall computes on one core, a write waits for the disk. A guess."""


def _async_engine_method(
    method: Callable[Concatenate[Memolith, P], R],
) -> Callable[Concatenate[AsyncMemolith, P], Coroutine[Any, Any, R]]:
    @wraps(method)
    async def call(self: AsyncMemolith, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return await self._run(partial(method, self._engine, *args, **kwargs))

    return call


def _async_owner_method(
    method: Callable[Concatenate[OwnerMemory, P], R],
) -> Callable[Concatenate[AsyncOwnerMemory, P], Coroutine[Any, Any, R]]:
    @wraps(method)
    async def call(self: AsyncOwnerMemory, /, *args: P.args, **kwargs: P.kwargs) -> R:
        result: R = await self._run(partial(method, self._memory, *args, **kwargs))
        return result

    return call


async def _iterate_in_batches(
    run: Callable[[Callable[[], Any]], Awaitable[Any]], start: Callable[[], Iterator[R]], size: int
) -> AsyncIterator[R]:
    """Give what an iterator gives, reading it on worker threads, a batch at a time."""
    records: Iterator[R] = await run(start)
    while batch := await run(lambda: list(islice(records, size))):
        for record in batch:
            yield record


class AsyncOwnerMemory:
    """What one owner remembers, for asynchronous code. See `OwnerMemory`."""

    def __init__(
        self, memory: OwnerMemory, run: Callable[[Callable[[], Any]], Awaitable[Any]]
    ) -> None:
        """Use `AsyncMemolith.owner` to make one."""
        self._memory = memory
        self._run = run

    @property
    def owner_id(self) -> str:
        """Whose memory it is."""
        return self._memory.owner_id

    remember = _async_owner_method(OwnerMemory.remember)
    learn = _async_owner_method(OwnerMemory.learn)
    log = _async_owner_method(OwnerMemory.log)
    end_session = _async_owner_method(OwnerMemory.end_session)
    ingest = _async_owner_method(OwnerMemory.ingest)
    recall = _async_owner_method(OwnerMemory.recall)
    context = _async_owner_method(OwnerMemory.context)
    get = _async_owner_method(OwnerMemory.get)
    message = _async_owner_method(OwnerMemory.message)
    messages = _async_owner_method(OwnerMemory.messages)
    sessions = _async_owner_method(OwnerMemory.sessions)
    list = _async_owner_method(OwnerMemory.list)
    update = _async_owner_method(OwnerMemory.update)
    supersede = _async_owner_method(OwnerMemory.supersede)
    forget = _async_owner_method(OwnerMemory.forget)
    purge = _async_owner_method(OwnerMemory.purge)
    restore = _async_owner_method(OwnerMemory.restore)
    review = _async_owner_method(OwnerMemory.review)
    approve = _async_owner_method(OwnerMemory.approve)
    reject = _async_owner_method(OwnerMemory.reject)
    history = _async_owner_method(OwnerMemory.history)
    stats = _async_owner_method(OwnerMemory.stats)
    audit = _async_owner_method(OwnerMemory.audit)
    import_ = _async_owner_method(OwnerMemory.import_)
    profile = _async_owner_method(OwnerMemory.profile)
    switch_profile = _async_owner_method(OwnerMemory.switch_profile)
    recent = _async_owner_method(OwnerMemory.recent)
    base_memory = _async_owner_method(OwnerMemory.base_memory)
    base_memory_versions = _async_owner_method(OwnerMemory.base_memory_versions)
    set_base_memory = _async_owner_method(OwnerMemory.set_base_memory)
    roll_back_base_memory = _async_owner_method(OwnerMemory.roll_back_base_memory)
    equivalent_kind = _async_owner_method(OwnerMemory.equivalent_kind)
    store_fact = _async_owner_method(OwnerMemory.store_fact)
    store_preference = _async_owner_method(OwnerMemory.store_preference)
    store_correction = _async_owner_method(OwnerMemory.store_correction)
    search = _async_owner_method(OwnerMemory.search)
    hybrid_search = _async_owner_method(OwnerMemory.hybrid_search)
    retrieve_context = _async_owner_method(OwnerMemory.retrieve_context)
    process_exchange = _async_owner_method(OwnerMemory.process_exchange)
    memories = _async_owner_method(OwnerMemory.memories)
    active_count = _async_owner_method(OwnerMemory.active_count)
    summaries = _async_owner_method(OwnerMemory.summaries)
    undo_consolidation = _async_owner_method(OwnerMemory.undo_consolidation)
    compress = _async_owner_method(OwnerMemory.compress)
    backlog = _async_owner_method(OwnerMemory.backlog)
    usage = _async_owner_method(OwnerMemory.usage)
    retry = _async_owner_method(OwnerMemory.retry)
    context_with_results = _async_owner_method(OwnerMemory.context_with_results)

    def export(self) -> AsyncIterator[Record]:
        """Give what `OwnerMemory.export` gives."""
        return _iterate_in_batches(self._run, self._memory.export, _BATCH_SIZE)

    def ingest_stream(self, pieces: Iterable[str], **options: Any) -> AsyncIterator[IngestResult]:
        """Take in a text of any length; takes what `OwnerMemory.ingest_stream` takes."""
        return _iterate_in_batches(
            self._run, lambda: self._memory.ingest_stream(pieces, **options), 1
        )


class AsyncMemolith:
    """Persistent memory for asynchronous code: `Memolith` on worker threads.

    Never blocks the event loop. A call that is cancelled goes on to its end in its thread.
    """

    def __init__(self, engine: Memolith) -> None:
        """Wrap an open `Memolith`; closing this closes it."""
        self._engine = engine
        self._is_closed = False
        self._executor = ThreadPoolExecutor(_THREADS, thread_name_prefix="memolith")

    @classmethod
    async def open(cls, *args: Any, **options: Any) -> Self:
        """Open a store; takes what `Memolith.open` takes."""
        return cls(await asyncio.to_thread(partial(Memolith.open, *args, **options)))

    @classmethod
    async def restore_backup(cls, *args: Any, **options: Any) -> RestoreResult:
        """Put a backup in a store's place; takes what `Memolith.restore_backup` takes."""
        return await asyncio.to_thread(partial(Memolith.restore_backup, *args, **options))

    @classmethod
    async def migrate(cls, *args: Any, **options: Any) -> MigrationResult:
        """Move a store into another database; takes what `Memolith.migrate` takes."""
        return await asyncio.to_thread(partial(Memolith.migrate, *args, **options))

    @classmethod
    async def reembed(cls, *args: Any, **options: Any) -> ReembedResult:
        """Make all vectors of a store anew; takes what `Memolith.reembed` takes."""
        return await asyncio.to_thread(partial(Memolith.reembed, *args, **options))

    @classmethod
    async def abandon_reembed(cls, *args: Any, **options: Any) -> bool:
        """Give up making vectors anew; takes what `Memolith.abandon_reembed` takes."""
        return await asyncio.to_thread(partial(Memolith.abandon_reembed, *args, **options))

    @classmethod
    async def connect(
        cls, url: str = DEFAULT_URL, *, key: str | None = None, timeout_s: float = DEFAULT_TIMEOUT_S
    ) -> AsyncMemolith:
        """Connect to a Memolith service without threads; see `Memolith.connect`.

        It is of the event loop in which it is first used.
        """
        from memolith.client.remote import AsyncRemoteMemolith, build_async_transport

        return AsyncRemoteMemolith(build_async_transport(url, key, timeout_s))

    async def _run(self, call: Callable[[], R]) -> R:
        if self._is_closed:
            raise StoreUnavailable("the store is closed")
        return await asyncio.get_running_loop().run_in_executor(self._executor, call)

    def owner(self, owner_id: str) -> AsyncOwnerMemory:
        """Return the memory of one owner."""
        return AsyncOwnerMemory(self._engine.owner(owner_id), self._run)

    async def close(self) -> None:
        """Write what waits, and let go of the store."""
        if not self._is_closed:
            await self._run(self._engine.close)
            self._is_closed = True
            self._executor.shutdown(wait=False)

    async def __aenter__(self) -> Self:
        """Return itself."""
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it."""
        await self.close()

    owners = _async_engine_method(Memolith.owners)
    erase = _async_engine_method(Memolith.erase)
    rotate_key = _async_engine_method(Memolith.rotate_key)
    readmit = _async_engine_method(Memolith.readmit)
    create_api_key = _async_engine_method(Memolith.create_api_key)
    api_keys = _async_engine_method(Memolith.api_keys)
    find_api_key = _async_engine_method(Memolith.find_api_key)
    revoke_api_key = _async_engine_method(Memolith.revoke_api_key)
    backup = _async_engine_method(Memolith.backup)
    verify = _async_engine_method(Memolith.verify)
    flush = _async_engine_method(Memolith.flush)
    remember = _async_engine_method(Memolith.remember)
    learn = _async_engine_method(Memolith.learn)
    log = _async_engine_method(Memolith.log)
    end_session = _async_engine_method(Memolith.end_session)
    ingest = _async_engine_method(Memolith.ingest)
    recall = _async_engine_method(Memolith.recall)
    context = _async_engine_method(Memolith.context)
    get = _async_engine_method(Memolith.get)
    message = _async_engine_method(Memolith.message)
    messages = _async_engine_method(Memolith.messages)
    sessions = _async_engine_method(Memolith.sessions)
    list = _async_engine_method(Memolith.list)
    update = _async_engine_method(Memolith.update)
    supersede = _async_engine_method(Memolith.supersede)
    forget = _async_engine_method(Memolith.forget)
    purge = _async_engine_method(Memolith.purge)
    restore = _async_engine_method(Memolith.restore)
    review = _async_engine_method(Memolith.review)
    approve = _async_engine_method(Memolith.approve)
    reject = _async_engine_method(Memolith.reject)
    history = _async_engine_method(Memolith.history)
    stats = _async_engine_method(Memolith.stats)
    audit = _async_engine_method(Memolith.audit)
    import_ = _async_engine_method(Memolith.import_)
    profile = _async_engine_method(Memolith.profile)
    switch_profile = _async_engine_method(Memolith.switch_profile)
    recent = _async_engine_method(Memolith.recent)
    base_memory = _async_engine_method(Memolith.base_memory)
    base_memory_versions = _async_engine_method(Memolith.base_memory_versions)
    set_base_memory = _async_engine_method(Memolith.set_base_memory)
    roll_back_base_memory = _async_engine_method(Memolith.roll_back_base_memory)
    apply_decay = _async_engine_method(Memolith.apply_decay)
    cleanup = _async_engine_method(Memolith.cleanup)
    expire = _async_engine_method(Memolith.expire)
    profiles = _async_engine_method(Memolith.profiles)
    retain = _async_engine_method(Memolith.retain)
    run_jobs = _async_engine_method(Memolith.run_jobs)
    equivalent_kind = _async_engine_method(Memolith.equivalent_kind)
    store_fact = _async_engine_method(Memolith.store_fact)
    store_preference = _async_engine_method(Memolith.store_preference)
    store_correction = _async_engine_method(Memolith.store_correction)
    search = _async_engine_method(Memolith.search)
    hybrid_search = _async_engine_method(Memolith.hybrid_search)
    retrieve_context = _async_engine_method(Memolith.retrieve_context)
    process_exchange = _async_engine_method(Memolith.process_exchange)
    memories = _async_engine_method(Memolith.memories)
    active_count = _async_engine_method(Memolith.active_count)
    consolidate = _async_engine_method(Memolith.consolidate)
    work = _async_engine_method(Memolith.work)
    drain = _async_engine_method(Memolith.drain)
    chat_model = _async_engine_method(Memolith.chat_model)
    summaries = _async_engine_method(Memolith.summaries)
    undo_consolidation = _async_engine_method(Memolith.undo_consolidation)
    compress = _async_engine_method(Memolith.compress)
    backlog = _async_engine_method(Memolith.backlog)
    usage = _async_engine_method(Memolith.usage)
    retry = _async_engine_method(Memolith.retry)
    context_with_results = _async_engine_method(Memolith.context_with_results)

    def export(self, *, owner: str) -> AsyncIterator[Record]:
        """Give what `OwnerMemory.export` gives."""
        return self.owner(owner).export()

    def ingest_stream(
        self, pieces: Iterable[str], *, owner: str, **options: Any
    ) -> AsyncIterator[IngestResult]:
        """Take in a text of any length; takes what `OwnerMemory.ingest_stream` takes."""
        return self.owner(owner).ingest_stream(pieces, **options)
