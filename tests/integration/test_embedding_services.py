"""Embedding services by their own clients, over a real socket, with all that goes wrong there."""

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
    Asked,
    ModelServer,
    Unreliable,
    by_words,
    cut_off,
    dropped,
    in_turn,
    late,
    malformed,
    refused,
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
EAGER = RetryPolicy(max_retries=3, first_pause_s=0.0, max_total_s=60.0)


def embedder(  # noqa: PLR0913 - what a test may want to say
    provider: str,
    server: ModelServer,
    *,
    model: str = "of-my-own",
    dimension: int = 0,
    limits: BatchLimits | None = None,
    retrying: RetryPolicy = EAGER,
    timeout_s: float = 20.0,
    slept: list[float] | None = None,
) -> ServiceEmbedder:
    told = select_model(model, dimension)
    pauses = [] if slept is None else slept
    care = ServiceGuard(
        retry_policy=retrying, breaker_policy=BreakerPolicy(failures=1_000), sleep=pauses.append
    )
    if provider == "ollama":
        asked: Any = OllamaVectorService(
            told, api_key=KEY, base_url=server.url, timeout_s=timeout_s
        )
    else:
        asked = OpenAIVectorService(
            told, api_key=KEY, base_url=server.openai_url, timeout_s=timeout_s
        )
    return ServiceEmbedder(asked, told, limits, care)


@pytest.fixture(params=PROVIDERS)
def provider(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


def expected(texts: Sequence[str], dimension: int = 384) -> Any:
    return HashingEmbedder(dimension).embed(texts, role="document")


class Opened:
    """Runs a server and an embedder that asks it, and ends both."""

    def __init__(self, provider: str) -> None:
        self.provider = provider
        self._open: list[Any] = []

    def __call__(
        self, rule: Callable[[Asked], Any] | None = None, length: int = 384, **more: Any
    ) -> tuple[ModelServer, ServiceEmbedder]:
        server = ModelServer(embed=rule, dimension=length)
        server.__enter__()
        asking = embedder(self.provider, server, **more)
        self._open += [server, asking]
        return server, asking

    def close(self) -> None:
        for each in reversed(self._open):
            each.close()


@pytest.fixture
def opened(provider: str) -> Iterator[Opened]:
    running = Opened(provider)
    yield running
    running.close()


@pytest.fixture
def by_openai() -> Iterator[Opened]:
    running = Opened("openai")
    yield running
    running.close()


def test_each_text_gets_its_own_vector_in_order_at_length_1(opened: Opened) -> None:
    server, asking = opened()
    found = asking.embed(TEXTS, role="document")
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected(TEXTS), atol=1e-6)
    assert asking.dimension == 384
    assert server.asked[-1].key == KEY


def test_requests_are_bounded_by_texts_and_by_characters(opened: Opened) -> None:
    server, asking = opened(dimension=384, limits=BatchLimits(texts=3, chars=30))
    texts = ["aaaa bbbb", "cccc", "dddd", "eeee", "f" * 29, "gg", "h" * 40, "i"]
    found = asking.embed(texts, role="document")
    assert [len(each.texts) for each in server.asked] == [3, 1, 1, 1, 1, 1]
    assert [text for each in server.asked for text in each.texts] == texts
    np.testing.assert_allclose(found, expected(texts), atol=1e-6)


def test_a_text_of_nothing_is_not_sent_and_has_no_direction(opened: Opened) -> None:
    server, asking = opened(dimension=384)
    found = asking.embed(["", TEXTS[0], " \n"], role="document")
    assert [each.texts for each in server.asked] == [(TEXTS[0],)]
    assert not found[0].any()
    assert not found[2].any()
    assert asking.embed([], role="document").shape == (0, 384)
    assert len(server.asked) == 1


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
def test_the_prefix_that_a_model_wants_is_sent(
    opened: Opened, model: str, query: str, document: str
) -> None:
    length = select_model(model, 0).dimension or 0
    server, asking = opened(length=length, model=model)
    asking.embed(["tram"], role="query")
    asking.embed(["tram"], role="document")
    assert [each.texts for each in server.asked] == [(f"{query}tram",), (f"{document}tram",)]
    assert {each.model for each in server.asked} == {model}


def test_leading_numbers_are_kept_and_brought_to_length_1(opened: Opened) -> None:
    server, asking = opened(length=768, model="nomic-embed-text", dimension=256)
    (found,) = asking.embed(["tram"], role="query")
    (whole,) = expected(["search_query: tram"], 768)
    leading = whole[:256] / np.linalg.norm(whole[:256])
    np.testing.assert_allclose(found, leading, atol=1e-6)
    assert (asking.name, asking.dimension) == ("nomic-embed-text@256", 256)
    assert server.asked[0].dimensions is None


def test_a_model_that_can_is_asked_for_shorter_vectors(by_openai: Opened) -> None:
    server, asking = by_openai(length=1536, model="text-embedding-3-small", dimension=512)
    (found,) = asking.embed(["tram"], role="query")
    assert server.asked[0].dimensions == 512
    assert found.shape == (512,)
    assert np.linalg.norm(found) == pytest.approx(1, abs=1e-6)


def test_a_service_that_does_not_shorten_them_is_helped(by_openai: Opened) -> None:
    def deaf(asked: Asked) -> Answer:
        return Answer(vectors=expected(asked.texts, 1536).tolist())

    _, asking = by_openai(deaf, model="text-embedding-3-small", dimension=512)
    (found,) = asking.embed(["tram"], role="query")
    (whole,) = expected(["tram"], 1536)
    np.testing.assert_allclose(found, whole[:512] / np.linalg.norm(whole[:512]), atol=1e-6)


def test_vectors_that_come_in_another_order_are_put_in_order(by_openai: Opened) -> None:
    def turned(asked: Asked) -> Answer:
        rows = expected(asked.texts).tolist()
        return Answer(vectors=rows[::-1], places=range(len(rows))[::-1])

    _, asking = by_openai(turned, dimension=384)
    np.testing.assert_allclose(asking.embed(TEXTS, role="document"), expected(TEXTS), atol=1e-6)


@pytest.mark.parametrize("places", [[0, 0, 1], [1, 2, 3], [-1, 0, 1]])
def test_vectors_of_no_certain_text_are_refused(by_openai: Opened, places: list[int]) -> None:
    def muddled(asked: Asked) -> Answer:
        return Answer(vectors=expected(asked.texts).tolist(), places=places)

    server, asking = by_openai(muddled, dimension=384)
    with pytest.raises(ServiceFailed, match="unreadable"):
        asking.embed(TEXTS, role="document")
    assert len(server.asked) == 1 + EAGER.max_retries


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


@pytest.mark.parametrize("said", BAD)
def test_an_answer_that_is_no_vector_a_text_is_asked_for_again_then_refused(
    opened: Opened, said: str
) -> None:
    server, asking = opened(lambda _: Answer(vectors=BAD[said]), dimension=2)
    with pytest.raises(ServiceFailed, match=said.strip()) as raised:
        asking.embed(TEXTS, role="document")
    assert len(server.asked) == 1 + EAGER.max_retries
    assert raised.value.retryable


def test_one_bad_answer_is_made_good_by_the_next(opened: Opened) -> None:
    script = [Answer(vectors=BAD["not finite"]), refused(500), dropped()]
    server, asking = opened(in_turn(script), dimension=384)
    np.testing.assert_allclose(asking.embed(TEXTS, role="document"), expected(TEXTS), atol=1e-6)
    assert len(server.asked) == 4


def test_vectors_of_another_length_are_refused_at_once(opened: Opened) -> None:
    server, asking = opened(length=384, model="nomic-embed-text")
    with pytest.raises(ServiceFailed, match="384 dimensions instead of 768") as raised:
        asking.embed(TEXTS, role="document")
    assert len(server.asked) == 1
    assert not raised.value.retryable


def test_a_length_that_only_the_service_knows_is_asked_for_once(opened: Opened) -> None:
    server, asking = opened(length=100)
    before = asking.known_dimension
    assert asking.dimension == 100
    assert (before, asking.known_dimension) == (None, 100)
    assert asking.embed(TEXTS, role="document").shape == (3, 100)
    assert len(server.asked) == 2


@pytest.mark.parametrize(
    "failure",
    [refused(429), refused(500), refused(503), dropped(), cut_off(Answer()), malformed()],
    ids=["429", "500", "503", "dropped", "cut off", "malformed"],
)
def test_what_may_pass_is_tried_again(opened: Opened, failure: Answer) -> None:
    server, asking = opened(in_turn([failure, failure]), dimension=384)
    np.testing.assert_allclose(asking.embed(TEXTS, role="document"), expected(TEXTS), atol=1e-6)
    assert len(server.asked) == 3


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422, 501])
def test_what_will_not_pass_is_not_tried_again(opened: Opened, status: int) -> None:
    server, asking = opened(lambda _: refused(status), dimension=384)
    with pytest.raises(ServiceFailed) as raised:
        asking.embed(TEXTS, role="document")
    assert (raised.value.status, raised.value.retryable) == (status, False)
    assert len(server.asked) == 1


def test_a_service_that_says_when_to_come_back_is_heeded(by_openai: Opened) -> None:
    slept: list[float] = []
    script = in_turn([refused(429, retry_after_s=7)])
    _, asking = by_openai(script, dimension=384, slept=slept)
    asking.embed(TEXTS, role="document")
    (pause_s,) = slept
    assert 7 <= pause_s < 8


def test_a_service_that_does_not_answer_is_not_waited_for(opened: Opened) -> None:
    once = RetryPolicy(max_retries=0)
    _, asking = opened(
        lambda asked: late(by_words()(asked), 30), dimension=384, timeout_s=0.2, retrying=once
    )
    with pytest.raises(ServiceFailed, match=r"timed out after 0\.2 s") as raised:
        asking.embed(TEXTS, role="document")
    assert raised.value.retryable


def test_a_service_that_is_not_there_says_so(provider: str) -> None:
    with ModelServer() as server:
        pass
    asking = embedder(provider, server, dimension=384)
    with pytest.raises(ServiceFailed, match="unreachable") as raised:
        asking.embed(TEXTS, role="document")
    assert raised.value.retryable
    asking.close()


def test_a_third_of_failures_changes_no_vector(opened: Opened) -> None:
    unreliable = Unreliable(by_words(), seed=7, rate=1 / 3, delay_s=0.5)
    patient = RetryPolicy(max_retries=20, first_pause_s=0.0)
    texts = [f"the tram of {place} is late" for place in range(60)]
    _, asking = opened(
        unreliable, dimension=384, limits=BatchLimits(texts=3), timeout_s=0.3, retrying=patient
    )
    np.testing.assert_allclose(asking.embed(texts, role="document"), expected(texts), atol=1e-6)
    assert unreliable.spoiled


@pytest.mark.parametrize(
    "failure",
    [
        refused(401),
        refused(400),
        refused(500),
        malformed(Answer()),
        Answer(vectors=BAD["unreadable|not return a list"]),
        dropped(),
    ],
    ids=["401", "400", "500", "malformed", "words", "dropped"],
)
def test_no_error_and_no_log_holds_a_text_or_the_key(
    opened: Opened, failure: Answer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    # The server repeats in its refusals what it was asked, and the key.
    server, asking = opened(lambda _: failure, dimension=384)
    with pytest.raises(ServiceFailed) as raised:
        asking.embed(["tram to Oslo"], role="document")
    assert server.asked
    told = "".join(traceback.format_exception(raised.value)[-1:]) + repr(vars(raised.value))
    seen: BaseException | None = raised.value
    while seen is not None:
        told += str(seen)
        seen = seen.__cause__ or (None if seen.__suppress_context__ else seen.__context__)
    for secret in ("Oslo", KEY):
        assert secret not in told
        assert secret not in caplog.text


# --- through the engine -----------------------------------------------------------------------


def configured(provider: str, server: ModelServer, **more: object) -> LoadedSettings:
    overrides = {
        "embedding.provider": provider,
        "embedding.model": "nomic-embed-text",
        "embedding.base_url": server.url if provider == "ollama" else server.openai_url,
        "enable_encryption": False,
        **{f"embedding.{name}": value for name, value in more.items()},
    }
    return load(env={}, overrides=overrides)


def test_a_store_is_built_and_recalled_through_a_service(provider: str, tmp_path: Path) -> None:
    file = tmp_path / "memory.db"
    with ModelServer(dimension=768) as server:
        with Memolith.open(file, config=configured(provider, server, dimension=256)) as memory:
            memory.remember("Allergic to hazelnuts", owner="alice")
            memory.learn("My name is Alice. I like trams.", owner="alice")
        with Memolith.open(file, config=configured(provider, server, dimension=256)) as memory:
            found = memory.recall("trams", owner="alice", mode="vector").memories
            assert "trams" in found[0].content
            store = memory._app.store
            assert (store.meta.embedder, store.meta.dimension) == ("nomic-embed-text@256", 256)
        assert server.asked[-1].texts == ("search_query: trams",)
        sent = [text for each in server.asked[:-1] for text in each.texts]
        assert sent
        assert all(text.startswith("search_document: ") for text in sent)


def test_a_secret_is_taken_out_before_a_text_leaves(provider: str) -> None:
    token = "gh~p_a8Kd03Lmqpx9Zt7bVn2cRw5yUe1iOaSdFgHj".replace("~", "")
    with (
        ModelServer(dimension=768) as server,
        Memolith.open(":memory:", config=configured(provider, server)) as memory,
    ):
        memory.remember(f"The tram's key is {token}", owner="alice")
        memory.learn(f"I use {token} for the tram.", owner="alice")
        memory.recall(f"what is {token}", owner="alice")
        sent = " ".join(text for each in server.asked for text in each.texts)
    assert "REDACTED" in sent
    assert token not in sent


def test_a_store_of_another_model_or_length_is_refused(provider: str, tmp_path: Path) -> None:
    file = tmp_path / "memory.db"
    with ModelServer(dimension=768) as server:
        with Memolith.open(file, config=configured(provider, server)) as memory:
            memory.remember("Allergic to hazelnuts", owner="alice")
        asked = len(server.asked)
        for other in ({"dimension": 256}, {"model": "bge-m3"}, {"model": "of-my-own"}):
            with pytest.raises(WrongEmbeddingModel, match="memolith reembed --model") as raised:
                Memolith.open(file, config=configured(provider, server, **other))
            assert raised.value.stored == "nomic-embed-text (768 dimensions)"
        assert len(server.asked) == asked
        with pytest.raises(WrongEmbeddingModel):
            Memolith.open(file, embedder=HashingEmbedder(768))


def test_one_model_is_the_same_by_whatever_service_it_is_asked(tmp_path: Path) -> None:
    file = tmp_path / "memory.db"
    with ModelServer(dimension=768) as server:
        with Memolith.open(file, config=configured("ollama", server)) as memory:
            memory.remember("Allergic to hazelnuts", owner="alice")
        with Memolith.open(file, config=configured("openai", server)) as memory:
            (found,) = memory.recall("hazelnuts", owner="alice", mode="vector").memories
    assert found.content == "Allergic to hazelnuts"


def test_opening_asks_nothing_and_a_service_that_is_down_hides_nothing(
    provider: str, tmp_path: Path
) -> None:
    file = tmp_path / "memory.db"
    with ModelServer(dimension=100) as server:
        config = configured(provider, server, model="of-my-own", timeout_ms=1)
        patient = configured(provider, server, model="of-my-own")
        with Memolith.open(file, config=patient) as memory:
            kept = memory.remember("Allergic to hazelnuts", owner="alice")
    with Memolith.open(file, config=config) as memory:
        assert memory.get(kept.id, owner="alice") == kept
        assert memory.recall("hazelnuts", owner="alice", mode="keyword").memories
        with pytest.raises(ServiceFailed):
            memory.remember("Lives in Oslo", owner="alice")
        assert memory.active_count(owner="alice") == 1


def test_a_length_that_comes_to_light_late_is_refused_then(provider: str, tmp_path: Path) -> None:
    file = tmp_path / "memory.db"
    with (
        ModelServer(dimension=100) as server,
        Memolith.open(file, config=configured(provider, server, model="mine")) as memory,
    ):
        memory.remember("Allergic to hazelnuts", owner="alice")
    with (
        ModelServer(dimension=50) as server,
        Memolith.open(file, config=configured(provider, server, model="mine")) as memory,
    ):
        with pytest.raises(WrongEmbeddingModel):
            memory.remember("Lives in Oslo", owner="alice")
        with pytest.raises(WrongEmbeddingModel):
            memory.recall("Oslo", owner="alice")
        assert memory.active_count(owner="alice") == 1


@pytest.mark.parametrize(
    ("more", "name", "said"),
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
def test_settings_that_can_not_work_are_refused_at_opening(
    provider: str, more: dict[str, object], name: str, said: str
) -> None:
    with ModelServer() as server:
        config = configured(provider, server, **more)
        with pytest.raises(InvalidConfiguration, match=said) as raised:
            Memolith.open(":memory:", config=config)
        assert raised.value.name == name


def test_the_key_of_openai_is_for_openai_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("MY_OWN", "another")
    with ModelServer(dimension=768) as server:
        for provider in PROVIDERS:
            for more in ({}, {"api_key_env": "MY_OWN"}):
                config = configured(provider, server, **more)
                with Memolith.open(":memory:", config=config) as memory:
                    memory.remember("Allergic to hazelnuts", owner="alice")
        assert [each.key for each in server.asked] == ["none", "another", "", "another"]


def test_openai_itself_wants_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    overrides = {"embedding.provider": "openai", "embedding.model": "text-embedding-3-small"}
    with pytest.raises(InvalidConfiguration, match="OPENAI_API_KEY"):
        Memolith.open(":memory:", config=load(env={}, overrides=overrides))


def test_a_length_that_the_local_model_has_not_is_refused() -> None:
    with pytest.raises(InvalidConfiguration, match="dimension 384, not 256"):
        Memolith.open(":memory:", config=load(env={}, overrides={"embedding.dimension": 256}))
    with Memolith.open(":memory:", config=load(env={}, overrides={"embedding.dimension": 384})):
        pass
