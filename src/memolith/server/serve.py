"""Builds the server from the settings and runs it in one process."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib.util import find_spec
from ipaddress import ip_address
from pathlib import Path
from typing import Final, Literal

import uvicorn
from fastapi import FastAPI

from memolith.adapters import telemetry
from memolith.adapters.models.factory import CHAT_SECTION, NO_PROVIDER, check_url, get_api_key
from memolith.api.engine import Memolith
from memolith.config import LoadedSettings, Settings
from memolith.config.settings import Chat, Serve
from memolith.errors import InvalidConfiguration
from memolith.server.app import ServerOptions, create_app
from memolith.server.http_protocol import BoundedProtocol
from memolith.server.proxy.anthropic import AnthropicUpstream
from memolith.server.proxy.openai import OpenAIUpstream, Upstream
from memolith.server.proxy.service import ProxyOptions
from memolith.server.rest import device
from memolith.stores import IN_MEMORY, is_postgres, store_path

_DEFAULT_UPSTREAM_URLS: Final[Mapping[str, str]] = {
    "openai": "https://api.openai.com/v1",
    "ollama": "http://127.0.0.1:11434",
}
_MS: Final = 1000


def build_upstream(settings: Chat, env: Mapping[str, str]) -> Upstream | None:
    """Return the chat service of the proxy; None if none is configured.

    Raises:
        InvalidConfiguration: The URL or the API key is invalid, or the client is not installed.
    """
    if settings.provider == NO_PROVIDER:
        return None
    check_url(settings.base_url, CHAT_SECTION)
    key, timeout_s = get_api_key(settings, env), settings.timeout_ms / _MS
    if settings.provider == "anthropic":
        return AnthropicUpstream(settings.model, settings.base_url, key, timeout_s)
    url = (settings.base_url or _DEFAULT_UPSTREAM_URLS[settings.provider]).rstrip("/")
    if settings.provider == "ollama":  # it also supports the OpenAI protocol
        url += "/v1"
    return OpenAIUpstream(settings.model, url, key, timeout_s)


def build_proxy_options(settings: Settings) -> ProxyOptions:
    """Return the options of the chat proxy."""
    own = settings.proxy
    return ProxyOptions(
        memory_timeout_s=own.memory_timeout_ms / _MS,
        context_budget=own.context_budget,
        compress=own.compress,
        context_window=settings.chat.context_window,
        allowed_models=tuple(filter(None, (part.strip() for part in own.models.split(",")))),
        is_enabled=settings.enabled,
        durable=own.durable,
    )


# --- Server


LOCAL_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})
_MEGABYTE = 1_000_000
WORKER_HEALTHCHECK_TIMEOUT_S: Final = 30
"""After this time without an answer, a worker process is killed and replaced. A guess: longer than
a native call that holds Python's global lock."""
_EXTRA_FIELDS = ("request_id", "method", "route", "status", "taken_ms")


@dataclass(frozen=True, slots=True)
class ServerPlan:
    """Settings of a server process.

    Attributes:
        loaded: All settings.
        settings: Server settings, including those of the command line.
        owner: Owner of local requests while no API key exists; empty if unknown.
    """

    loaded: LoadedSettings
    settings: Serve
    owner: str


def build_server_options(settings: Serve, engine: Memolith, owner: str) -> ServerOptions:
    """Return the options of the server.

    Args:
        settings: Server settings.
        engine: The engine.
        owner: Owner of local requests while no API key exists.

    Raises:
        InvalidConfiguration: The server would be reachable without an API key, or no owner is
            known.
    """
    has_keys = any(key.revoked_at is None for key in engine.api_keys())
    if not has_keys and not is_local(settings.host):
        raise InvalidConfiguration(
            "serve.host",
            f"{settings.host} is reachable from other machines, but no API key exists: create one"
            " with `memolith api-key create`, or listen on 127.0.0.1",
        )
    if not has_keys and _is_behind_proxy(settings):
        raise InvalidConfiguration(
            "serve.trusted_proxies" if settings.trusted_proxies else "serve.hosts",
            "a reverse proxy forwards requests of other machines, but no API key exists: create one"
            " with `memolith api-key create`",
        )
    if not has_keys and not owner:
        raise InvalidConfiguration("serve.owner", "unknown login name: set the owner")
    names = _split_list(settings.hosts) or LOCAL_HOSTS | {settings.host.strip("[]").lower()}
    return ServerOptions(
        anonymous_owner=None if has_keys else owner,
        allowed_hosts=names,
        allowed_origins=_split_list(settings.origins),
        max_body_bytes=settings.max_body_mb * _MEGABYTE,
        max_concurrent_requests=settings.requests_at_once,
        threads=settings.threads,
        requests_per_minute=settings.requests_per_minute,
        drain_timeout_s=settings.drain_timeout_s,
    )


def get_http_protocol() -> type[asyncio.Protocol] | Literal["h11"]:
    """Return the HTTP protocol; both variants limit the size of request heads."""
    if find_spec("httptools") is None:
        return "h11"
    return BoundedProtocol


def is_local(host: str) -> bool:
    """Return whether a host is a loopback address."""
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _is_behind_proxy(settings: Serve) -> bool:
    """Return whether the settings indicate a reverse proxy, which forwards remote requests."""
    return bool(settings.trusted_proxies) or not all(map(is_local, _split_list(settings.hosts)))


def _split_list(text: str) -> frozenset[str]:
    return frozenset(part.strip() for part in text.split(",") if part.strip())


def _get_store_folder(store: str) -> Path | None:
    """Return the directory of a store; None if the store is not a file."""
    return None if store == IN_MEMORY or is_postgres(store) else store_path(store).parent


def log_address(address: str) -> None:
    """Log the server's address."""
    logging.getLogger("memolith.http").info("running on %s", address)


class JsonLogFormatter(logging.Formatter):
    """Formats log records as lines of JSON, without user content."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as a line of JSON."""
        line = {
            "at": self.formatTime(record, "%Y-%m-%dT%H:%M:%S%z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= {
            name: value
            for name in _EXTRA_FIELDS
            if (value := getattr(record, name, None)) is not None
        }
        return json.dumps(line, ensure_ascii=False)


def configure_json_logging() -> None:
    """Log everything to stderr as lines of JSON."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLogFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.INFO)
    logging.getLogger(
        "memolith"
    ).handlers.clear()  # the command line's handler would log everything twice
    # These log every call, some with its URL.
    for name in ("httpx", "httpx2", "httpcore", "httpcore2", "mcp"):
        logging.getLogger(name).setLevel(logging.WARNING)


def run_server(
    engine: Memolith,
    plan: ServerPlan,
    listener: socket.socket | None = None,
    on_started: Callable[[], None] = lambda: None,
) -> None:
    """Serve in this process until SIGINT or SIGTERM; running requests are completed.

    Args:
        engine: The engine; it stays open.
        plan: The settings.
        listener: Listening socket; None to open the configured address.
        on_started: Called when the server accepts requests.
    """
    configure_json_logging()
    # uvicorn raises a signal again after its shutdown; the engine must still be closed then.
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, lambda *_: None)
    config = build_uvicorn_config(build_app(engine, plan, on_started=on_started), plan)
    uvicorn.Server(config).run(None if listener is None else [listener])


def build_app(
    engine: Memolith,
    plan: ServerPlan,
    *,
    on_started: Callable[[], None] = lambda: None,
    on_stopped: Callable[[], None] = lambda: None,
) -> FastAPI:
    """Return the configured application of an engine.

    Args:
        engine: The engine.
        plan: The settings.
        on_started: Called when the application accepts requests.
        on_stopped: Called at the end of the application's shutdown.

    Raises:
        InvalidConfiguration: The settings are inconsistent.
    """
    settings = plan.loaded.settings
    options = replace(
        build_server_options(plan.settings, engine, plan.owner),
        upstream=build_upstream(settings.chat, os.environ),
        proxy_options=build_proxy_options(settings),
        store_folder=_get_store_folder(settings.store),
        read_only=plan.settings.read_only,
        runs_jobs=settings.worker,
        on_started=on_started,
        on_stopped=on_stopped,
        spans=telemetry.build_span_recorder(os.environ),
    )
    devices = device.build_device_service(engine, settings, os.environ)
    return create_app(engine, options, devices=devices)


def build_uvicorn_config(
    app: FastAPI | Callable[[], FastAPI], plan: ServerPlan, *, workers: int | None = None
) -> uvicorn.Config:
    """Return uvicorn's configuration.

    Args:
        app: The application; with `workers`, a picklable function that creates it.
        plan: The settings.
        workers: Number of worker processes.
    """
    return uvicorn.Config(
        app,
        factory=workers is not None,
        workers=workers,
        host=plan.settings.host.strip("[]"),
        port=plan.settings.port,
        http=get_http_protocol(),
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=bool(plan.settings.trusted_proxies),
        forwarded_allow_ips=plan.settings.trusted_proxies,
        timeout_graceful_shutdown=max(1, round(plan.settings.drain_timeout_s)),
        timeout_worker_healthcheck=WORKER_HEALTHCHECK_TIMEOUT_S,
    )
