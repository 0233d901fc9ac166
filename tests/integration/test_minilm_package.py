"""The package memolith-minilm as it is installed."""

from __future__ import annotations

import hashlib
from importlib import metadata

from tokenizers import Tokenizer

import memolith_minilm

_DISTRIBUTION = metadata.distribution("memolith-minilm")


def test_it_carries_the_model_and_the_tokenizer() -> None:
    assert sorted(path.name for path in memolith_minilm.MODEL_DIR.iterdir()) == [
        "model.onnx",
        "model.onnx.data",
        "tokenizer.json",
    ]
    assert memolith_minilm.model_path().is_file()


def test_the_tokenizer_is_the_published_one() -> None:
    content = memolith_minilm.tokenizer_path().read_bytes()
    assert hashlib.sha256(content).hexdigest() == (
        "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
    )
    assert Tokenizer.from_buffer(content).get_vocab_size() == 30_522


def test_the_weights_are_those_that_the_figures_were_measured_with() -> None:
    weights = (memolith_minilm.MODEL_DIR / "model.onnx.data").read_bytes()
    assert hashlib.sha256(weights).hexdigest() == (
        "52d0a5e015c71a2516219ed772dee61b4ba01ea9cee15bcf6bf1cc6bd0194e5e"
    )


def test_it_takes_less_than_30_mb() -> None:
    files = _DISTRIBUTION.files or []
    assert 20_000_000 < sum(file.size or 0 for file in files) < 30_000_000


def test_it_needs_nothing_else() -> None:
    assert not _DISTRIBUTION.requires


def test_it_carries_the_models_licence_and_says_what_was_changed() -> None:
    texts = {
        file.name: file.read_text(encoding="utf-8")
        for file in _DISTRIBUTION.files or []
        if "licenses" in file.parts
    }
    assert "Apache License" in texts["LICENSE"]
    assert "sentence-transformers" in texts["NOTICE"]
    assert "8-bit" in texts["NOTICE"]
