"""A real cross-encoder with tiny random weights, run by sentence-transformers."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from memolith import Memolith
from memolith.adapters.models.sentence_transformers import CrossEncoderReranker
from memolith.errors import ServiceFailed
from memolith.testing.fakes import HashingEmbedder, WordCounter

torch = pytest.importorskip("torch", reason="the extra memolith[rerank] is not installed")
transformers = pytest.importorskip(
    "transformers", reason="the extra memolith[rerank] is not installed"
)
pytest.importorskip("sentence_transformers", reason="the extra memolith[rerank] is not installed")

WORDS = "[PAD] [UNK] [CLS] [SEP] [MASK] which database we use is tea i drink postgres the large"
TEXTS = ["we use postgres", "i drink tea", "the database is large"]


def save_model(folder: Path, outputs: int) -> Path:
    """Save a one-layer cross-encoder with reproducible random weights."""
    folder.mkdir()
    (folder / "vocab.txt").write_text("\n".join(WORDS.split()))
    transformers.BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    torch.manual_seed(7)
    shape = transformers.BertConfig(
        vocab_size=len(WORDS.split()),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=64,
        num_labels=outputs,
        initializer_range=1.0,
    )
    transformers.BertForSequenceClassification(shape).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_model(tmp_path_factory.mktemp("models") / "tiny", outputs=1)


def test_scores_do_not_depend_on_other_texts(model: Path) -> None:
    reranker = CrossEncoderReranker(str(model))
    scores = reranker.score("which database", TEXTS)
    assert len(set(scores)) == 3
    alone = [reranker.score("which database", [text])[0] for text in TEXTS]
    assert alone == pytest.approx(scores, abs=1e-5)
    assert reranker.score("which database", []) == []


def test_reranker_can_be_shared_by_threads(model: Path) -> None:
    reranker = CrossEncoderReranker(str(model))
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: reranker.score("which database", TEXTS), range(8)))
    assert all(one == pytest.approx(found[0], abs=1e-5) for one in found)


def test_long_text_is_truncated(model: Path) -> None:
    assert len(CrossEncoderReranker(str(model)).score("which database", ["tea " * 500])) == 1


def test_model_with_several_outputs_is_rejected(tmp_path: Path) -> None:
    several = save_model(tmp_path / "several", outputs=3)
    with pytest.raises(ServiceFailed, match="more than one output"):
        CrossEncoderReranker(str(several)).score("which database", TEXTS)


def test_missing_model_fails_every_call(tmp_path: Path) -> None:
    reranker = CrossEncoderReranker(str(tmp_path / "none"))
    for _ in range(2):
        with pytest.raises(ServiceFailed, match="the cross-encoder is not on this machine"):
            reranker.score("which database", TEXTS)


def test_recall_orders_results_by_reranker_score(model: Path, tmp_path: Path) -> None:
    config = tmp_path / "memolith.toml"
    config.write_text(f'[memory.chunks]\nreranker_enabled = true\nreranker_model = "{model}"\n')
    with Memolith.open(
        ":memory:",
        profile="chunks",
        embedder=HashingEmbedder(),
        tokens=WordCounter(),
        config=config,
    ) as engine:
        for text in TEXTS:
            engine.remember(text, kind="semantic", owner="alice")
        result = engine.recall("which database", owner="alice")
    expected = dict(
        zip(TEXTS, CrossEncoderReranker(str(model)).score("which database", TEXTS), strict=True)
    )
    order = [one.content for one in result.memories]
    assert order == sorted(TEXTS, key=lambda text: -expected[text])
    for one in result.memories:
        assert one.score.rerank == pytest.approx(expected[one.content], abs=1e-5)
