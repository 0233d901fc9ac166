"""Embedding services, called by their own clients over a real socket, with failures."""

from __future__ import annotations

import logging
import math
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memolith import Memolith
from memolith.adapters.models.embedding_service import BatchLimits, ServiceEmbedder
from memolith.adapters.models.ollama import OllamaVectorService
from memolith.adapters.models.openai import OpenAIVectorService
from memolith.adapters.models.resilience import ServiceGuard
from memolith.config import LoadedSettings, load
from memolith.demo.model_server import (
    Answer,
    ModelServer,
    ReceivedRequest,
    Unreliable,
    answer_in_sequence,
    delayed_answer,
    dropped_connection,
    embed_by_words,
    error_answer,
    malformed_answer,
    truncated_answer,
)
from memolith.errors import InvalidConfiguration, ServiceFailed, WrongEmbeddingModel
from memolith.policies.embedding_models import select_model
from memolith.policies.retries import BreakerPolicy, RetryPolicy
from memolith.testing.fakes import HashingEmbedder

pytest.importorskip("openai", reason="the extra memolith[openai] is not installed")
pytest.importorskip("ollama", reason="the extra memolith[ollama] is not installed")

TEXTS = ["The tram to Oslo is red", "Bob owes Anna", "Anna owes Bob a tram"]
KEY = "sk-this-is-my-own-key"
PROVIDERS = ["openai", "ollama"]
NO_PAUSES = RetryPolicy(max_retries=3, first_pause_s=0.0, max_total_s=60.0)


def build_embedder(  # noqa: PLR0913 - options of the tests
    provider: str,
    server: ModelServer,
    *,
    model: str = "of-my-own",
    dimension: int = 0,
    limits: BatchLimits | None = None,
    retrying: RetryPolicy = NO_PAUSES,
    timeout_s: float = 20.0,
    slept: list[float] | None = None,
) -> ServiceEmbedder:
    choice = select_model(model, dimension)
    pauses = [] if slept is None else slept
    guard = ServiceGuard(
        retry_policy=retrying, breaker_policy=BreakerPolicy(failures=1_000), sleep=pauses.append
    )
    if provider == "ollama":
        service: Any = OllamaVectorService(
            choice, api_key=KEY, base_url=server.url, timeout_s=timeout_s
        )
    else:
        service = OpenAIVectorService(
            choice, api_key=KEY, base_url=server.openai_url, timeout_s=timeout_s
        )
    return ServiceEmbedder(service, choice, limits, guard)


@pytest.fixture(params=PROVIDERS)
def provider(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


def expected(texts: Sequence[str], dimension: int = 384) -> Any:
    return HashingEmbedder(dimension).embed(texts, role="document")


class EmbedderFactory:
    """Starts a server and an embedder that calls it; closes both."""

    def __init__(self, provider: str) -> None:
        self.provider = provider
        self._open: list[Any] = []

    def __call__(
        self, rule: Callable[[ReceivedRequest], Any] | None = None, length: int = 384, **more: Any
    ) -> tuple[ModelServer, ServiceEmbedder]:
        server = ModelServer(embed=rule, dimension=length)
        server.__enter__()
        client = build_embedder(self.provider, server, **more)
        self._open += [server, client]
        return server, client

    def close(self) -> None:
        for each in reversed(self._open):
            each.close()


@pytest.fixture
def open_embedder(provider: str) -> Iterator[EmbedderFactory]:
    running = EmbedderFactory(provider)
    yield running
    running.close()


@pytest.fixture
def open_openai_embedder() -> Iterator[EmbedderFactory]:
    running = EmbedderFactory("openai")
    yield running
    running.close()


def test_texts_get_normalised_vectors_in_order(open_embedder: EmbedderFactory) -> None:
    server, client = open_embedder()
    found = client.embed(TEXTS, role="document")
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected(TEXTS), atol=1e-6)
    assert client.dimension == 384
    assert server.requests[-1].key == KEY


def test_requests_are_limited_by_texts_and_characters(open_embedder: EmbedderFactory) -> None:
    server, client = open_embedder(dimension=384, limits=BatchLimits(texts=3, chars=30))
    texts = ["aaaa bbbb", "cccc", "dddd", "eeee", "f" * 29, "gg", "h" * 40, "i"]
    found = client.embed(texts, role="document")
    assert [len(each.texts) for each in server.requests] == [3, 1, 1, 1, 1, 1]
    assert [text for each in server.requests for text in each.texts] == texts
    np.testing.assert_allclose(found, expected(texts), atol=1e-6)


def test_blank_text_is_not_sent_and_gets_zero_vector(open_embedder: EmbedderFactory) -> None:
    server, client = open_embedder(dimension=384)
    found = client.embed(["", TEXTS[0], " \n"], role="document")
    assert [each.texts for each in server.requests] == [(TEXTS[0],)]
    assert not found[0].any()
    assert not found[2].any()
    assert client.embed([], role="document").shape == (0, 384)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("model", "query", "document"),
    [
        ("nomic-embed-text", "search_query: ", "search_document: "),
        (
            "mxbai-embed-large",
            "Represent this sentence for searching relevant passages: ",
            "",
        ),
        ("bge-m3", "", ""),
        ("intfloat/multilingual-e5-small", "query: ", "passage: "),
    ],
)
def test_model_prefix_is_added_to_texts(
    open_embedder: EmbedderFactory, model: str, query: str, document: str
) -> None:
    length = select_model(model, 0).dimension or 0
    server, client = open_embedder(length=length, model=model)
    client.embed(["tram"], role="query")
    client.embed(["tram"], role="document")
    assert [each.texts for each in server.requests] == [(f"{query}tram",), (f"{document}tram",)]
    assert {each.model for each in server.requests} == {model}


def test_shortened_vectors_are_normalised(open_embedder: EmbedderFactory) -> None:
    server, client = open_embedder(length=768, model="nomic-embed-text", dimension=256)
    (found,) = client.embed(["tram"], role="query")
    (whole,) = expected(["search_query: tram"], 768)
    leading = whole[:256] / np.linalg.norm(whole[:256])
    np.testing.assert_allclose(found, leading, atol=1e-6)
    assert (client.name, client.dimension) == ("nomic-embed-text@256", 256)
    assert server.requests[0].dimensions is None


def test_supported_dimension_is_requested_from_service(
    open_openai_embedder: EmbedderFactory,
) -> None:
    server, client = open_openai_embedder(
        length=1536, model="text-embedding-3-small", dimension=512
    )
    (found,) = client.embed(["tram"], role="query")
    assert server.requests[0].dimensions == 512
    assert found.shape == (512,)
    assert np.linalg.norm(found) == pytest.approx(1, abs=1e-6)


def test_full_length_vectors_are_shortened_locally(open_openai_embedder: EmbedderFactory) -> None:
    def deaf(request: ReceivedRequest) -> Answer:
        return Answer(vectors=expected(request.texts, 1536).tolist())

    _, client = open_openai_embedder(deaf, model="text-embedding-3-small", dimension=512)
    (found,) = client.embed(["tram"], role="query")
    (whole,) = expected(["tram"], 1536)
    np.testing.assert_allclose(found, whole[:512] / np.linalg.norm(whole[:512]), atol=1e-6)


def test_reordered_vectors_are_sorted(open_openai_embedder: EmbedderFactory) -> None:
    def turned(request: ReceivedRequest) -> Answer:
        rows = expected(request.texts).tolist()
        return Answer(vectors=rows[::-1], indexes=range(len(rows))[::-1])

    _, client = open_openai_embedder(turned, dimension=384)
    np.testing.assert_allclose(client.embed(TEXTS, role="document"), expected(TEXTS), atol=1e-6)


@pytest.mark.parametrize("places", [[0, 0, 1], [1, 2, 3], [-1, 0, 1]])
def test_ambiguous_vector_positions_are_rejected(
    open_openai_embedder: EmbedderFactory, places: list[int]
) -> None:
    def muddled(request: ReceivedRequest) -> Answer:
        return Answer(vectors=expected(request.texts).tolist(), indexes=places)

    server, client = open_openai_embedder(muddled, dimension=384)
    with pytest.raises(ServiceFailed, match="unreadable"):
        client.embed(TEXTS, role="document")
    assert len(server.requests) == 1 + NO_PAUSES.max_retries


BAD: dict[str, Any] = {
    "2 vectors for 3 texts": [[1.0, 0.0], [0.0, 1.0]],
    "4 vectors for 3 texts": [[1.0, 0.0]] * 4,
    "0 vectors for 3 texts": [],
    "not finite": [[1.0, math.nan]] * 3,
    "finite ": [[1.0, math.inf]] * 3,
    "shapes": [[1.0, 0.0], [1.0], [1.0, 0.0]],
    "shapes ": [[], [], []],
    "length is zero": [[0.0, 0.0]] * 3,
    "zero or not finite": [[1e200, 1e200]] * 3,
    "unreadable|not return a list": [["tram", "Oslo"]] * 3,
}


@pytest.mark.parametrize("message", BAD)
def test_invalid_vectors_are_retried_then_rejected(
    open_embedder: EmbedderFactory, message: str
) -> None:
    server, client = open_embedder(lambda _: Answer(vectors=BAD[message]), dimension=2)
    with pytest.raises(ServiceFailed, match=message.strip()) as raised:
        client.embed(TEXTS, role="document")
    assert len(server.requests) == 1 + NO_PAUSES.max_retries
    assert raised.value.retryable


def test_retry_recovers_from_bad_responses(open_embedder: EmbedderFactory) -> None:
    script = [Answer(vectors=BAD["not finite"]), error_answer(500), dropped_connection()]
    server, client = open_embedder(answer_in_sequence(script), dimension=384)
    np.testing.assert_allclose(client.embed(TEXTS, role="document"), expected(TEXTS), atol=1e-6)
    assert len(server.requests) == 4


def test_wrong_dimension_is_rejected_without_retry(open_embedder: EmbedderFactory) -> None:
    server, client = open_embedder(length=384, model="nomic-embed-text")
    with pytest.raises(ServiceFailed, match="384 dimensions instead of 768") as raised:
        client.embed(TEXTS, role="document")
    assert len(server.requests) == 1
    assert not raised.value.retryable


def test_unknown_dimension_is_requested_once(open_embedder: EmbedderFactory) -> None:
    server, client = open_embedder(length=100)
    before = client.known_dimension
    assert client.dimension == 100
    assert (before, client.known_dimension) == (None, 100)
    assert client.embed(TEXTS, role="document").shape == (3, 100)
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    "failure",
    [
        error_answer(429),
        error_answer(500),
        error_answer(503),
        dropped_connection(),
        truncated_answer(Answer()),
        malformed_answer(),
    ],
    ids=["429", "500", "503", "dropped", "cut off", "malformed"],
)
def test_transient_failure_is_retried(open_embedder: EmbedderFactory, failure: Answer) -> None:
    server, client = open_embedder(answer_in_sequence([failure, failure]), dimension=384)
    np.testing.assert_allclose(client.embed(TEXTS, role="document"), expected(TEXTS), atol=1e-6)
    assert len(server.requests) == 3


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422, 501])
def test_permanent_failure_is_not_retried(open_embedder: EmbedderFactory, status: int) -> None:
    server, client = open_embedder(lambda _: error_answer(status), dimension=384)
    with pytest.raises(ServiceFailed) as raised:
        client.embed(TEXTS, role="document")
    assert (raised.value.status, raised.value.retryable) == (status, False)
    assert len(server.requests) == 1


def test_retry_waits_for_retry_after_time(open_openai_embedder: EmbedderFactory) -> None:
    slept: list[float] = []
    script = answer_in_sequence([error_answer(429, retry_after_s=7)])
    _, client = open_openai_embedder(script, dimension=384, slept=slept)
    client.embed(TEXTS, role="document")
    (pause_s,) = slept
    assert 7 <= pause_s < 8


def test_slow_service_times_out(open_embedder: EmbedderFactory) -> None:
    once = RetryPolicy(max_retries=0)
    _, client = open_embedder(
        lambda request: delayed_answer(embed_by_words()(request), 30),
        dimension=384,
        timeout_s=0.2,
        retrying=once,
    )
    with pytest.raises(ServiceFailed, match=r"timed out after 0\.2 s") as raised:
        client.embed(TEXTS, role="document")
    assert raised.value.retryable


def test_unreachable_service_raises_retryable_failure(provider: str) -> None:
    with ModelServer() as server:
        pass
    client = build_embedder(provider, server, dimension=384)
    with pytest.raises(ServiceFailed, match="unreachable") as raised:
        client.embed(TEXTS, role="document")
    assert raised.value.retryable
    client.close()


def test_retries_recover_every_vector_of_unreliable_service(open_embedder: EmbedderFactory) -> None:
    unreliable = Unreliable(embed_by_words(), seed=7, rate=1 / 3, delay_s=0.5)
    patient = RetryPolicy(max_retries=20, first_pause_s=0.0)
    texts = [f"the tram of {place} is late" for place in range(60)]
    _, client = open_embedder(
        unreliable, dimension=384, limits=BatchLimits(texts=3), timeout_s=0.3, retrying=patient
    )
    np.testing.assert_allclose(client.embed(texts, role="document"), expected(texts), atol=1e-6)
    assert unreliable.corrupted


@pytest.mark.parametrize(
    "failure",
    [
        error_answer(401),
        error_answer(400),
        error_answer(500),
        malformed_answer(Answer()),
        Answer(vectors=BAD["unreadable|not return a list"]),
        dropped_connection(),
    ],
    ids=["401", "400", "500", "malformed", "words", "dropped"],
)
def test_errors_and_logs_contain_no_text_or_key(
    open_embedder: EmbedderFactory, failure: Answer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    # The server's error responses repeat the request and the key.
    server, client = open_embedder(lambda _: failure, dimension=384)
    with pytest.raises(ServiceFailed) as raised:
        client.embed(["tram to Oslo"], role="document")
    assert server.requests
    error_text = "".join(traceback.format_exception(raised.value)[-1:]) + repr(vars(raised.value))
    seen: BaseException | None = raised.value
    while seen is not None:
        error_text += str(seen)
        seen = seen.__cause__ or (None if seen.__suppress_context__ else seen.__context__)
    for secret in ("Oslo", KEY):
        assert secret not in error_text
        assert secret not in caplog.text


# --- through the engine -----------------------------------------------------------------------


def build_config(provider: str, server: ModelServer, **more: object) -> LoadedSettings:
    overrides = {
        "embedding.provider": provider,
        "embedding.model": "nomic-embed-text",
        "embedding.base_url": server.url if provider == "ollama" else server.openai_url,
        "enable_encryption": False,
        **{f"embedding.{name}": value for name, value in more.items()},
    }
    return load(env={}, overrides=overrides)


def test_store_is_filled_and_recalled_through_service(provider: str, tmp_path: Path) -> None:
    file = tmp_path / "memory.db"
    with ModelServer(dimension=768) as server:
        with Memolith.open(file, config=build_config(provider, server, dimension=256)) as memory:
            memory.remember("Allergic to hazelnuts", owner="alice")
            memory.learn("My name is Alice. I like trams.", owner="alice")
        with Memolith.open(file, config=build_config(provider, server, dimension=256)) as memory:
            found = memory.recall("trams", owner="alice", mode="vector").memories
            assert "trams" in found[0].content
            store = memory._app.store
            assert (store.meta.embedder, store.meta.dimension) == ("nomic-embed-text@256", 256)
        assert server.requests[-1].texts == ("search_query: trams",)
        sent = [text for each in server.requests[:-1] for text in each.texts]
        assert sent
        assert all(text.startswith("search_document: ") for text in sent)


def test_secret_is_redacted_before_text_is_sent(provider: str) -> None:
    token = "gh~p_a8Kd03Lmqpx9Zt7bVn2cRw5yUe1iOaSdFgHj".replace("~", "")
    with (
        ModelServer(dimension=768) as server,
        Memolith.open(":memory:", config=build_config(provider, server)) as memory,
    ):
        memory.remember(f"The tram's key is {token}", owner="alice")
        memory.learn(f"I use {token} for the tram.", owner="alice")
        memory.recall(f"what is {token}", owner="alice")
        sent = " ".join(text for each in server.requests for text in each.texts)
    assert "REDACTED" in sent
    assert token not in sent


def test_store_of_other_model_or_dimension_is_rejected(provider: str, tmp_path: Path) -> None:
    file = tmp_path / "memory.db"
    with ModelServer(dimension=768) as server:
        with Memolith.open(file, config=build_config(provider, server)) as memory:
            memory.remember("Allergic to hazelnuts", owner="alice")
        asked = len(server.requests)
        for other in ({"dimension": 256}, {"model": "bge-m3"}, {"model": "of-my-own"}):
            with pytest.raises(WrongEmbeddingModel, match="memolith reembed --model") as raised:
                Memolith.open(file, config=build_config(provider, server, **other))
            assert raised.value.stored == "nomic-embed-text (768 dimensions)"
        assert len(server.requests) == asked
        with pytest.raises(WrongEmbeddingModel):
            Memolith.open(file, embedder=HashingEmbedder(768))


def test_store_accepts_same_model_from_another_service(tmp_path: Path) -> None:
    file = tmp_path / "memory.db"
    with ModelServer(dimension=768) as server:
        with Memolith.open(file, config=build_config("ollama", server)) as memory:
            memory.remember("Allergic to hazelnuts", owner="alice")
        with Memolith.open(file, config=build_config("openai", server)) as memory:
            (found,) = memory.recall("hazelnuts", owner="alice", mode="vector").memories
    assert found.content == "Allergic to hazelnuts"


def test_store_opens_and_reads_while_service_is_down(provider: str, tmp_path: Path) -> None:
    file = tmp_path / "memory.db"
    with ModelServer(dimension=100) as server:
        config = build_config(provider, server, model="of-my-own", timeout_ms=1)
        patient = build_config(provider, server, model="of-my-own")
        with Memolith.open(file, config=patient) as memory:
            stored = memory.remember("Allergic to hazelnuts", owner="alice")
    with Memolith.open(file, config=config) as memory:
        assert memory.get(stored.id, owner="alice") == stored
        assert memory.recall("hazelnuts", owner="alice", mode="keyword").memories
        with pytest.raises(ServiceFailed):
            memory.remember("Lives in Oslo", owner="alice")
        assert memory.active_count(owner="alice") == 1


def test_wrong_dimension_is_rejected_at_first_use(provider: str, tmp_path: Path) -> None:
    file = tmp_path / "memory.db"
    with (
        ModelServer(dimension=100) as server,
        Memolith.open(file, config=build_config(provider, server, model="mine")) as memory,
    ):
        memory.remember("Allergic to hazelnuts", owner="alice")
    with (
        ModelServer(dimension=50) as server,
        Memolith.open(file, config=build_config(provider, server, model="mine")) as memory,
    ):
        with pytest.raises(WrongEmbeddingModel):
            memory.remember("Lives in Oslo", owner="alice")
        with pytest.raises(WrongEmbeddingModel):
            memory.recall("Oslo", owner="alice")
        assert memory.active_count(owner="alice") == 1


@pytest.mark.parametrize(
    ("more", "name", "message"),
    [
        ({"model": "all-MiniLM-L6-v2"}, "embedding.model", "name a model"),
        ({"model": "bge-m3", "dimension": 384}, "embedding.dimension", "1024, or 0"),
        ({"dimension": 32}, "embedding.dimension", "64 to 768"),
        ({"api_key_env": "NO_SUCH_KEY"}, "embedding.api_key_env", "NO_SUCH_KEY is not set"),
        ({"api_key_env": "sk-abcdef"}, "embedding.api_key_env", "must be the name"),
        ({"api_key_file": "/nowhere/at/all"}, "embedding.api_key_file", "can't be read"),
        ({"base_url": "localhost:11434"}, "embedding.base_url", "must be a URL"),
    ],
)
def test_invalid_settings_are_rejected_at_open(
    provider: str, more: dict[str, object], name: str, message: str
) -> None:
    with ModelServer() as server:
        config = build_config(provider, server, **more)
        with pytest.raises(InvalidConfiguration, match=message) as raised:
            Memolith.open(":memory:", config=config)
        assert raised.value.name == name


def test_openai_key_is_not_sent_to_other_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("MY_OWN", "another")
    with ModelServer(dimension=768) as server:
        for provider in PROVIDERS:
            for more in ({}, {"api_key_env": "MY_OWN"}):
                config = build_config(provider, server, **more)
                with Memolith.open(":memory:", config=config) as memory:
                    memory.remember("Allergic to hazelnuts", owner="alice")
        assert [each.key for each in server.requests] == ["none", "another", "", "another"]


def test_openai_provider_requires_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    overrides = {"embedding.provider": "openai", "embedding.model": "text-embedding-3-small"}
    with pytest.raises(InvalidConfiguration, match="OPENAI_API_KEY"):
        Memolith.open(":memory:", config=load(env={}, overrides=overrides))


def test_unsupported_dimension_of_local_model_is_rejected() -> None:
    with pytest.raises(InvalidConfiguration, match="dimension 384, not 256"):
        Memolith.open(":memory:", config=load(env={}, overrides={"embedding.dimension": 256}))
    with Memolith.open(":memory:", config=load(env={}, overrides={"embedding.dimension": 384})):
        pass
