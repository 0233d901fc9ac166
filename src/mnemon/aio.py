"""`AsyncMnemon`: the same methods, awaitable; one thin wrapper over the synchronous core."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from functools import partial, wraps
from itertools import islice
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from mnemon.client import TIMEOUT_S, URL
from mnemon.engine import Mnemon
from mnemon.errors import StoreUnavailable
from mnemon.owner import OwnerMemory

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Iterator
    from types import TracebackType
    from typing import Self

    from mnemon.domain.ingestion import Ingested
    from mnemon.exchange.records import Record
    from mnemon.ports.backups import Restored
    from mnemon.services.migrate import Migrated
    from mnemon.services.reembed import Reembedded

P = ParamSpec("P")
R = TypeVar("R")

_BATCH = 256

_THREADS = 8
"""Worker threads: a recall computes on one core, a write waits for the disk. A guess."""


def _on_engine(
    method: Callable[Concatenate[Mnemon, P], R],
) -> Callable[Concatenate[AsyncMnemon, P], Coroutine[Any, Any, R]]:
    @wraps(method)
    async def call(self: AsyncMnemon, /, *args: P.args, **kwargs: P.kwargs) -> R:
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
        """Use `AsyncMnemon.owner` to make one."""
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


class AsyncMnemon:
    """Persistent memory for asynchronous code: `Mnemon` on worker threads.

    Never blocks the event loop. A call that is cancelled goes on to its end in its thread.
    """

    def __init__(self, engine: Mnemon) -> None:
        """Wrap an open `Mnemon`; closing this closes it."""
        self._engine = engine
        self._is_closed = False
        self._executor = ThreadPoolExecutor(_THREADS, thread_name_prefix="mnemon")

    @classmethod
    async def open(cls, *args: Any, **options: Any) -> Self:
        """Open a store; takes what `Mnemon.open` takes."""
        return cls(await asyncio.to_thread(partial(Mnemon.open, *args, **options)))

    @classmethod
    async def restore_backup(cls, *args: Any, **options: Any) -> Restored:
        """Put a backup in a store's place; takes what `Mnemon.restore_backup` takes."""
        return await asyncio.to_thread(partial(Mnemon.restore_backup, *args, **options))

    @classmethod
    async def migrate(cls, *args: Any, **options: Any) -> Migrated:
        """Move a store into another database; takes what `Mnemon.migrate` takes."""
        return await asyncio.to_thread(partial(Mnemon.migrate, *args, **options))

    @classmethod
    async def reembed(cls, *args: Any, **options: Any) -> Reembedded:
        """Make all vectors of a store anew; takes what `Mnemon.reembed` takes."""
        return await asyncio.to_thread(partial(Mnemon.reembed, *args, **options))

    @classmethod
    async def abandon_reembed(cls, *args: Any, **options: Any) -> bool:
        """Give up making vectors anew; takes what `Mnemon.abandon_reembed` takes."""
        return await asyncio.to_thread(partial(Mnemon.abandon_reembed, *args, **options))

    @classmethod
    async def connect(
        cls, url: str = URL, *, key: str | None = None, timeout_s: float = TIMEOUT_S
    ) -> AsyncMnemon:
        """Reach the memory of a service as if it were here, without threads; see `Mnemon.connect`.

        It is of the event loop in which it is first used.
        """
        from mnemon.remote import AsyncRemoteMnemon, async_connection

        return AsyncRemoteMnemon(async_connection(url, key, timeout_s))

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

    owners = _on_engine(Mnemon.owners)
    erase = _on_engine(Mnemon.erase)
    rotate_key = _on_engine(Mnemon.rotate_key)
    readmit = _on_engine(Mnemon.readmit)
    create_api_key = _on_engine(Mnemon.create_api_key)
    api_keys = _on_engine(Mnemon.api_keys)
    known_api_key = _on_engine(Mnemon.known_api_key)
    revoke_api_key = _on_engine(Mnemon.revoke_api_key)
    backup = _on_engine(Mnemon.backup)
    verify = _on_engine(Mnemon.verify)
    flush = _on_engine(Mnemon.flush)
    remember = _on_engine(Mnemon.remember)
    learn = _on_engine(Mnemon.learn)
    log = _on_engine(Mnemon.log)
    end_session = _on_engine(Mnemon.end_session)
    ingest = _on_engine(Mnemon.ingest)
    recall = _on_engine(Mnemon.recall)
    context = _on_engine(Mnemon.context)
    get = _on_engine(Mnemon.get)
    message = _on_engine(Mnemon.message)
    messages = _on_engine(Mnemon.messages)
    sessions = _on_engine(Mnemon.sessions)
    list = _on_engine(Mnemon.list)
    update = _on_engine(Mnemon.update)
    supersede = _on_engine(Mnemon.supersede)
    forget = _on_engine(Mnemon.forget)
    purge = _on_engine(Mnemon.purge)
    restore = _on_engine(Mnemon.restore)
    review = _on_engine(Mnemon.review)
    approve = _on_engine(Mnemon.approve)
    reject = _on_engine(Mnemon.reject)
    history = _on_engine(Mnemon.history)
    stats = _on_engine(Mnemon.stats)
    audit = _on_engine(Mnemon.audit)
    import_ = _on_engine(Mnemon.import_)
    profile = _on_engine(Mnemon.profile)
    switch_profile = _on_engine(Mnemon.switch_profile)
    recent = _on_engine(Mnemon.recent)
    base_memory = _on_engine(Mnemon.base_memory)
    base_memory_versions = _on_engine(Mnemon.base_memory_versions)
    set_base_memory = _on_engine(Mnemon.set_base_memory)
    roll_back_base_memory = _on_engine(Mnemon.roll_back_base_memory)
    apply_decay = _on_engine(Mnemon.apply_decay)
    cleanup = _on_engine(Mnemon.cleanup)
    expire = _on_engine(Mnemon.expire)
    profiles = _on_engine(Mnemon.profiles)
    retain = _on_engine(Mnemon.retain)
    run_jobs = _on_engine(Mnemon.run_jobs)
    kind_like = _on_engine(Mnemon.kind_like)
    store_fact = _on_engine(Mnemon.store_fact)
    store_preference = _on_engine(Mnemon.store_preference)
    store_correction = _on_engine(Mnemon.store_correction)
    search = _on_engine(Mnemon.search)
    hybrid_search = _on_engine(Mnemon.hybrid_search)
    retrieve_context = _on_engine(Mnemon.retrieve_context)
    process_exchange = _on_engine(Mnemon.process_exchange)
    memories = _on_engine(Mnemon.memories)
    active_count = _on_engine(Mnemon.active_count)
    consolidate = _on_engine(Mnemon.consolidate)
    work = _on_engine(Mnemon.work)
    drain = _on_engine(Mnemon.drain)
    chat_model = _on_engine(Mnemon.chat_model)
    summaries = _on_engine(Mnemon.summaries)
    undo_consolidation = _on_engine(Mnemon.undo_consolidation)
    compress = _on_engine(Mnemon.compress)
    backlog = _on_engine(Mnemon.backlog)
    usage = _on_engine(Mnemon.usage)
    retry = _on_engine(Mnemon.retry)
    context_with_results = _on_engine(Mnemon.context_with_results)

    def export(self, *, owner: str) -> AsyncIterator[Record]:
        """Give what `OwnerMemory.export` gives."""
        return self.owner(owner).export()

    def ingest_stream(
        self, pieces: Iterable[str], *, owner: str, **options: Any
    ) -> AsyncIterator[Ingested]:
        """Take in a text of any length; takes what `OwnerMemory.ingest_stream` takes."""
        return self.owner(owner).ingest_stream(pieces, **options)
