"""The local embedder with the bundled model of memolith-minilm."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import memolith_minilm
from memolith.adapters.models.local import LocalEmbedder, WordPieceCounter
from memolith.errors import InvalidConfiguration
from support.rows import check_each

_EMBEDDER = LocalEmbedder()

_SENTENCES = [
    "My name is Alice and I live in Oslo",
    "Thanks!",
    "The meeting was moved from Monday to Tuesday, because Anna's train from Bergen was late.",
    "I prefer metric units.",
    "Der Zug nach Köln fährt um 8:15 Uhr ab.",
    "I prefer metric units!",
    "def add(a, b): return a + b",
]


def _embed(*texts: str) -> np.ndarray:
    return _EMBEDDER.embed(texts, role="document")


# Reference values: the published float32 model, computed from its weights in numpy.
@check_each(
    ("one", "other", "similarity"),
    [
        ("What is my name?", "My name is Alice and I live in Oslo", 0.463),
        ("Do you remember my name?", "My name is Alice and I live in Oslo", 0.378),
        ("moved from Monday to Tuesday", "moved from Tuesday to Monday", 0.995),
        ("Anna owes Bob", "Bob owes Anna", 0.985),
        ("What units do I prefer?", "The user prefers metric units", 0.656),
        ("How do I reset my password?", "Steps to recover a forgotten login", 0.590),
        ("The cat sat on the mat", "Quarterly revenue grew by four percent", -0.040),
    ],
)
def test_similarities_match_published_model(one: str, other: str, similarity: float) -> None:
    first, second = _embed(one, other)
    assert first @ second == pytest.approx(similarity, abs=0.005)


def test_embedder_reports_its_model() -> None:
    assert (_EMBEDDER.name, _EMBEDDER.dimension) == ("all-MiniLM-L6-v2", 384)
    assert _EMBEDDER.max_tokens == 256


def test_vectors_have_length_1() -> None:
    assert np.linalg.norm(_embed(*_SENTENCES), axis=1) == pytest.approx(1, abs=1e-6)


def test_no_texts_give_no_vectors() -> None:
    vectors = _embed()
    assert vectors.shape == (0, 384)
    assert vectors.dtype == np.float32


def test_vector_is_independent_of_batch() -> None:
    together = _embed(*_SENTENCES)
    for text, vector in zip(_SENTENCES, together, strict=True):
        np.testing.assert_array_equal(_embed(text)[0], vector)


@settings(max_examples=10)
@given(st.permutations(_SENTENCES))
def test_vectors_are_in_order_of_texts(texts: list[str]) -> None:
    by_text = dict(zip(_SENTENCES, _embed(*_SENTENCES), strict=True))
    np.testing.assert_array_equal(_embed(*texts), [by_text[text] for text in texts])


def test_number_of_threads_changes_nothing() -> None:
    one = LocalEmbedder(threads=1).embed(_SENTENCES, role="document")
    three = LocalEmbedder(threads=3).embed(_SENTENCES, role="document")
    np.testing.assert_array_equal(one, three)


def test_queries_and_documents_are_embedded_alike() -> None:
    query = _EMBEDDER.embed(_SENTENCES, role="query")
    np.testing.assert_array_equal(query, _embed(*_SENTENCES))


def test_eight_concurrent_threads_get_same_vectors() -> None:
    fresh = LocalEmbedder()
    together = threading.Barrier(8)

    def embed(text: str) -> np.ndarray:
        together.wait()
        return fresh.embed([text, *_SENTENCES], role="document")

    texts = [f"{number} is a number" for number in range(8)]
    with ThreadPoolExecutor(8) as pool:
        for text, vectors in zip(texts, pool.map(embed, texts), strict=True):
            np.testing.assert_array_equal(vectors, _embed(text, *_SENTENCES))


def test_text_beyond_window_is_ignored() -> None:
    # The window holds 254 word pieces and two special tokens.
    full = "a " * 254
    np.testing.assert_array_equal(_embed(full + "zebra")[0], _embed(full)[0])
    assert not np.array_equal(_embed("a " * 253 + "zebra")[0], _embed(full)[0])


def test_megabyte_text_is_embedded_by_its_beginning() -> None:
    beginning = "The harbour of Bergen is old. " * 60
    np.testing.assert_array_equal(_embed(beginning * 560)[0], _embed(beginning)[0])


@check_each("text", ["", " \n\t", "\0", "\x7f\x1b", "\u200b"])
def test_text_without_word_pieces_has_zero_vector(text: str) -> None:
    assert not _embed(text).any()


@check_each(
    "text",
    [
        "😀",
        "👩‍👩‍👧",
        "\ud800",
        "a \udfff b",
        "?",
        "שלום",
        "東京タワー",
        "x" * 100_000,
        "\n" * 100_000 + "y",
    ],
)
def test_unusual_text_has_vector_of_length_1(text: str) -> None:
    assert np.linalg.norm(_embed(text)) == pytest.approx(1, abs=1e-6)


@settings(max_examples=50)
@given(st.text(st.characters(codec=None), max_size=80))
def test_any_text_has_finite_vector_and_count(text: str) -> None:
    length = float(np.linalg.norm(_embed(text)))
    (count,) = WordPieceCounter().count([text])
    assert length == pytest.approx(1 if count else 0, abs=1e-6)


def test_word_pieces_are_counted_without_special_tokens() -> None:
    texts = ["", "What is my name?", "unbelievable", "東京"]
    assert WordPieceCounter().count(texts) == [0, 5, 1, 2]


def test_count_is_not_limited_by_window() -> None:
    assert WordPieceCounter().count(["word " * 1000]) == [1000]


def test_embedding_does_not_change_counts() -> None:
    long = "word " * 1000
    _embed(long)
    assert WordPieceCounter().count([long]) == [1000]


def test_model_is_not_loaded_before_first_text() -> None:
    program = (
        "import json, sys\n"
        "from memolith.adapters.models.local import LocalEmbedder\n"
        "from memolith.adapters.models.local import WordPieceCounter\n"
        "LocalEmbedder(), WordPieceCounter()\n"
        "print(json.dumps(sorted({'onnxruntime', 'tokenizers'} & set(sys.modules))))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        check=True,
        capture_output=True,
        text=True,
    )
    assert json.loads(done.stdout) == []


def test_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "memolith_minilm", None)
    with pytest.raises(InvalidConfiguration, match="install the package memolith-minilm"):
        LocalEmbedder()


def test_copied_model_has_own_name_and_same_vectors(tmp_path: Path) -> None:
    folder = tmp_path / "copied"
    shutil.copytree(memolith_minilm.MODEL_DIR, folder)
    copy = LocalEmbedder(folder)
    assert (copy.name, copy.dimension, copy.max_tokens) == ("copied", 384, 256)
    np.testing.assert_allclose(
        copy.embed(_SENTENCES, role="query"), _embed(*_SENTENCES), rtol=0, atol=1e-3
    )
