"""A tiny embedding model with random weights, run by sentence-transformers."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memolith import Memolith
from memolith.adapters.models.factory import build_service_embedder
from memolith.config import load
from memolith.config.settings import Embedding
from memolith.errors import InvalidConfiguration, ServiceFailed, WrongEmbeddingModel

EXTRA = "the extra memolith[sentence-transformers] is not installed"
torch = pytest.importorskip("torch", reason=EXTRA)
transformers = pytest.importorskip("transformers", reason=EXTRA)
library = pytest.importorskip("sentence_transformers", reason=EXTRA)

WORDS = "[PAD] [UNK] [CLS] [SEP] [MASK] which database we use is tea i drink postgres the q : d"
TEXTS = ["we use postgres", "i drink tea", "the database is large"]
PROMPTS = {"query": "q : ", "document": "d : "}


def save_model(folder: Path, prompts: dict[str, str]) -> Path:
    """Save a model of one layer with reproducible random weights."""
    bare = folder / "bare"
    bare.mkdir(parents=True)
    (bare / "vocab.txt").write_text("\n".join(WORDS.split()))
    transformers.BertTokenizerFast(str(bare / "vocab.txt")).save_pretrained(bare)
    torch.manual_seed(7)
    shape = transformers.BertConfig(
        vocab_size=len(WORDS.split()),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=64,
        initializer_range=1.0,
    )
    transformers.BertModel(shape).save_pretrained(bare)
    # The library adds mean pooling to a model of token vectors.
    whole = library.SentenceTransformer(str(bare), prompts=prompts, device="cpu")
    whole.save(str(folder / "whole"))
    return folder / "whole"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_model(tmp_path_factory.mktemp("models") / "tiny", PROMPTS)


def embedder(model: Path, **more: Any) -> Any:
    own = Embedding(provider="sentence-transformers", model=str(model), **more)
    return build_service_embedder(own, {})


def test_each_text_has_its_own_unit_vector(model: Path) -> None:
    service = embedder(model, batch_size=2)
    found = service.embed(TEXTS, role="document")
    assert found.shape == (3, 16)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-6)
    alone = [service.embed([text], role="document")[0] for text in TEXTS]
    np.testing.assert_allclose(found, alone, atol=1e-5)


def test_embedder_uses_the_prompts_of_the_model(model: Path, tmp_path: Path) -> None:
    service, plain = embedder(model), embedder(save_model(tmp_path, {}))
    for role, prompt in PROMPTS.items():
        found = service.embed(["i drink tea"], role=role)
        np.testing.assert_allclose(
            found, plain.embed([f"{prompt}i drink tea"], role=role), atol=1e-5
        )
    query, document = (service.embed(["i drink tea"], role=role) for role in PROMPTS)
    assert abs(query - document).max() > 1e-3


def test_threads_can_share_an_embedder(model: Path) -> None:
    service = embedder(model)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: service.embed(TEXTS, role="query"), range(8)))
    for one in found:
        np.testing.assert_allclose(one, found[0], atol=1e-5)


def test_missing_model_is_reported(tmp_path: Path) -> None:
    service = embedder(tmp_path / "none")
    with pytest.raises(ServiceFailed, match="the model is not on this machine"):
        service.embed(TEXTS, role="query")


def test_model_with_another_dimension_is_refused(model: Path) -> None:
    with pytest.raises(ServiceFailed, match="16 dimensions instead of 8"):
        embedder(model, dimension=8).embed(TEXTS, role="query")


def test_known_model_accepts_only_its_trained_dimensions() -> None:
    with pytest.raises(InvalidConfiguration, match="does not support truncated vectors"):
        embedder(Path("BAAI/bge-m3"), dimension=100)


def test_store_is_refused_to_another_embedder(model: Path, tmp_path: Path) -> None:
    overrides = {
        "embedding.provider": "sentence-transformers",
        "embedding.model": str(model),
        "enable_encryption": False,
    }
    config = load(env={}, overrides=overrides)
    with Memolith.open(tmp_path / "memory.db", config=config) as memory:
        memory.remember("we use postgres", owner="alice")
        found = memory.recall("which database we use", owner="alice", mode="vector")
        assert found.memories[0].content == "we use postgres"
    with pytest.raises(WrongEmbeddingModel) as raised:
        Memolith.open(tmp_path / "memory.db", config=load(env={}))
    assert raised.value.stored == "folder:whole (16)"
