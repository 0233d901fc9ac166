"""Despite failures, the proxy returns replies, and learns nothing from incomplete ones."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import apsw
import httpx
import numpy as np
import openai
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from memolith import Memolith
from memolith.demo.model_server import Answer, ModelServer, ReceivedRequest
from memolith.demo.model_server.openai import stream_reply as events
from memolith.errors import ServiceFailed
from memolith.ports.models import TextRole
from memolith.server.proxy.openai import OpenAIUpstream
from memolith.server.proxy.service import ProxyOptions
from memolith.testing.fakes import HashingEmbedder, WordCounter
from support.chat_proxy import Proxied, proxied, said, streamed, user

HELLO = "I live in Oslo."


class Embedder(HashingEmbedder):
    """An embedder that can fail or be slow."""

    fails = False
    slow_s = 0.0

    def embed(self, texts: Sequence[str], *, role: TextRole) -> NDArray[np.float32]:
        threading.Event().wait(self.slow_s)
        if self.fails:
            raise ServiceFailed("embedder", "is down", retryable=True)
        return super().embed(texts, role=role)


@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    with ModelServer(lambda request: f"Noted: {request.user}") as server:
        yield server


def upstream(server: ModelServer) -> OpenAIUpstream:
    return OpenAIUpstream("scripted", server.openai_url, "sk-upstream")


def open_memory(embedder: Embedder) -> Memolith:
    return Memolith.open(":memory:", embedder=embedder, tokens=WordCounter())


def test_failing_embedder_does_not_prevent_the_reply(model: ModelServer) -> None:
    embedder = Embedder()
    with proxied(upstream(model), engine=open_memory(embedder)) as service:
        embedder.fails = True
        client = service.client()
        raw = client.chat.completions.with_raw_response.create(
            model="scripted", messages=[{"role": "user", "content": HELLO}]
        )
        assert raw.headers["X-Memolith-Memory"] == "failed"
        assert service.failures()["recall", "ServiceFailed"] == 1
        embedder.fails = False
        assert ("user", HELLO) in service.log(), "logging must be retried"


def test_slow_memory_does_not_prevent_the_reply(model: ModelServer) -> None:
    embedder = Embedder()
    engine = open_memory(embedder)
    with proxied(upstream(model), ProxyOptions(memory_timeout_s=0.05), engine=engine) as service:
        engine.remember("Lives in Oslo", owner="alice")
        embedder.slow_s = 0.5
        assert said(service.client(), [user("Where do I live now?")]).startswith("Noted")
        assert ("recall", "slow") in service.failures()


@pytest.mark.sqlite
def test_locked_store_delays_only_logging(model: ModelServer, tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    config = tmp_path / "memolith.toml"
    config.write_text("[memory]\nenable_encryption = false\nbusy_timeout_s = 0.05\n")
    engine = Memolith.open(path, embedder=HashingEmbedder(), tokens=WordCounter(), config=config)
    engine.remember("Lives in Oslo", owner="alice")
    with proxied(upstream(model), engine=engine) as service:
        other = apsw.Connection(str(path))
        other.execute("BEGIN IMMEDIATE")
        assert said(service.client(), [user(HELLO)]) == f"Noted: {HELLO}"
        assert not service.app.state.proxy.afterwards.wait("alice", 0.1)
        other.execute("ROLLBACK")
        other.close()
        assert ("user", HELLO) in service.log()


def test_last_exchange_is_learned_before_shutdown(model: ModelServer) -> None:
    embedder = Embedder()
    engine = open_memory(embedder)
    with proxied(upstream(model), engine=engine) as service:
        embedder.slow_s = 0.2
        streamed(service.client(), [user(HELLO)])
        app = service.app
        service.clients.pop().close()
        embedder.slow_s = 0.1
        assert app.state.proxy.afterwards.drain(10)
        assert service.log()[-1] == ("assistant", f"Noted: {HELLO}")


def test_partial_reply_after_disconnect_is_marked_as_incomplete() -> None:
    words = " ".join(f"word{number}" for number in range(200))
    with (
        ModelServer(lambda _: Answer(words, piece_delay_s=0.01)) as server,
        proxied(upstream(server)) as service,
    ):
        events_ = service.client().chat.completions.create(
            model="m", messages=[{"role": "user", "content": HELLO}], stream=True
        )
        for _, event in zip(range(5), events_, strict=False):
            assert event.choices
        events_.response.close()
        until = time.monotonic() + 10
        while len(service.alice.recent()) < 2 and time.monotonic() < until:
            time.sleep(0.02)
        asked, reply = service.alice.recent()
        assert asked.content == HELLO
        assert words.startswith(reply.content)
        assert len(reply.content) < len(words)
        assert "~" in str(reply.external_id)


def test_stream_cut_anywhere_leaves_no_partial_memory() -> None:
    reply = "You live in Oslo, where it rains."
    asked = ReceivedRequest("openai", "", "m")
    whole = b"".join(events(asked, Answer(reply))).decode()
    cuts = [*range(0, len(whole), 61), len(whole)]
    with (
        ModelServer([Answer(raw=whole[:end]) for end in cuts]) as server,
        Memolith.open(
            ":memory:", profile="companion", embedder=HashingEmbedder(), tokens=WordCounter()
        ) as engine,
        proxied(upstream(server), engine=engine) as service,
    ):
        for place in range(len(cuts)):
            client = service.client(**{"X-Memolith-Session": f"s{place}"})
            try:
                streamed(client, [user(f"Where do I live, and who is number {place}?")])
            except (openai.APIError, json.JSONDecodeError):
                continue
            finally:
                service.learned()
        learned = [each.content for each in service.alice.list(limit=100).memories]
        lines = [line for each in learned for line in each.splitlines()]
        assert {line for line in lines if "A: " in line} == {f"A: {reply}"}


@pytest.fixture(scope="module")
def fuzz_target(model: ModelServer) -> Iterator[Proxied]:
    with proxied(upstream(model)) as service:
        yield service


json_values: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=6,
)
messages = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "role": st.sampled_from(["user", "assistant", "system", "tool", "x"]) | json_values,
            "content": st.text(max_size=8) | json_values,
            "name": json_values,
            "tool_calls": json_values,
        },
    ),
    max_size=4,
)
bodies = st.fixed_dictionaries(
    {"messages": messages | json_values},
    optional={"model": json_values, "stream": json_values, "n": json_values, "user": json_values},
)


@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(body=st.binary(max_size=40) | bodies.map(lambda body: json.dumps(body).encode()))
def test_random_bodies_cause_no_server_error(fuzz_target: Proxied, body: bytes) -> None:
    with httpx.Client(base_url=fuzz_target.url, verify=False) as client:  # noqa: S501 - plain HTTP
        sent = client.post(
            "/v1/chat/completions", content=body, headers={"Content-Type": "application/json"}
        )
    assert sent.status_code < 500


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 100_000,
        b'{"messages":' + b'[{"a":' * 20_000,
        b'{"messages": [{"role": "user", "content": ' + b"[" * 480 + b"]" * 480 + b"}]}",
        b'{"messages": [{"role": "user", "content": "\\ud800"}]}',
        b'{"messages": [{"role": "user", "content": NaN}]}',
        b'{"n": 1' + b"0" * 5_000 + b', "messages": [{"role": "user", "content": "hi"}]}',
    ],
    ids=["deep", "deep messages", "deep parts", "half a character", "no number", "a long number"],
)
def test_malicious_bodies_cause_no_server_error(fuzz_target: Proxied, body: bytes) -> None:
    sent = httpx.post(
        f"{fuzz_target.url}/v1/chat/completions",
        content=body,
        headers={"Content-Type": "application/json"},
    )
    assert sent.status_code < 500


def test_cut_connections_do_not_stop_the_server(fuzz_target: Proxied) -> None:
    parts = urlsplit(fuzz_target.url)
    body = json.dumps({"model": "m", "stream": True, "messages": [user(HELLO)]}).encode()
    head = (
        f"POST /v1/chat/completions HTTP/1.1\r\nHost: {parts.netloc}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    ).encode()
    whole = head + body
    for end in range(1, len(whole) + 1, 29):
        with socket.create_connection((str(parts.hostname), int(parts.port or 0))) as connection:
            connection.sendall(whole[:end])
    fuzz_target.learned()
    assert said(fuzz_target.client(), [user("Still there?")]) == "Noted: Still there?"
    assert fuzz_target.app.state.proxy._recall_pool.active_calls == 0
