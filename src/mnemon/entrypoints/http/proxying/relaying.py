"""From a client's question to a model's reply, with the memory in between; and what becomes of it.

Nothing that happens to the memory costs the reply: what it can't do, or not in time, is left out,
counted, and logged without a word of what was said.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

import anyio.to_thread
from starlette.responses import Response, StreamingResponse

from mnemon.entrypoints.http.problems import Problem
from mnemon.entrypoints.http.proxying.afterwards import Afterwards
from mnemon.entrypoints.http.proxying.asking import told
from mnemon.entrypoints.http.proxying.hearing import Heard, Hearing, heard
from mnemon.entrypoints.http.proxying.remembering import (
    Recalled,
    Switch,
    Talk,
    learn,
    may_be_long,
    recalled,
    shortened,
)
from mnemon.entrypoints.http.proxying.upstreams import Answer
from mnemon.errors import MnemonError, ServiceFailed

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.types import Receive, Scope, Send

    from mnemon.engine import Mnemon
    from mnemon.entrypoints.http.metrics import Metrics
    from mnemon.entrypoints.http.proxying.asking import Ask
    from mnemon.entrypoints.http.proxying.upstreams import Upstream

T = TypeVar("T")

SESSION_HEADER: Final = "X-Mnemon-Session"
SWITCH_HEADER: Final = "X-Mnemon-Memory"
IDS_HEADER: Final = "X-Mnemon-Memories"
FAILED: Final = "failed"
"""What `SWITCH_HEADER` says of a reply for which the memory was to be asked, and failed."""

_IDS_TOLD: Final = 50
"""How many ids are told: of 36 characters each, some 2 kB, a quarter of what servers take."""

_WINDOW_SHARE: Final = 4
"""The memory has a quarter of the model's window at most: a guess."""

_OK: Final = 200

_log = logging.getLogger("mnemon.http.proxy")


@dataclass(frozen=True, slots=True)
class Proxying:
    """How a chat service remembers.

    Attributes:
        memory_timeout_s: How long the memory may keep a reply waiting.
        context_budget: How much it may tell the model, in tokens.
        compresses: Whether histories are made shorter that outgrow half of the window.
        window: What the model has room for, in tokens.
        models: The only models that may be asked for; none: any.
        is_on: Whether anything is remembered at all.
        threads: How many memories are looked into at once.
    """

    memory_timeout_s: float = 0.3
    context_budget: int = 2_000
    compresses: bool = True
    window: int = 8_192
    models: tuple[str, ...] = ()
    is_on: bool = True
    threads: int = 8


@dataclass(slots=True)
class Asked:
    """A request on its way.

    Attributes:
        ask: What the model is asked.
        recalled: What is remembered for it.
        failed: Whether the memory failed.
    """

    ask: Ask
    recalled: Recalled = field(default_factory=Recalled)
    failed: bool = False


class Proxy:
    """Asks a model for clients who don't know that it is told what is remembered of them."""

    def __init__(self, upstream: Upstream, how: Proxying, metrics: Metrics) -> None:
        """Ask this service, in this way, and count there what fails."""
        self._upstream = upstream
        self._how = how
        self._metrics = metrics
        self._pool = ThreadPoolExecutor(how.threads, thread_name_prefix="mnemon-recall")
        self._under_way: set[asyncio.Future[Any]] = set()
        self._shortening: set[tuple[str, str]] = set()
        self.afterwards = Afterwards(partial(self._fail, "learn"))

    async def chat(self, talk: Talk, ask: Ask) -> Response:
        """Return the reply of the model.

        Raises:
            Problem: The model may not be asked for.
            ServiceFailed: There is no reply.
        """
        if not self._how.is_on:
            talk = Talk(talk.memory, talk.session, talk.messages, Switch.OFF)
        asked = await self._remembering(talk, self._of_model(ask))
        async with AsyncExitStack() as open_:
            answer = await open_.enter_async_context(self._upstream.chat(asked.ask))
            headers = {**answer.headers, **_headers(talk, asked)}
            after = partial(self._after, talk, asked.ask) if answer.status == _OK else None
            if answer.pieces is None:
                said = heard(answer.body) if after else Heard()
                return Whole(answer, headers, partial(after, said) if after else None)
            first = await anext(answer.pieces, b"")
            return Relay(first, answer, headers, open_.pop_all(), after)
        raise AssertionError  # pragma: no cover - the context lets every error through

    async def models(self) -> Response:
        """Return the models that may be asked for.

        Raises:
            ServiceFailed: The service does not say.
        """
        if self._how.models:
            return _listed(self._how.models)
        answer = await self._upstream.models()
        return Response(answer.body, answer.status, dict(answer.headers))

    @asynccontextmanager
    async def running(self, engine: Mnemon, drain_s: float) -> AsyncIterator[None]:
        """Be ready, and at the end wait until what was said is learned, at most so long."""
        await anyio.to_thread.run_sync(_warm_up, engine)
        yield
        await anyio.to_thread.run_sync(self.afterwards.drain, drain_s)
        self.afterwards.close()
        self._pool.shutdown(wait=False, cancel_futures=True)
        await self._upstream.close()

    def _of_model(self, ask: Ask) -> Ask:
        allowed = self._how.models
        if not ask.model:
            return ask.with_model(self._upstream.model)
        if allowed and ask.model not in allowed:
            raise Problem(404, "that model may not be asked for: see GET /v1/models")
        return ask

    async def _remembering(self, talk: Talk, ask: Ask) -> Asked:
        """Return what the model is asked, with what is remembered in time."""
        if talk.switch is Switch.OFF:
            return Asked(ask)
        how = self._how
        compresses = how.compresses and talk.switch is Switch.ON
        is_long = compresses and may_be_long(talk.messages, how.window)
        budget = min(how.context_budget, how.window // _WINDOW_SHARE)
        recalling = self._in_time("recall", partial(self._recalled, talk, budget, is_long=is_long))
        if not is_long:
            found, history = await recalling, None
        else:
            found, history = await asyncio.gather(recalling, self._shortened(talk))
        messages = ask.messages if history is None else history
        text = "" if found is None else found.text
        return Asked(ask.saying(told(messages, text)), found or Recalled(), found is None)

    def _recalled(self, talk: Talk, budget: int, *, is_long: bool) -> Recalled:
        self.afterwards.wait(talk.memory.owner_id, self._how.memory_timeout_s)
        return recalled(talk, budget, is_long=is_long)

    async def _shortened(self, talk: Talk) -> tuple[Mapping[str, Any], ...] | None:
        """Return a shorter history; None: it is not ready, and will be for a later request."""
        name = (talk.memory.owner_id, talk.session)
        if name in self._shortening:
            return None
        self._shortening.add(name)

        def shorten() -> tuple[Mapping[str, Any], ...]:
            try:
                return shortened(talk, self._how.window)
            finally:
                self._shortening.discard(name)

        return await self._in_time(
            "compress", shorten, otherwise=lambda: self._shortening.discard(name)
        )

    async def _in_time(
        self, stage: str, call: Callable[[], T], otherwise: Callable[[], None] | None = None
    ) -> T | None:
        """Return what a call in another thread returns; None where it fails, or is too slow.

        A slow one goes on: what it stores is there for the next request.
        """
        if len(self._under_way) >= 4 * self._how.threads:
            if otherwise:
                otherwise()
            self._count(stage, "busy")
            return None
        future = asyncio.get_running_loop().run_in_executor(self._pool, call)
        self._under_way.add(future)
        future.add_done_callback(self._ended)
        done, _ = await asyncio.wait([future], timeout=self._how.memory_timeout_s)
        if not done:
            self._count(stage, "slow")
            return None
        error = future.exception()
        if error is not None:
            self._fail(stage, error)
            return None
        return future.result()

    def _ended(self, future: asyncio.Future[Any]) -> None:
        self._under_way.discard(future)
        if not future.cancelled():
            future.exception()  # it was told, or came too late to matter

    def _after(self, talk: Talk, ask: Ask, said: Heard) -> None:
        """Keep what was said, and learn from it."""
        if talk.switch is not Switch.ON:
            return
        if not ask.wants_one:
            said = Heard(is_whole=True)
        self.afterwards.put(talk.memory.owner_id, partial(learn, talk, said))

    def _fail(self, stage: str, error: BaseException) -> None:
        self._count(
            stage, type(error).__name__, str(error) if isinstance(error, MnemonError) else ""
        )

    def _count(self, stage: str, kind: str, told: str = "") -> None:
        self._metrics.memory_failures.labels(stage, kind).inc()
        _log.warning("a reply went on without its memory: %s: %s %s", stage, kind, told)


class Whole(Response):
    """A reply in one piece; something is done once it was sent, whatever became of the client."""

    def __init__(
        self, answer: Answer, headers: Mapping[str, str], after: Callable[[], None] | None
    ) -> None:
        """Send this, then do that."""
        super().__init__(answer.body, answer.status, dict(headers))
        self._after = after

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            if self._after is not None:
                self._after()


class Relay(StreamingResponse):
    """A reply in pieces, each sent on as it comes.

    Where the model breaks off, so does this: a connection that ends in the middle is what tells
    the client. Where the client leaves, the model is not heard to its end.
    """

    def __init__(
        self,
        first: bytes,
        answer: Answer,
        headers: Mapping[str, str],
        open_: AsyncExitStack,
        after: Callable[[Heard], None] | None,
    ) -> None:
        """Send these pieces, close the rest, then do something with what was said."""
        self._hearing = Hearing()
        self._open = open_
        self._after = after
        super().__init__(self._heard(first, answer), answer.status, dict(headers))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            if self._after is not None:
                self._after(self._hearing.reply())
            with anyio.CancelScope(shield=True):
                await self._open.aclose()

    async def stream_response(self, send: Send) -> None:
        """Send it, to its end or to where it breaks off."""
        start = {"type": "http.response.start", "status": self.status_code}
        await send({**start, "headers": self.raw_headers})
        try:
            async for piece in self.body_iterator:
                await send({"type": "http.response.body", "body": piece, "more_body": True})
        except ServiceFailed as error:
            _log.warning("a reply broke off: %s", error)
            return
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _heard(self, first: bytes, answer: Answer) -> AsyncIterator[bytes]:
        self._hearing.hear(first)
        yield first
        if answer.pieces is not None:
            async for piece in answer.pieces:
                self._hearing.hear(piece)
                yield piece


def _headers(talk: Talk, asked: Asked) -> dict[str, str]:
    """Return what a reply says of the memory."""
    state = FAILED if asked.failed else str(talk.switch)
    if talk.switch is Switch.OFF:
        return {SWITCH_HEADER: state}
    return {
        SWITCH_HEADER: state,
        SESSION_HEADER: talk.session,
        IDS_HEADER: ",".join(asked.recalled.ids[:_IDS_TOLD]),
    }


def _listed(models: tuple[str, ...]) -> Response:
    from starlette.responses import JSONResponse

    data = [{"id": name, "object": "model", "created": 0, "owned_by": "mnemon"} for name in models]
    return JSONResponse({"object": "list", "data": data})


def _warm_up(engine: Mnemon) -> None:
    """Load what a first recall loads: it would keep a reply waiting, or have to do without."""
    try:
        engine.owner("mnemon").recall("warm up", touch=False)
    except MnemonError as error:
        _log.warning("nothing can be recalled yet: %s", error)
