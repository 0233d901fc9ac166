"""Metrics and traces contain counts and durations, but no content."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from fastapi.testclient import TestClient

from memolith import Memolith
from memolith.adapters.telemetry import SpanRecorder, build_span_recorder
from memolith.server.app import ServerOptions, create_app
from memolith.tracing import span

from .conftest import ClientFactory

export = pytest.importorskip(
    "opentelemetry.sdk.trace.export", reason="the extra memolith[otel] is not installed"
)
WORD = "zyxwvut"


@pytest.fixture
def exporter() -> Any:
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    return InMemorySpanExporter()


@pytest.fixture
def traced_client(memory: Memolith, exporter: Any) -> Iterator[TestClient]:
    from opentelemetry.sdk.trace import TracerProvider

    provider = TracerProvider()
    provider.add_span_processor(export.SimpleSpanProcessor(exporter))
    app = create_app(memory, ServerOptions(anonymous_owner=WORD, spans=SpanRecorder(provider)))
    with TestClient(app, base_url="http://localhost") as client:
        yield client


def test_recall_creates_a_span_for_each_step(traced_client: TestClient, exporter: Any) -> None:
    traced_client.post("/v1/memories", json={"content": f"Likes {WORD} tea", "key": WORD})
    exporter.clear()
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    sent = traced_client.post(
        "/v1/recall", json={"query": f"{WORD} tea"}, headers={"traceparent": parent}
    )
    assert len(sent.json()["memories"]) == 1
    spans = {each.name: each for each in exporter.get_finished_spans()}
    request, recall = spans["POST /v1/recall"], spans["recall"]
    assert (
        {f"{request.context.trace_id:032x}"}
        == {parent[3:35]}
        == {f"{each.context.trace_id:032x}" for each in spans.values()}
    )
    assert recall.parent.span_id == request.context.span_id
    for name in ("embed", "search", "score", "load"):
        assert spans[name].parent.span_id == recall.context.span_id
    assert dict(request.attributes) == {
        "http.request.method": "POST",
        "http.route": "/v1/recall",
        "http.response.status_code": 200,
        "memolith.request_id": sent.headers["X-Request-Id"],
    }


def test_traces_contain_no_content(traced_client: TestClient, exporter: Any) -> None:
    made = traced_client.post("/v1/memories", json={"content": f"Likes {WORD}", "key": WORD}).json()
    traced_client.get(f"/v1/memories/{made['id']}")
    traced_client.get("/v1/memories/search", params={"q": WORD})
    traced_client.get(f"/v1/sessions/{WORD}/messages")
    traced_client.get(f"/{WORD}")
    traced_client.post("/v1/recall", json={"query": WORD, "kinds": [WORD]})
    exported = "".join(each.to_json() for each in exporter.get_finished_spans())
    assert '"store"' in exported
    assert WORD not in exported
    assert made["id"] not in exported


def test_failed_span_contains_no_error_message(
    traced_client: TestClient, exporter: Any, memory: Memolith
) -> None:
    memory.close()
    assert traced_client.post("/v1/recall", json={"query": WORD}).status_code == 503
    (request,) = exporter.get_finished_spans()
    assert (request.name, request.status.is_ok) == ("POST /v1/recall", False)
    assert not request.status.description
    with pytest.raises(ValueError, match=WORD), span("fails"):
        raise ValueError(WORD)
    (_, failed) = exporter.get_finished_spans()
    assert dict(failed.attributes) == {"error.type": "ValueError"}
    assert not failed.events
    assert not failed.status.description


def test_tracing_is_off_without_an_endpoint() -> None:
    assert build_span_recorder({}) is None
    assert (
        build_span_recorder(
            {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x", "OTEL_SDK_DISABLED": "true"}
        )
        is None
    )
    assert (
        build_span_recorder(
            {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x", "OTEL_TRACES_EXPORTER": "none"}
        )
        is None
    )


class _Receiver(BaseHTTPRequestHandler):
    """Record the requests."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.taken.append((self.path, body))  # type: ignore[attr-defined]
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        del format, args


def test_spans_are_sent_to_the_configured_endpoint(
    memory: Memolith, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http")
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Receiver)
    server.taken = []  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    env = {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{server.server_address[1]}"}
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", env["OTEL_EXPORTER_OTLP_ENDPOINT"])
    app = create_app(memory, ServerOptions(anonymous_owner="alice", spans=build_span_recorder(env)))
    with TestClient(app, base_url="http://localhost") as client:
        client.post("/v1/recall", json={"query": WORD})
    server.shutdown()
    thread.join()
    server.server_close()
    taken: list[tuple[str, bytes]] = server.taken  # type: ignore[attr-defined]
    assert {path for path, _ in taken} == {"/v1/traces"}
    sent = b"".join(body for _, body in taken)
    assert b"POST /v1/recall" in sent
    assert b"memolith" in sent
    assert WORD.encode() not in sent


def read_metrics(client: TestClient) -> dict[str, float]:
    text = client.get("/metrics").text
    assert WORD not in text
    lines = [each.rpartition(" ") for each in text.splitlines() if each.startswith("memolith")]
    return {name: float(number) for name, _, number in lines}


def test_metrics_count_requests_and_steps(client_for: ClientFactory) -> None:
    admin = client_for(role="admin")
    headers = {"X-Owner-Id": WORD}
    for number in range(3):
        admin.post("/v1/memories", json={"content": f"{WORD} {number}"}, headers=headers)
    admin.post("/v1/recall", json={"query": WORD}, headers=headers)
    admin.get(f"/{WORD}", headers=headers)
    found = read_metrics(admin)
    assert found["memolith_memories_stored_total"] == 3
    assert found['memolith_span_seconds_count{step="recall"}'] == 1
    route = 'method="POST",route="/v1/memories",status="201"'
    assert found[f"memolith_request_seconds_count{{{route}}}"] == 3
    assert found['memolith_request_seconds_count{method="GET",route="-",status="404"}'] == 1
    assert found["memolith_requests_in_progress"] == 1
    assert found["memolith_owners_pending"] == 0
    assert found["memolith_exchanges_pending"] == 0
    assert not any("_created" in name for name in found)


def test_metrics_require_an_admin_key(client_for: ClientFactory) -> None:
    assert client_for("alice").get("/metrics").status_code == 403
