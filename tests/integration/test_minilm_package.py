"""The installed package memolith-minilm."""

from __future__ import annotations

import hashlib
from importlib import metadata

from tokenizers import Tokenizer

import memolith_minilm

_DISTRIBUTION = metadata.distribution("memolith-minilm")


def test_package_contains_model_and_tokenizer() -> None:
    assert sorted(path.name for path in memolith_minilm.MODEL_DIR.iterdir()) == [
        "model.onnx",
        "model.onnx.data",
        "tokenizer.json",
    ]
    assert memolith_minilm.model_path().is_file()


def test_tokenizer_is_the_published_one() -> None:
    content = memolith_minilm.tokenizer_path().read_bytes()
    assert hashlib.sha256(content).hexdigest() == (
        "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
    )
    assert Tokenizer.from_buffer(content).get_vocab_size() == 30_522


def test_weights_are_those_used_for_published_figures() -> None:
    weights = (memolith_minilm.MODEL_DIR / "model.onnx.data").read_bytes()
    assert hashlib.sha256(weights).hexdigest() == (
        "52d0a5e015c71a2516219ed772dee61b4ba01ea9cee15bcf6bf1cc6bd0194e5e"
    )


def test_package_size_is_below_30_mb() -> None:
    files = _DISTRIBUTION.files or []
    assert 20_000_000 < sum(file.size or 0 for file in files) < 30_000_000


def test_package_has_no_dependencies() -> None:
    assert not _DISTRIBUTION.requires


def test_package_contains_licence_and_notice_of_changes() -> None:
    texts = {
        file.name: file.read_text(encoding="utf-8")
        for file in _DISTRIBUTION.files or []
        if "licenses" in file.parts
    }
    assert "Apache License" in texts["LICENSE"]
    assert "sentence-transformers" in texts["NOTICE"]
    assert "8-bit" in texts["NOTICE"]
