"""Every route does what the OpenAPI document says, whatever is sent to it."""

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
"""Requests for each route: in each run of the tests, and in the long one."""

_EXCLUDED = [positive_data_acceptance]
"""The document can't say everything: the kinds of an owner's profile, that a text is empty where
only invisible letters are in it, that two arguments exclude each other."""

_HOST = {"Host": "localhost"}


@schemathesis.serializer("application/x-ndjson")
def as_lines(_: object, value: object) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")


_ROUTES = [
    (method.upper(), path) for path, methods in document()["paths"].items() for method in methods
]


def _said(request: ReceivedRequest) -> Any:
    """Answer in words, or in the form that is asked for."""
    return _like(request.schema.json) if request.schema else "ACTION: SPEAK\nYes."


def _like(schema: Mapping[str, Any]) -> Any:
    """Return something of a form."""
    if schema["type"] == "object":
        return {name: _like(each) for name, each in schema["properties"].items()}
    return [] if schema["type"] == "array" else schema.get("enum", ["Yes."])[0]


@pytest.fixture(scope="module")
def app(database: str) -> Iterator[FastAPI]:
    assert database  # it is made anew in each
    clock = SettableClock(datetime(2026, 3, 1, 12, 0, tzinfo=UTC))
    with (
        ModelServer(_said) as model,
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
    # Each route has an owner of its own, whom others neither erase nor forget.
    headers = {**_HOST, "Authorization": f"Bearer {key}", "X-Owner-Id": f"{method} {path}"}

    @settings(max_examples=count, deadline=None, suppress_health_check=list(HealthCheck))
    @given(case=documented[path][method].as_strategy())
    def send(case: Any) -> None:
        case.call_and_validate(headers=headers, excluded_checks=_EXCLUDED)

    send()


@pytest.mark.parametrize("route", _ROUTES, ids=" ".join)
def test_every_answer_is_as_documented(
    documented: OpenApiSchema, key: str, route: tuple[str, str]
) -> None:
    _send(documented, key, route, _FEW)


@pytest.mark.soak
@pytest.mark.parametrize("route", _ROUTES, ids=" ".join)
def test_every_answer_is_as_documented_many_times(
    documented: OpenApiSchema, key: str, route: tuple[str, str]
) -> None:
    _send(documented, key, route, _MANY)
