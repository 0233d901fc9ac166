"""The service, put together."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from importlib.metadata import version
from pathlib import Path
from time import monotonic
from typing import Any

import anyio
import anyio.to_thread
from fastapi import FastAPI
from fastapi.middleware.cors import CORSMiddleware

from memolith import tracing
from memolith.adapters.clock import SystemClock
from memolith.adapters.telemetry import SpanRecorder
from memolith.api.engine import Memolith
from memolith.errors import MemolithError
from memolith.ports.clock import Clock
from memolith.server import problems
from memolith.server.auth import Authenticator
from memolith.server.mcp import endpoint as mcp
from memolith.server.metrics import Metrics
from memolith.server.middleware import RateLimiter, RequestGuard, RequestLimits
from memolith.server.proxy import routes
from memolith.server.proxy.openai import Upstream
from memolith.server.proxy.service import (
    MEMORIES_HEADER,
    MODE_HEADER,
    SESSION_HEADER,
    Proxy,
    ProxyOptions,
)
from memolith.server.readiness import Readiness, build_checks
from memolith.server.rest import device, memories, operations, owners
from memolith.server.rest.device import DeviceService
from memolith.server.scheduler import JobScheduler

ROUTERS = (
    memories.memories_router,
    memories.recall_router,
    memories.review_router,
    owners.sessions_router,
    owners.owners_router,
    owners.transfer_router,
    operations.upkeep_router,
    routes.proxy_router,
    device.device_router,
    operations.operations_router,
)

_PROBLEM_CONTENT = {"schema": {"$ref": f"#/components/schemas/{problems.ProblemDocument.__name__}"}}

_PROBLEM_RESPONSES: dict[int | str, dict[str, Any]] = {
    status: {
        # One of them brings the model into the document. If all did, each route of each service
        # that starts would compile the same model fifteen times, for a third of a second in all.
        **({"model": problems.ProblemDocument} if status == HTTPStatus.BAD_REQUEST else {}),
        "content": {problems.MEDIA_TYPE: {}, "application/json": _PROBLEM_CONTENT},
        "description": description,
    }
    for status, description in (
        (400, "The request can't be understood."),
        (401, "No key, or one that opens nothing."),
        (403, "The key may not do that."),
        (404, "The owner has no such thing."),
        (408, "The body did not come in time."),
        (409, "It does not fit what is stored now."),
        (410, "The owner was erased."),
        (413, "The body is too long."),
        (415, "The body is not of the type asked for."),
        (421, "The server is not known by that name."),
        (422, "An argument can't be taken."),
        (429, "Too many requests."),
        (501, "It is done where the store is, not over a service."),
        (502, "A model or an embedding service failed."),
        (503, "The store can't be reached now, or too many requests are under way."),
    )
}

_WARM_UP_TIMEOUT_S = 2.0
"""How long the start waits for the embedding model at most: a guess; the local one takes 0.2 s."""


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """How the service is to be.

    Attributes:
        open_for: The owner for whom everybody may call without a key; None: keys are needed.
        hosts: What `Host` may be; "*": anything.
        origins: Pages that may call it from a browser.
        body_bytes: How long a body may be.
        at_once: How many requests may be under way.
        threads: How many of them are worked on.
        requests_a_minute: Of each caller; 0: as many as they like.
        wrong_keys_a_minute: Of one address, before it has to wait.
        drain_s: For how long to wait at the end for what is being learned.
        folder: Where the store's file is; None: it is in no file.
        read_only: Whether the service is ready where the store can't be written.
        works: Whether scheduled jobs are done by the service, beside what it is asked.
        begun: Called when callers are answered.
        on_stopped: Called at the end of the shutdown.
        spans: Makes traces; None: there are none.
        upstream: The chat service that is asked for clients; None: there is none.
        proxying: How it is told of what is remembered.
    """

    anonymous_owner: str | None = None
    allowed_hosts: frozenset[str] = frozenset({"localhost", "127.0.0.1", "::1"})
    allowed_origins: frozenset[str] = field(default_factory=frozenset)
    max_body_bytes: int = 10_000_000
    max_concurrent_requests: int = 128
    threads: int = 16
    requests_per_minute: int = 0
    failed_keys_per_minute: int = 20
    drain_timeout_s: float = 10.0
    store_folder: Path | None = None
    read_only: bool = False
    runs_jobs: bool = False
    on_started: Callable[[], None] = lambda: None
    on_stopped: Callable[[], None] = lambda: None
    spans: SpanRecorder | None = None
    upstream: Upstream | None = None
    proxy_options: ProxyOptions = field(default_factory=ProxyOptions)


def create_app(
    engine: Memolith,
    options: ServerOptions,
    clock: Clock | None = None,
    devices: DeviceService | None = None,
) -> FastAPI:
    """Return the service of an engine, which stays open until the service ends.

    Args:
        engine: The engine.
        serving: How the service is to be.
        clock: The time; None: the computer's.
        devices: Answers devices; None: with the engine's language model, without transcription.
    """

    @asynccontextmanager
    async def living(app: FastAPI) -> AsyncIterator[None]:
        anyio.to_thread.current_default_thread_limiter().total_tokens = options.threads
        with anyio.move_on_after(_WARM_UP_TIMEOUT_S):
            await anyio.to_thread.run_sync(_warm_up_embedder, engine, abandon_on_cancel=True)
        async with AsyncExitStack() as open_:
            open_.callback(options.on_stopped)
            looked_at = build_checks(
                engine,
                app.state.jobs,
                folder=options.store_folder,
                may_be_read_only=options.read_only,
            )
            app.state.readiness = Readiness(looked_at)
            open_.callback(app.state.readiness.close)
            open_.enter_context(tracing.observe(app.state.metrics))
            if options.spans is not None:
                open_.callback(options.spans.close)
                open_.enter_context(tracing.observe(options.spans))
            # What the proxy has kept by its end is learned from, and that is traced.
            open_.push_async_callback(
                anyio.to_thread.run_sync, engine.drain, options.drain_timeout_s
            )
            await open_.enter_async_context(agents.run())
            if app.state.proxy is not None:
                await open_.enter_async_context(
                    app.state.proxy.running(engine, options.drain_timeout_s)
                )
            if options.runs_jobs:
                open_.enter_context(app.state.jobs.running(options.drain_timeout_s))
            options.on_started()
            yield

    app = FastAPI(
        title="Memolith",
        description="Persistent memory for AI assistants and agents.",
        version=version("memolith"),
        lifespan=living,
        responses=_PROBLEM_RESPONSES,
        redirect_slashes=False,
        docs_url=None,
        redoc_url=None,
    )
    app.state.engine = engine
    app.state.clock = clock or SystemClock()
    app.state.devices = devices or DeviceService(engine.chat_model, None, lambda: False)
    app.state.metrics = Metrics(engine.health_checks.count_pending_owners)
    app.state.jobs = JobScheduler(engine)
    app.state.proxy = None
    if options.upstream is not None:
        app.state.proxy = Proxy(options.upstream, options.proxy_options, app.state.metrics)
    app.state.doorkeeper = Authenticator(
        engine, options.anonymous_owner, options.failed_keys_per_minute, monotonic
    )
    app.state.rates = RateLimiter(options.requests_per_minute)
    problems.install_handlers(app)
    for router in ROUTERS:
        app.include_router(router)
    agents = mcp.mount(app, options.max_body_bytes)
    if options.allowed_origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=sorted(options.allowed_origins),
            allow_methods=["*"],
            allow_headers=["*"],
            expose_headers=["X-Request-Id", SESSION_HEADER, MODE_HEADER, MEMORIES_HEADER],
        )
    limits = RequestLimits(
        options.allowed_hosts,
        options.allowed_origins,
        options.max_body_bytes,
        options.max_concurrent_requests,
        upload_paths=frozenset({device.AUDIO_PATH}),
        probe_paths=frozenset({operations.LIVENESS_PATH, operations.READINESS_PATH}),
    )
    app.add_middleware(RequestGuard, limits=limits, metrics=app.state.metrics, spans=options.spans)
    return app


def _warm_up_embedder(engine: Memolith) -> None:
    """Load the embedding model before the first caller has to wait for that."""
    with suppress(MemolithError):  # a service of embeddings that is down keeps nobody from starting
        engine.health_checks.check_embedder()
