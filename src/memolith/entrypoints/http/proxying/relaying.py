"""From a client's question to a model's reply, with the memory in between; and what becomes of it.

Nothing that happens to the memory costs the reply: what it can't do, or not in time, is left out,
counted, and logged without a word of what was said.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

import anyio.to_thread
from starlette.responses import Response, StreamingResponse

from memolith.entrypoints.http.lately import keep
from memolith.entrypoints.http.problems import Problem
from memolith.entrypoints.http.proxying.afterwards import Afterwards, Noted, nothing
from memolith.entrypoints.http.proxying.asking import told
from memolith.entrypoints.http.proxying.hearing import Heard, Hearing, heard
from memolith.entrypoints.http.proxying.remembering import (
    Recalled,
    Switch,
    Talk,
    learn,
    may_be_long,
    recalled,
    shortened,
)
from memolith.entrypoints.http.proxying.timely import Timely, TooLate
from memolith.entrypoints.http.proxying.upstreams import Answer
from memolith.errors import MemolithError, ServiceFailed

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.types import Receive, Scope, Send

    from memolith.engine import Memolith
    from memolith.entrypoints.http.metrics import Metrics
    from memolith.entrypoints.http.proxying.asking import Ask
    from memolith.entrypoints.http.proxying.upstreams import Upstream

T = TypeVar("T")

Keeping = Callable[[Noted], Awaitable[None]]
"""Waits until what was noted is kept, where it is to be waited for."""

SESSION_HEADER: Final = "X-Memolith-Session"
SWITCH_HEADER: Final = "X-Memolith-Memory"
IDS_HEADER: Final = "X-Memolith-Memories"
FAILED: Final = "failed"
"""What `SWITCH_HEADER` says of a reply for which the memory was to be asked, and failed."""

_IDS_TOLD: Final = 50
"""How many ids are told: of 36 characters each, some 2 kB, a quarter of what servers take."""

_WINDOW_SHARE: Final = 4
"""The memory has a quarter of the model's window at most: a guess."""

_SHORTENED_AT_ONCE: Final = 4
"""How many histories are made shorter at once: as many as a model is asked, where it is not said
otherwise (`chat.calls_at_once`)."""

_OK: Final = 200

_log = logging.getLogger("memolith.http.proxy")


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
        durable: Whether a reply ends only when it is kept, if that does not take too long.
        threads: How many memories are looked into at once.
    """

    memory_timeout_s: float = 0.3
    context_budget: int = 2_000
    compresses: bool = True
    window: int = 8_192
    models: tuple[str, ...] = ()
    is_on: bool = True
    durable: bool = True
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
        self._under_way: set[tuple[str, str]] = set()
        self._passed_by: OrderedDict[tuple[str, str], None] = OrderedDict()
        self._employ()

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
                noted = after(heard(answer.body)) if after else nothing()
                return Whole(answer, headers, noted, self._kept)
            first = await anext(answer.pieces, b"")
            return Relay(first, answer, headers, open_.pop_all(), after, self._kept)
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
    async def running(self, engine: Memolith, drain_s: float) -> AsyncIterator[None]:
        """Be ready, and at the end wait until what was said is learned, at most so long."""
        await anyio.to_thread.run_sync(_warm_up, engine)
        yield
        if not await anyio.to_thread.run_sync(self.afterwards.drain, drain_s):
            _log.warning("not all that was said could be kept in time")
        self.afterwards.close()
        self._recalling.close()
        self._shortening.close()
        await self._upstream.close()
        self._employ()  # it may be run again

    def _employ(self) -> None:
        """Have threads, none of which begins before there is something to do."""
        how = self._how
        self.afterwards = Afterwards(
            partial(self._fail, "learn"), told=self._metrics.replies_waiting.inc
        )
        self._recalling = Timely(
            "memolith-recall", threads=how.threads, timeout_s=how.memory_timeout_s
        )
        self._shortening = Timely(
            "memolith-shorten", threads=_SHORTENED_AT_ONCE, timeout_s=how.memory_timeout_s
        )

    def _of_model(self, ask: Ask) -> Ask:
        allowed = self._how.models
        if not ask.model:
            return ask.with_model(self._upstream.model)
        if allowed and ask.model not in allowed:
            raise Problem(404, "that model may not be asked for: see GET /v1/models")
        return ask.with_model(ask.model) if allowed else ask

    async def _remembering(self, talk: Talk, ask: Ask) -> Asked:
        """Return what the model is asked, with what is remembered in time."""
        if talk.switch is Switch.OFF:
            return Asked(ask)
        how = self._how
        may_shorten = how.compresses and talk.switch is Switch.ON
        is_long = may_shorten and may_be_long(talk.messages, how.window)
        found, history = await asyncio.gather(
            self._recalled(talk, is_long=is_long), self._shortened(talk, is_long=is_long)
        )
        messages = ask.messages if history is None else history
        text = "" if found is None else found.text
        return Asked(ask.saying(told(messages, text)), found or Recalled(), found is None)

    async def _recalled(self, talk: Talk, *, is_long: bool) -> Recalled | None:
        """Return what is remembered; None: it failed."""
        how = self._how
        budget = min(how.context_budget, how.window // _WINDOW_SHARE)

        def recall() -> Recalled:
            self.afterwards.wait(talk.memory.owner_id, how.memory_timeout_s)
            return recalled(talk, budget, is_long=is_long)

        return await self._in_time("recall", self._recalling, recall)

    async def _shortened(
        self, talk: Talk, *, is_long: bool
    ) -> tuple[Mapping[str, Any], ...] | None:
        """Return a shorter history; None: there is none, or not yet, but for a later request."""
        name = (talk.memory.owner_id, talk.session)
        if not is_long or name in self._under_way:
            return None
        self._under_way.add(name)
        begun = False

        def shorten() -> tuple[Mapping[str, Any], ...]:
            nonlocal begun
            begun = True
            try:
                return shortened(talk, self._how.window)
            finally:
                self._under_way.discard(name)

        try:
            return await self._in_time("compress", self._shortening, shorten)
        finally:
            if not begun:
                self._under_way.discard(name)

    async def _in_time(self, stage: str, calls: Timely, call: Callable[[], T]) -> T | None:
        """Return what a call in another thread returns; None where it fails, or is too slow."""
        try:
            return await calls.call(call)
        except TooLate as late:
            self._count(stage, late.kind)
        except Exception as error:  # noqa: BLE001 - whatever fails, the reply comes
            self._fail(stage, error)
        return None

    async def _kept(self, noted: Noted) -> None:
        """Begin to keep what was said, and wait for it, where replies do; not for longer."""
        if self._how.durable:
            noted.begin()
            tried = asyncio.wrap_future(noted.tried)
            await asyncio.wait([tried], timeout=self._how.memory_timeout_s)

    def _after(self, talk: Talk, ask: Ask, said: Heard) -> Noted:
        """Note what was said, to be kept and learned from."""
        name = (talk.memory.owner_id, talk.session)
        if talk.switch is not Switch.ON:
            keep(self._passed_by, name, None)
            return nothing()
        if not ask.wants_one:
            said = Heard(is_whole=True)
        is_begun = name in self._passed_by
        job = partial(learn, talk, said, is_begun=is_begun)
        return self.afterwards.put(talk.memory.owner_id, job)

    def _fail(self, stage: str, error: BaseException) -> None:
        self._count(
            stage, type(error).__name__, str(error) if isinstance(error, MemolithError) else ""
        )

    def _count(self, stage: str, kind: str, told: str = "") -> None:
        self._metrics.memory_failures.labels(stage, kind).inc()
        what = f"{kind}: {told}" if told else kind
        _log.warning("a reply went on without its memory: %s: %s", stage, what)


class Whole(Response):
    """A reply in one piece; what is noted is begun at the latest once it was sent, or failed to."""

    def __init__(
        self, answer: Answer, headers: Mapping[str, str], noted: Noted, kept: Keeping
    ) -> None:
        """Send this, when that was kept."""
        super().__init__(answer.body, answer.status, dict(headers))
        self._noted = noted
        self._kept = kept

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        try:
            await self._kept(self._noted)
            await super().__call__(scope, receive, send)
        finally:
            self._noted.begin()


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
        after: Callable[[Heard], Noted] | None,
        kept: Keeping,
    ) -> None:
        """Send these pieces, close the rest, and do something with what was said.

        It is noted, and mostly kept, before its end is sent, so that who asks again waits for it.
        """
        self._hearing = Hearing()
        self._open = open_
        self._after = after
        self._kept = kept
        self._noted = nothing()
        super().__init__(self._heard(first, answer), answer.status, dict(headers))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._note()
            self._noted.begin()
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
        await self._end()
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _heard(self, first: bytes, answer: Answer) -> AsyncIterator[bytes]:
        yield await self._hear(first)
        if answer.pieces is not None:
            async for piece in answer.pieces:
                yield await self._hear(piece)

    async def _hear(self, piece: bytes) -> bytes:
        self._hearing.hear(piece)
        if self._hearing.is_done:
            await self._end()
        return piece

    async def _end(self) -> None:
        if self._note():
            await self._kept(self._noted)

    def _note(self) -> bool:
        """Note what was said; return whether that was not done yet."""
        after, self._after = self._after, None
        if after is not None:
            self._noted = after(self._hearing.reply())
        return after is not None


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

    data = [
        {"id": name, "object": "model", "created": 0, "owned_by": "memolith"} for name in models
    ]
    return JSONResponse({"object": "list", "data": data})


def _warm_up(engine: Memolith) -> None:
    """Load what a first recall loads: it would keep a reply waiting, or have to do without."""
    try:
        engine.owner("memolith").recall("warm up", touch=False)
    except MemolithError as error:
        _log.warning("nothing can be recalled yet: %s", error)
