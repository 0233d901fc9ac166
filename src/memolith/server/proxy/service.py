"""Chat proxy: recalls memories, forwards the request, returns the reply and learns from it.

Memory errors never cost a reply. The proxy skips the failed step, counts it, and logs it without
user content.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

import anyio.to_thread
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from memolith.api.engine import Memolith
from memolith.errors import MemolithError, ServiceFailed
from memolith.server.auth import put_bounded
from memolith.server.problems import Problem
from memolith.server.proxy.background import (
    BackgroundQueue,
    BackgroundTask,
    DeadlineExceeded,
    DeadlinePool,
    completed_task,
)
from memolith.server.proxy.conversation import (
    ChatSession,
    MemoryMode,
    RecalledContext,
    compress_history,
    learn_exchange,
    may_exceed_window,
    recall_context,
)
from memolith.server.proxy.openai import (
    ChatRequest,
    ModelReply,
    ReplyAccumulator,
    Upstream,
    UpstreamResponse,
    add_system_text,
    parse_reply,
)

if TYPE_CHECKING:
    from memolith.server.metrics import Metrics

T = TypeVar("T")

StoreWaiter = Callable[[BackgroundTask], Awaitable[None]]
"""Starts storing an exchange and waits for it, if `durable` is set."""

SESSION_HEADER: Final = "X-Memolith-Session"
MODE_HEADER: Final = "X-Memolith-Memory"
MEMORIES_HEADER: Final = "X-Memolith-Memories"
MEMORY_FAILED: Final = "failed"
"""Value of `MODE_HEADER` if the memory failed."""

_MAX_HEADER_IDS: Final = 50
"""Maximum number of ids in a header: some 2 kB, a quarter of common limits for headers."""

_WINDOW_SHARE: Final = 4
"""Maximum share of the model's context window for memories. A guess."""

_COMPRESSION_THREADS: Final = 4
"""Number of concurrent compressions: the default of `chat.calls_at_once`."""

_OK: Final = 200

_log = logging.getLogger("memolith.http.proxy")


@dataclass(frozen=True, slots=True)
class ProxyOptions:
    """Options of the chat proxy.

    Attributes:
        memory_timeout_s: Maximum delay of a reply by the memory.
        context_budget: Maximum length of the injected text, in tokens.
        compress: Whether to compress histories that exceed half of the context window.
        context_window: The model's context window, in tokens.
        allowed_models: Models that clients may request; empty for any.
        is_enabled: Whether the memory is used at all.
        durable: Whether to end a reply only when the exchange is stored, within the timeout.
        threads: Number of concurrent recalls.
    """

    memory_timeout_s: float = 0.3
    context_budget: int = 2_000
    compress: bool = True
    context_window: int = 8_192
    allowed_models: tuple[str, ...] = ()
    is_enabled: bool = True
    durable: bool = True
    threads: int = 8


@dataclass(slots=True)
class PreparedRequest:
    """A request ready to be forwarded.

    Attributes:
        request: The request, with recalled memories.
        recalled: The recalled memories.
        is_memory_failed: Whether the memory failed.
    """

    request: ChatRequest
    recalled: RecalledContext = field(default_factory=RecalledContext)
    is_memory_failed: bool = False


class Proxy:
    """Transparent chat proxy that injects recalled memories."""

    def __init__(self, upstream: Upstream, options: ProxyOptions, metrics: Metrics) -> None:
        """Create a proxy of an upstream that counts failures in the metrics."""
        self._upstream = upstream
        self._options = options
        self._metrics = metrics
        self._compressing: set[tuple[str, str]] = set()
        self._skipped_sessions: OrderedDict[tuple[str, str], None] = OrderedDict()
        self._start_pools()

    async def chat(self, chat: ChatSession, request: ChatRequest) -> Response:
        """Return the model's reply.

        Raises:
            Problem: The requested model is not allowed.
            ServiceFailed: The upstream failed.
        """
        if not self._options.is_enabled:
            chat = ChatSession(chat.memory, chat.session, chat.messages, MemoryMode.OFF)
        asked = await self._prepare_request(chat, self._select_model(request))
        async with AsyncExitStack() as open_:
            answer = await open_.enter_async_context(self._upstream.chat(asked.request))
            headers = {**answer.headers, **_build_headers(chat, asked)}
            after = (
                partial(self._record_exchange, chat, asked.request)
                if answer.status == _OK
                else None
            )
            if answer.pieces is None:
                noted = after(parse_reply(answer.body)) if after else completed_task()
                return CompleteReply(answer, headers, noted, self._wait_until_stored)
            first = await anext(answer.pieces, b"")
            return StreamedReply(
                first, answer, headers, open_.pop_all(), after, self._wait_until_stored
            )
        raise AssertionError  # pragma: no cover - the context propagates every error

    async def models(self) -> Response:
        """Return the allowed models.

        Raises:
            ServiceFailed: The list is not available.
        """
        if self._options.allowed_models:
            return _build_models_response(self._options.allowed_models)
        answer = await self._upstream.models()
        return Response(answer.body, answer.status, dict(answer.headers))

    @asynccontextmanager
    async def running(self, engine: Memolith, drain_s: float) -> AsyncIterator[None]:
        """Run the proxy; at the end, wait up to a timeout until all exchanges are stored."""
        await anyio.to_thread.run_sync(_warm_up_recall, engine)
        yield
        if not await anyio.to_thread.run_sync(self.afterwards.drain, drain_s):
            _log.warning("some exchanges could not be stored before the shutdown timeout")
        self.afterwards.close()
        self._recall_pool.close()
        self._compression_pool.close()
        await self._upstream.close()
        self._start_pools()  # it may be started again

    def _start_pools(self) -> None:
        """Create the thread pools; their threads start with the first call."""
        how = self._options
        self.afterwards = BackgroundQueue(
            partial(self._report_failure, "learn"),
            on_pending_change=self._metrics.pending_exchanges.inc,
        )
        self._recall_pool = DeadlinePool(
            "memolith-recall", threads=how.threads, timeout_s=how.memory_timeout_s
        )
        self._compression_pool = DeadlinePool(
            "memolith-shorten", threads=_COMPRESSION_THREADS, timeout_s=how.memory_timeout_s
        )

    def _select_model(self, request: ChatRequest) -> ChatRequest:
        allowed = self._options.allowed_models
        if not request.model:
            return request.with_model(self._upstream.model)
        if allowed and request.model not in allowed:
            raise Problem(404, "the model is not allowed; see GET /v1/models")
        return request.with_model(request.model) if allowed else request

    async def _prepare_request(self, chat: ChatSession, request: ChatRequest) -> PreparedRequest:
        """Return the request to forward, with memories recalled in time."""
        if chat.mode is MemoryMode.OFF:
            return PreparedRequest(request)
        how = self._options
        may_shorten = how.compress and chat.mode is MemoryMode.ON
        is_long = may_shorten and may_exceed_window(chat.messages, how.context_window)
        found, history = await asyncio.gather(
            self._recall(chat, is_long=is_long), self._compress(chat, is_long=is_long)
        )
        messages = request.messages if history is None else history
        text = "" if found is None else found.text
        return PreparedRequest(
            request.with_messages(add_system_text(messages, text)),
            found or RecalledContext(),
            found is None,
        )

    async def _recall(self, chat: ChatSession, *, is_long: bool) -> RecalledContext | None:
        """Return recalled memories; None if recall failed."""
        how = self._options
        budget = min(how.context_budget, how.context_window // _WINDOW_SHARE)

        def recall() -> RecalledContext:
            self.afterwards.wait(chat.memory.owner_id, how.memory_timeout_s)
            return recall_context(chat, budget, is_long=is_long)

        return await self._call_in_time("recall", self._recall_pool, recall)

    async def _compress(
        self, chat: ChatSession, *, is_long: bool
    ) -> tuple[Mapping[str, Any], ...] | None:
        """Return a compressed history; None if there is none, or not in time."""
        name = (chat.memory.owner_id, chat.session)
        if not is_long or name in self._compressing:
            return None
        self._compressing.add(name)
        begun = False

        def shorten() -> tuple[Mapping[str, Any], ...]:
            nonlocal begun
            begun = True
            try:
                return compress_history(chat, self._options.context_window)
            finally:
                self._compressing.discard(name)

        try:
            return await self._call_in_time("compress", self._compression_pool, shorten)
        finally:
            if not begun:
                self._compressing.discard(name)

    async def _call_in_time(
        self, stage: str, pool: DeadlinePool, call: Callable[[], T]
    ) -> T | None:
        """Return the result of a call on another thread; None if it fails or is too slow."""
        try:
            return await pool.call(call)
        except DeadlineExceeded as late:
            self._count_failure(stage, late.kind)
        except Exception as error:  # noqa: BLE001 - the reply must be sent whatever fails
            self._report_failure(stage, error)
        return None

    async def _wait_until_stored(self, task: BackgroundTask) -> None:
        """Start storing an exchange; with `durable`, wait for it up to the timeout."""
        if self._options.durable:
            task.start()
            tried = asyncio.wrap_future(task.first_attempt)
            await asyncio.wait([tried], timeout=self._options.memory_timeout_s)

    def _record_exchange(
        self, chat: ChatSession, request: ChatRequest, reply: ModelReply
    ) -> BackgroundTask:
        """Queue an exchange to be stored and learned from."""
        name = (chat.memory.owner_id, chat.session)
        if chat.mode is not MemoryMode.ON:
            put_bounded(self._skipped_sessions, name, None)
            return completed_task()
        if not request.has_single_choice:
            reply = ModelReply(is_complete=True)
        is_begun = name in self._skipped_sessions
        job = partial(learn_exchange, chat, reply, has_earlier_messages=is_begun)
        return self.afterwards.submit(chat.memory.owner_id, job)

    def _report_failure(self, stage: str, error: BaseException) -> None:
        self._count_failure(
            stage, type(error).__name__, str(error) if isinstance(error, MemolithError) else ""
        )

    def _count_failure(self, stage: str, kind: str, detail: str = "") -> None:
        self._metrics.memory_failures.labels(stage, kind).inc()
        what = f"{kind}: {detail}" if detail else kind
        _log.warning("memory failed, continuing without it: %s: %s", stage, what)


class CompleteReply(Response):
    """A reply that is not streamed; the exchange is stored at the latest after sending it."""

    def __init__(
        self,
        answer: UpstreamResponse,
        headers: Mapping[str, str],
        task: BackgroundTask,
        wait_until_stored: StoreWaiter,
    ) -> None:
        """Create the response; with `durable`, it waits until the exchange is stored."""
        super().__init__(answer.body, answer.status, dict(headers))
        self._task = task
        self._wait_until_stored = wait_until_stored

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the response."""
        try:
            await self._wait_until_stored(self._task)
            await super().__call__(scope, receive, send)
        finally:
            self._task.start()


class StreamedReply(StreamingResponse):
    """A streamed reply, passed on as it arrives.

    If the upstream breaks the stream, so does this response: the client sees a connection that ends
    in the middle. If the client disconnects, the rest of the reply is not read.
    """

    def __init__(
        self,
        first: bytes,
        answer: UpstreamResponse,
        headers: Mapping[str, str],
        open_: AsyncExitStack,
        record_exchange: Callable[[ModelReply], BackgroundTask] | None,
        wait_until_stored: StoreWaiter,
    ) -> None:
        """Create the response, which closes the upstream and records the exchange at its end.

        The exchange is queued, and mostly stored, before the last chunk is sent. The client's next
        request waits for it.
        """
        self._accumulator = ReplyAccumulator()
        self._open = open_
        self._record_exchange = record_exchange
        self._wait_until_stored = wait_until_stored
        self._task = completed_task()
        super().__init__(self._iterate_pieces(first, answer), answer.status, dict(headers))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the response."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._record()
            self._task.start()
            with anyio.CancelScope(shield=True):
                await self._open.aclose()

    async def stream_response(self, send: Send) -> None:
        """Send the chunks, to their end or until the upstream breaks the stream."""
        start = {"type": "http.response.start", "status": self.status_code}
        await send({**start, "headers": self.raw_headers})
        try:
            async for piece in self.body_iterator:
                await send({"type": "http.response.body", "body": piece, "more_body": True})
        except ServiceFailed as error:
            _log.warning("the upstream broke a streamed reply: %s", error)
            return
        await self._finish()
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _iterate_pieces(self, first: bytes, answer: UpstreamResponse) -> AsyncIterator[bytes]:
        yield await self._accumulate(first)
        if answer.pieces is not None:
            async for piece in answer.pieces:
                yield await self._accumulate(piece)

    async def _accumulate(self, piece: bytes) -> bytes:
        self._accumulator.feed(piece)
        if self._accumulator.is_done:
            await self._finish()
        return piece

    async def _finish(self) -> None:
        if self._record():
            await self._wait_until_stored(self._task)

    def _record(self) -> bool:
        """Record the exchange; return False if it was recorded before."""
        after, self._record_exchange = self._record_exchange, None
        if after is not None:
            self._task = after(self._accumulator.reply())
        return after is not None


def _build_headers(chat: ChatSession, prepared: PreparedRequest) -> dict[str, str]:
    """Return the headers that describe the use of the memory."""
    state = MEMORY_FAILED if prepared.is_memory_failed else str(chat.mode)
    if chat.mode is MemoryMode.OFF:
        return {MODE_HEADER: state}
    return {
        MODE_HEADER: state,
        SESSION_HEADER: chat.session,
        MEMORIES_HEADER: ",".join(prepared.recalled.ids[:_MAX_HEADER_IDS]),
    }


def _build_models_response(models: tuple[str, ...]) -> Response:
    from starlette.responses import JSONResponse

    data = [
        {"id": name, "object": "model", "created": 0, "owned_by": "memolith"} for name in models
    ]
    return JSONResponse({"object": "list", "data": data})


def _warm_up_recall(engine: Memolith) -> None:
    """Load everything that the first recall needs; otherwise it could miss its deadline."""
    try:
        engine.owner("memolith").recall("warm up", touch=False)
    except MemolithError as error:
        _log.warning("warm-up recall failed: %s", error)
