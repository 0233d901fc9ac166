"""`AsyncMemolith`: the same methods, awaitable; one thin wrapper over the synchronous core."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from functools import partial, wraps
from itertools import islice
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from memolith.client import TIMEOUT_S, URL
from memolith.engine import Memolith
from memolith.errors import StoreUnavailable
from memolith.owner import OwnerMemory

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Iterator
    from types import TracebackType
    from typing import Self

    from memolith.domain.ingestion import Ingested
    from memolith.exchange.records import Record
    from memolith.ports.backups import Restored
    from memolith.services.migrate import Migrated
    from memolith.services.reembed import Reembedded

P = ParamSpec("P")
R = TypeVar("R")

_BATCH = 256

_THREADS = 8
"""Worker threads: a recall computes on one core, a write waits for the disk. A guess."""


def _on_engine(
    method: Callable[Concatenate[Memolith, P], R],
) -> Callable[Concatenate[AsyncMemolith, P], Coroutine[Any, Any, R]]:
    @wraps(method)
    async def call(self: AsyncMemolith, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return await self._run(partial(method, self._engine, *args, **kwargs))

    return call


def _on_owner(
    method: Callable[Concatenate[OwnerMemory, P], R],
) -> Callable[Concatenate[AsyncOwnerMemory, P], Coroutine[Any, Any, R]]:
    @wraps(method)
    async def call(self: AsyncOwnerMemory, /, *args: P.args, **kwargs: P.kwargs) -> R:
        result: R = await self._run(partial(method, self._memory, *args, **kwargs))
        return result

    return call


async def _in_batches(
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

    remember = _on_owner(OwnerMemory.remember)
    learn = _on_owner(OwnerMemory.learn)
    log = _on_owner(OwnerMemory.log)
    end_session = _on_owner(OwnerMemory.end_session)
    ingest = _on_owner(OwnerMemory.ingest)
    recall = _on_owner(OwnerMemory.recall)
    context = _on_owner(OwnerMemory.context)
    get = _on_owner(OwnerMemory.get)
    message = _on_owner(OwnerMemory.message)
    messages = _on_owner(OwnerMemory.messages)
    sessions = _on_owner(OwnerMemory.sessions)
    list = _on_owner(OwnerMemory.list)
    update = _on_owner(OwnerMemory.update)
    supersede = _on_owner(OwnerMemory.supersede)
    forget = _on_owner(OwnerMemory.forget)
    purge = _on_owner(OwnerMemory.purge)
    restore = _on_owner(OwnerMemory.restore)
    review = _on_owner(OwnerMemory.review)
    approve = _on_owner(OwnerMemory.approve)
    reject = _on_owner(OwnerMemory.reject)
    history = _on_owner(OwnerMemory.history)
    stats = _on_owner(OwnerMemory.stats)
    audit = _on_owner(OwnerMemory.audit)
    import_ = _on_owner(OwnerMemory.import_)
    profile = _on_owner(OwnerMemory.profile)
    switch_profile = _on_owner(OwnerMemory.switch_profile)
    recent = _on_owner(OwnerMemory.recent)
    base_memory = _on_owner(OwnerMemory.base_memory)
    base_memory_versions = _on_owner(OwnerMemory.base_memory_versions)
    set_base_memory = _on_owner(OwnerMemory.set_base_memory)
    roll_back_base_memory = _on_owner(OwnerMemory.roll_back_base_memory)
    kind_like = _on_owner(OwnerMemory.kind_like)
    store_fact = _on_owner(OwnerMemory.store_fact)
    store_preference = _on_owner(OwnerMemory.store_preference)
    store_correction = _on_owner(OwnerMemory.store_correction)
    search = _on_owner(OwnerMemory.search)
    hybrid_search = _on_owner(OwnerMemory.hybrid_search)
    retrieve_context = _on_owner(OwnerMemory.retrieve_context)
    process_exchange = _on_owner(OwnerMemory.process_exchange)
    memories = _on_owner(OwnerMemory.memories)
    active_count = _on_owner(OwnerMemory.active_count)
    summaries = _on_owner(OwnerMemory.summaries)
    undo_consolidation = _on_owner(OwnerMemory.undo_consolidation)
    compress = _on_owner(OwnerMemory.compress)
    backlog = _on_owner(OwnerMemory.backlog)
    usage = _on_owner(OwnerMemory.usage)
    retry = _on_owner(OwnerMemory.retry)
    context_with_results = _on_owner(OwnerMemory.context_with_results)

    def export(self) -> AsyncIterator[Record]:
        """Give what `OwnerMemory.export` gives."""
        return _in_batches(self._run, self._memory.export, _BATCH)

    def ingest_stream(self, pieces: Iterable[str], **options: Any) -> AsyncIterator[Ingested]:
        """Take in a text of any length; takes what `OwnerMemory.ingest_stream` takes."""
        return _in_batches(self._run, lambda: self._memory.ingest_stream(pieces, **options), 1)


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
    async def restore_backup(cls, *args: Any, **options: Any) -> Restored:
        """Put a backup in a store's place; takes what `Memolith.restore_backup` takes."""
        return await asyncio.to_thread(partial(Memolith.restore_backup, *args, **options))

    @classmethod
    async def migrate(cls, *args: Any, **options: Any) -> Migrated:
        """Move a store into another database; takes what `Memolith.migrate` takes."""
        return await asyncio.to_thread(partial(Memolith.migrate, *args, **options))

    @classmethod
    async def reembed(cls, *args: Any, **options: Any) -> Reembedded:
        """Make all vectors of a store anew; takes what `Memolith.reembed` takes."""
        return await asyncio.to_thread(partial(Memolith.reembed, *args, **options))

    @classmethod
    async def abandon_reembed(cls, *args: Any, **options: Any) -> bool:
        """Give up making vectors anew; takes what `Memolith.abandon_reembed` takes."""
        return await asyncio.to_thread(partial(Memolith.abandon_reembed, *args, **options))

    @classmethod
    async def connect(
        cls, url: str = URL, *, key: str | None = None, timeout_s: float = TIMEOUT_S
    ) -> AsyncMemolith:
        """Connect to a Memolith service without threads; see `Memolith.connect`.

        It is of the event loop in which it is first used.
        """
        from memolith.remote import AsyncRemoteMemolith, async_connection

        return AsyncRemoteMemolith(async_connection(url, key, timeout_s))

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

    owners = _on_engine(Memolith.owners)
    erase = _on_engine(Memolith.erase)
    rotate_key = _on_engine(Memolith.rotate_key)
    readmit = _on_engine(Memolith.readmit)
    create_api_key = _on_engine(Memolith.create_api_key)
    api_keys = _on_engine(Memolith.api_keys)
    known_api_key = _on_engine(Memolith.known_api_key)
    revoke_api_key = _on_engine(Memolith.revoke_api_key)
    backup = _on_engine(Memolith.backup)
    verify = _on_engine(Memolith.verify)
    flush = _on_engine(Memolith.flush)
    remember = _on_engine(Memolith.remember)
    learn = _on_engine(Memolith.learn)
    log = _on_engine(Memolith.log)
    end_session = _on_engine(Memolith.end_session)
    ingest = _on_engine(Memolith.ingest)
    recall = _on_engine(Memolith.recall)
    context = _on_engine(Memolith.context)
    get = _on_engine(Memolith.get)
    message = _on_engine(Memolith.message)
    messages = _on_engine(Memolith.messages)
    sessions = _on_engine(Memolith.sessions)
    list = _on_engine(Memolith.list)
    update = _on_engine(Memolith.update)
    supersede = _on_engine(Memolith.supersede)
    forget = _on_engine(Memolith.forget)
    purge = _on_engine(Memolith.purge)
    restore = _on_engine(Memolith.restore)
    review = _on_engine(Memolith.review)
    approve = _on_engine(Memolith.approve)
    reject = _on_engine(Memolith.reject)
    history = _on_engine(Memolith.history)
    stats = _on_engine(Memolith.stats)
    audit = _on_engine(Memolith.audit)
    import_ = _on_engine(Memolith.import_)
    profile = _on_engine(Memolith.profile)
    switch_profile = _on_engine(Memolith.switch_profile)
    recent = _on_engine(Memolith.recent)
    base_memory = _on_engine(Memolith.base_memory)
    base_memory_versions = _on_engine(Memolith.base_memory_versions)
    set_base_memory = _on_engine(Memolith.set_base_memory)
    roll_back_base_memory = _on_engine(Memolith.roll_back_base_memory)
    apply_decay = _on_engine(Memolith.apply_decay)
    cleanup = _on_engine(Memolith.cleanup)
    expire = _on_engine(Memolith.expire)
    profiles = _on_engine(Memolith.profiles)
    retain = _on_engine(Memolith.retain)
    run_jobs = _on_engine(Memolith.run_jobs)
    kind_like = _on_engine(Memolith.kind_like)
    store_fact = _on_engine(Memolith.store_fact)
    store_preference = _on_engine(Memolith.store_preference)
    store_correction = _on_engine(Memolith.store_correction)
    search = _on_engine(Memolith.search)
    hybrid_search = _on_engine(Memolith.hybrid_search)
    retrieve_context = _on_engine(Memolith.retrieve_context)
    process_exchange = _on_engine(Memolith.process_exchange)
    memories = _on_engine(Memolith.memories)
    active_count = _on_engine(Memolith.active_count)
    consolidate = _on_engine(Memolith.consolidate)
    work = _on_engine(Memolith.work)
    drain = _on_engine(Memolith.drain)
    chat_model = _on_engine(Memolith.chat_model)
    summaries = _on_engine(Memolith.summaries)
    undo_consolidation = _on_engine(Memolith.undo_consolidation)
    compress = _on_engine(Memolith.compress)
    backlog = _on_engine(Memolith.backlog)
    usage = _on_engine(Memolith.usage)
    retry = _on_engine(Memolith.retry)
    context_with_results = _on_engine(Memolith.context_with_results)

    def export(self, *, owner: str) -> AsyncIterator[Record]:
        """Give what `OwnerMemory.export` gives."""
        return self.owner(owner).export()

    def ingest_stream(
        self, pieces: Iterable[str], *, owner: str, **options: Any
    ) -> AsyncIterator[Ingested]:
        """Take in a text of any length; takes what `OwnerMemory.ingest_stream` takes."""
        return self.owner(owner).ingest_stream(pieces, **options)
