"""Application factory of the server."""

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
        # Only one of them declares the model: with a model in each, every route would compile it
        # fifteen times at startup (a third of a second).
        **({"model": problems.ProblemDocument} if status == HTTPStatus.BAD_REQUEST else {}),
        "content": {problems.MEDIA_TYPE: {}, "application/json": _PROBLEM_CONTENT},
        "description": description,
    }
    for status, description in (
        (400, "The request is malformed."),
        (401, "The API key is missing or invalid."),
        (403, "The API key does not permit the operation."),
        (404, "Not found."),
        (408, "The request body did not arrive in time."),
        (409, "The request conflicts with the stored state."),
        (410, "The owner was erased."),
        (413, "The request body is too large."),
        (415, "The content type is not supported."),
        (421, "The `Host` header is not allowed."),
        (422, "An argument is invalid."),
        (429, "Too many requests."),
        (501, "Not available over HTTP, or not configured."),
        (502, "A model or an embedding service failed."),
        (503, "The store is unavailable, or the server is overloaded."),
    )
}

_WARM_UP_TIMEOUT_S = 2.0
"""Maximum time that startup waits for the embedding model. A guess; the local model takes 0.2 s."""


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """Options of the server.

    Attributes:
        anonymous_owner: Owner of requests without an API key; None to require keys.
        allowed_hosts: Accepted `Host` headers; "*" accepts any.
        allowed_origins: Origins of web pages that may call the server.
        max_body_bytes: Maximum length of a request body.
        max_concurrent_requests: Number of concurrent requests; further ones get status 503.
        threads: Number of worker threads.
        requests_per_minute: Rate limit per caller; 0 for none.
        failed_keys_per_minute: Invalid API keys after which requests of an address are rejected.
        drain_timeout_s: Maximum time that shutdown waits for background learning.
        store_folder: Directory of the store; None if the store is not a file.
        read_only: Whether the server is ready although the store is read-only.
        runs_jobs: Whether the server runs scheduled jobs.
        on_started: Called when the server accepts requests.
        on_stopped: Called at the end of the shutdown.
        spans: Records traces; None for no traces.
        upstream: Chat service of the proxy; None to disable the proxy.
        proxy_options: Options of the proxy.
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
    """Return the application of an engine, which must stay open until the application stops.

    Args:
        engine: The engine.
        options: Options of the server.
        clock: Clock; None for the system clock.
        devices: Device service; None for one with the engine's model and without transcription.
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
            # Learn from the proxy's stored exchanges while traces are still recorded.
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
    """Load the embedding model before the first request."""
    with suppress(MemolithError):  # an unavailable embedding service does not prevent startup
        engine.health_checks.check_embedder()
