"""Every route conforms to the OpenAPI document, for generated requests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime
from typing import Any

import pytest
import schemathesis
from fastapi import FastAPI
from hypothesis import HealthCheck, given, settings
from schemathesis.specs.openapi.checks import positive_data_acceptance
from schemathesis.specs.openapi.schemas import OpenApiSchema

from memolith import Memolith
from memolith.adapters.models.openai import OpenAITranscriber
from memolith.demo.model_server import ModelServer, ReceivedRequest
from memolith.server.app import ServerOptions, create_app
from memolith.server.rest.device import DeviceService
from memolith.testing.fakes import HashingEmbedder, SettableClock, WordCounter
from support.chat_proxy import Echo
from support.openapi import document
from support.scripted_learning import client

_FEW, _MANY = 8, 300
"""Requests for each route in a normal run, and in a soak run."""

_EXCLUDED = [positive_data_acceptance]
"""OpenAPI can't express some rules: kinds depend on the owner's profile, a text of only invisible
characters is empty, and some arguments exclude each other."""

_HOST = {"Host": "localhost"}


@schemathesis.serializer("application/x-ndjson")
def as_lines(_: object, value: object) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")


_ROUTES = [
    (method.upper(), path) for path, methods in document()["paths"].items() for method in methods
]


def _answer(request: ReceivedRequest) -> Any:
    """Answer with text, or with an instance of the requested schema."""
    return _instance_of(request.schema.json) if request.schema else "ACTION: SPEAK\nYes."


def _instance_of(schema: Mapping[str, Any]) -> Any:
    """Return an instance of a schema."""
    if schema["type"] == "object":
        return {name: _instance_of(each) for name, each in schema["properties"].items()}
    return [] if schema["type"] == "array" else schema.get("enum", ["Yes."])[0]


@pytest.fixture(scope="module")
def app(database: str) -> Iterator[FastAPI]:
    assert database  # recreated for each database
    clock = SettableClock(datetime(2026, 3, 1, 12, 0, tzinfo=UTC))
    with (
        ModelServer(_answer) as model,
        closing(
            OpenAITranscriber("whisper-1", api_key="", base_url=model.openai_url, timeout_s=10)
        ) as transcriber,
        Memolith.open(
            ":memory:",
            embedder=HashingEmbedder(),
            clock=clock,
            tokens=WordCounter(),
            chat=client(model.openai_url),
            worker=False,
        ) as engine,
    ):
        devices = DeviceService(engine.chat_model, transcriber, lambda: True)
        serving = ServerOptions(failed_keys_per_minute=1_000_000, upstream=Echo())
        yield create_app(engine, serving, clock, devices)


@pytest.fixture(scope="module")
def key(app: FastAPI) -> str:
    engine: Memolith = app.state.engine
    return engine.create_api_key("admin", role="admin").secret


@pytest.fixture(scope="module")
def documented(app: FastAPI) -> OpenApiSchema:
    return schemathesis.openapi.from_asgi("/openapi.json", app, headers=_HOST)


def _send(documented: OpenApiSchema, key: str, route: tuple[str, str], count: int) -> None:
    method, path = route
    # Each route has its own owner, whose data other routes can't erase.
    headers = {**_HOST, "Authorization": f"Bearer {key}", "X-Owner-Id": f"{method} {path}"}

    @settings(max_examples=count, deadline=None, suppress_health_check=list(HealthCheck))
    @given(case=documented[path][method].as_strategy())
    def send(case: Any) -> None:
        case.call_and_validate(headers=headers, excluded_checks=_EXCLUDED)

    send()


@pytest.mark.parametrize("route", _ROUTES, ids=" ".join)
def test_every_response_conforms_to_the_document(
    documented: OpenApiSchema, key: str, route: tuple[str, str]
) -> None:
    _send(documented, key, route, _FEW)


@pytest.mark.soak
@pytest.mark.parametrize("route", _ROUTES, ids=" ".join)
def test_every_response_conforms_for_many_requests(
    documented: OpenApiSchema, key: str, route: tuple[str, str]
) -> None:
    _send(documented, key, route, _MANY)
