"""Metrics and traces: how often and how long, never of what."""

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

from .conftest import Caller

export = pytest.importorskip(
    "opentelemetry.sdk.trace.export", reason="the extra memolith[otel] is not installed"
)
WORD = "zyxwvut"


@pytest.fixture
def exporter() -> Any:
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    return InMemorySpanExporter()


@pytest.fixture
def traced(memory: Memolith, exporter: Any) -> Iterator[TestClient]:
    from opentelemetry.sdk.trace import TracerProvider

    provider = TracerProvider()
    provider.add_span_processor(export.SimpleSpanProcessor(exporter))
    app = create_app(memory, ServerOptions(anonymous_owner=WORD, spans=SpanRecorder(provider)))
    with TestClient(app, base_url="http://localhost") as client:
        yield client


def test_a_recall_is_a_trace_of_its_steps(traced: TestClient, exporter: Any) -> None:
    traced.post("/v1/memories", json={"content": f"Likes {WORD} tea", "key": WORD})
    exporter.clear()
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    sent = traced.post("/v1/recall", json={"query": f"{WORD} tea"}, headers={"traceparent": parent})
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


def test_nothing_that_was_said_is_in_a_trace(traced: TestClient, exporter: Any) -> None:
    made = traced.post("/v1/memories", json={"content": f"Likes {WORD}", "key": WORD}).json()
    traced.get(f"/v1/memories/{made['id']}")
    traced.get("/v1/memories/search", params={"q": WORD})
    traced.get(f"/v1/sessions/{WORD}/messages")
    traced.get(f"/{WORD}")
    traced.post("/v1/recall", json={"query": WORD, "kinds": [WORD]})
    told = "".join(each.to_json() for each in exporter.get_finished_spans())
    assert '"store"' in told
    assert WORD not in told
    assert made["id"] not in told


def test_a_failure_is_told_without_what_it_says(
    traced: TestClient, exporter: Any, memory: Memolith
) -> None:
    memory.close()
    assert traced.post("/v1/recall", json={"query": WORD}).status_code == 503
    (request,) = exporter.get_finished_spans()
    assert (request.name, request.status.is_ok) == ("POST /v1/recall", False)
    assert not request.status.description
    with pytest.raises(ValueError, match=WORD), span("fails"):
        raise ValueError(WORD)
    (_, failed) = exporter.get_finished_spans()
    assert dict(failed.attributes) == {"error.type": "ValueError"}
    assert not failed.events
    assert not failed.status.description


def test_there_are_no_traces_where_nothing_says_where_they_go() -> None:
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
    """Takes what is sent to it."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.taken.append((self.path, body))  # type: ignore[attr-defined]
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        del format, args


def test_they_are_sent_as_the_standard_variables_say(
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


def figures(client: TestClient) -> dict[str, float]:
    text = client.get("/metrics").text
    assert WORD not in text
    lines = [each.rpartition(" ") for each in text.splitlines() if each.startswith("memolith")]
    return {name: float(number) for name, _, number in lines}


def test_what_is_done_is_counted(calling: Caller) -> None:
    admin = calling(role="admin")
    headers = {"X-Owner-Id": WORD}
    for number in range(3):
        admin.post("/v1/memories", json={"content": f"{WORD} {number}"}, headers=headers)
    admin.post("/v1/recall", json={"query": WORD}, headers=headers)
    admin.get(f"/{WORD}", headers=headers)
    found = figures(admin)
    assert found["memolith_memories_stored_total"] == 3
    assert found['memolith_span_seconds_count{step="recall"}'] == 1
    route = 'method="POST",route="/v1/memories",status="201"'
    assert found[f"memolith_request_seconds_count{{{route}}}"] == 3
    assert found['memolith_request_seconds_count{method="GET",route="-",status="404"}'] == 1
    assert found["memolith_requests_in_progress"] == 1
    assert found["memolith_owners_pending"] == 0
    assert found["memolith_exchanges_pending"] == 0
    assert not any("_created" in name for name in found)


def test_only_an_admin_reads_the_figures(calling: Caller) -> None:
    assert calling("alice").get("/metrics").status_code == 403
