"""Recall with a reranker: its scores determine the order; without it, scores are blended."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from memolith import Memolith
from memolith.adapters.models.sentence_transformers import CrossEncoderReranker
from memolith.domain.recall import RecallResult
from memolith.errors import ServiceFailed
from memolith.testing.fakes import HashingEmbedder, WordCounter
from support.rows import check_each

Scoring = Callable[[str, list[str]], Sequence[float]]

TEXTS = ("The database is PostgreSQL", "The database is large", "The database is old and slow")


@contextmanager
def open_chunks(
    reranker: Scoring | None, config: Path | None = None, profile: str = "chunks"
) -> Iterator[Memolith]:
    with Memolith.open(
        ":memory:",
        profile=profile,
        embedder=HashingEmbedder(),
        tokens=WordCounter(),
        reranker=reranker,
        config=config,
    ) as engine:
        for text in TEXTS:
            engine.remember(text, kind="semantic" if profile == "chunks" else None, owner="alice")
        yield engine


def by_length(query: str, texts: list[str]) -> list[float]:
    del query
    return [float(len(text)) for text in texts]


def contents(result: RecallResult) -> list[str]:
    return [one.content for one in result.memories]


def test_reranker_scores_replace_similarity_scores() -> None:
    with open_chunks(by_length) as engine:
        result = engine.recall("The database is what?", owner="alice", trace=True)
    assert contents(result) == sorted(TEXTS, key=len, reverse=True)
    first = result.memories[0].score
    assert first.rerank == first.total == len(result.memories[0].content)
    assert first.parts == {"rerank": first.total}
    assert first.similarity > 0
    assert result.trace is not None
    assert "rerank" in result.trace.seconds


def test_reranker_reads_only_searched_and_eligible_memories() -> None:
    read: list[tuple[str, list[str]]] = []

    def reads(query: str, texts: list[str]) -> list[float]:
        read.append((query, sorted(texts)))
        return [0.5] * len(texts)

    with open_chunks(reads) as engine:
        engine.remember("I prefer databases", kind="procedural", owner="alice")
        engine.remember("The database is a secret", importance=0.1, owner="alice")
        result = engine.recall("The database is what?", owner="alice")
    assert read == [("The database is what?", sorted(TEXTS))]
    assert contents(result)[0] == "I prefer databases"
    assert result.memories[0].score.rerank is None


def test_other_profiles_do_not_call_the_reranker() -> None:
    def fails(query: str, texts: list[str]) -> list[float]:
        message = f"asked about {query} and {texts}"
        raise AssertionError(message)

    with open_chunks(fails, profile="standard") as engine:
        assert engine.recall("database", owner="alice").memories


def test_unavailable_reranker_blends_scores_and_warns_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def is_missing(query: str, texts: list[str]) -> list[float]:
        del query, texts
        raise ServiceFailed("the cross-encoder", "is not there")

    with caplog.at_level(logging.WARNING), open_chunks(is_missing) as engine:
        result = engine.recall("The database is PostgreSQL?", owner="alice")
        engine.recall("The database is large?", owner="alice")
    assert contents(result)[0] == TEXTS[0]
    best = result.memories[0].score
    assert best.rerank is None
    assert best.parts["similarity"] == pytest.approx(0.6 * best.similarity)
    assert best.parts["importance"] == pytest.approx(0.1 * result.memories[0].record.importance)  # type: ignore[union-attr]
    assert 0 < best.parts["text"] < 0.3
    assert [record.message for record in caplog.records] == [
        "the reranker failed, results are ranked without it: the cross-encoder: is not there"
    ]


@check_each(
    "given", [[0.5], [0.5, float("nan"), 0.5], None, ["high"] * 3, [[0.5, 0.5]] * 3, [10**400] * 3]
)
def test_invalid_reranker_scores_raise_an_error(given: Any) -> None:
    with open_chunks(lambda _query, _texts: given) as engine, pytest.raises(ServiceFailed):
        engine.recall("The database is what?", owner="alice")


def test_memories_written_during_reranking_are_reranked() -> None:
    engines: list[Memolith] = []
    read: list[str] = []

    def writes(query: str, texts: list[str]) -> list[float]:
        del query
        read.extend(texts)
        engines[0].remember(f"The database is number {len(read)}", kind="semantic", owner="alice")
        return [float(len(text)) for text in texts]

    with open_chunks(writes) as engine:
        engines.append(engine)
        result = engine.recall("The database is what?", owner="alice", top_k=10)
    scored = {one.content: one.score.rerank for one in result.memories}
    assert set(TEXTS) < set(scored)
    assert all(score == len(content) for content, score in scored.items())
    assert len(read) == len(set(read))


def test_error_for_a_missing_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "sentence_transformers", None)
    with pytest.raises(ServiceFailed, match=r"pip install 'memolith\[rerank\]'"):
        CrossEncoderReranker("any").score("query", ["text"])


def test_configuration_enables_the_reranker(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    config = tmp_path / "memolith.toml"
    config.write_text(
        f'[memory.chunks]\nreranker_enabled = true\nreranker_model = "{tmp_path / "none"}"\n'
    )
    with caplog.at_level(logging.WARNING), open_chunks(None, config) as engine:
        result = engine.recall("The database is PostgreSQL?", owner="alice")
    assert contents(result)[0] == TEXTS[0]
    assert "ranked without it" in caplog.text
