"""The local embedder with custom models: tiny ones, written byte by byte."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing

from memolith.adapters.models.local import LocalEmbedder, WordPieceCounter
from memolith.errors import InvalidConfiguration, ServiceFailed

_WORDS = {"[UNK]": 0, "[START]": 1, "north": 2, "east": 3, "find": 4, "void": 5}

_VECTORS = [(0, 0), (0, 0), (0, 1), (1, 0), (-1, 1), (float("nan"), 0)]
"""One vector for each word."""


def _field(number: int, content: int | bytes | str) -> bytes:
    """Return a field of a protobuf message, the format of ONNX files."""
    if isinstance(content, int):
        return _varint(number << 3) + _varint(content)
    data = content.encode() if isinstance(content, str) else content
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _varint(value: int) -> bytes:
    low = bytes([value & 127 | (128 if value > 127 else 0)])
    return low + _varint(value >> 7) if value > 127 else low


def _value(name: str, kind: int, rank: int) -> bytes:
    shape = b"".join(_field(1, _field(2, f"{name}{axis}")) for axis in range(rank))
    return _field(1, name) + _field(2, _field(1, _field(1, kind) + _field(2, shape)))


def _node(operator: str, inputs: Sequence[str], output: str) -> bytes:
    names = b"".join(_field(1, name) for name in inputs)
    return _field(1, names + _field(2, output) + _field(4, operator))


def _onnx(inputs: Sequence[str], nodes: bytes, outputs: Mapping[str, int]) -> bytes:
    """Return a model with a table of the words' vectors and these nodes."""
    table = b"".join(struct.pack("<2f", *vector) for vector in _VECTORS)
    tensor = _field(1, len(_VECTORS)) + _field(1, 2) + _field(2, 1) + _field(8, "table")
    graph = nodes + _field(2, "tiny") + _field(5, tensor + _field(9, table))
    graph += b"".join(_field(11, _value(name, 7, 2)) for name in inputs)
    graph += b"".join(_field(12, _value(name, 1, rank)) for name, rank in outputs.items())
    return _field(1, 8) + _field(8, _field(2, 17)) + _field(7, graph)


def _token_vectors(*inputs: str) -> bytes:
    nodes = _node("Gather", ["table", "input_ids"], "found")
    return _onnx(inputs or ("input_ids", "attention_mask"), nodes, {"found": 3})


def _write_tokenizer(path: Path) -> None:
    words = Tokenizer(WordLevel(_WORDS, unk_token=next(iter(_WORDS))))
    words.pre_tokenizer = Whitespace()
    words.post_processor = TemplateProcessing(single="[START] $A", special_tokens=[("[START]", 1)])
    words.enable_truncation(2)
    words.enable_padding(length=8)
    words.save(str(path))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "model.onnx").write_bytes(_token_vectors())
    _write_tokenizer(tmp_path / "tokenizer.json")
    return tmp_path


def _write_description(folder: Path, **fields: object) -> None:
    (folder / "memolith-model.json").write_text(json.dumps(fields))


def _embed(folder: Path, text: str) -> list[float]:
    (vector,) = LocalEmbedder(folder).embed([text], role="document").tolist()
    return [float(number) for number in vector]


def test_token_vectors_are_averaged_and_normalised(folder: Path) -> None:
    assert _embed(folder, "north east east") == pytest.approx([0.8944, 0.4472], abs=1e-4)


def test_dimension_is_read_from_model(folder: Path) -> None:
    assert LocalEmbedder(folder).dimension == 2


def test_name_defaults_to_folder_name(folder: Path) -> None:
    assert LocalEmbedder(folder).name == folder.name
    _write_description(folder, name="compass")
    assert LocalEmbedder(folder).name == "compass"


def test_queries_and_documents_get_their_prefixes(folder: Path) -> None:
    _write_description(folder, query_prefix="find ", document_prefix="east ")
    embedder = LocalEmbedder(folder)
    query = embedder.embed(["north"], role="query")[0]
    document = embedder.embed(["north"], role="document")[0]
    assert query.tolist() == pytest.approx([-0.4472, 0.8944], abs=1e-4)
    assert document.tolist() == pytest.approx([0.7071, 0.7071], abs=1e-4)


def test_empty_text_has_zero_vector_despite_prefix(folder: Path) -> None:
    _write_description(folder, document_prefix="east ")
    assert _embed(folder, " ") == [0, 0]


def test_text_is_truncated_to_described_window(folder: Path) -> None:
    _write_description(folder, max_tokens=3)
    assert _embed(folder, "north north east east east") == pytest.approx([0, 1])


def test_first_token_can_represent_text(folder: Path) -> None:
    _write_description(folder, pooling="cls")
    with pytest.raises(ServiceFailed, match="length 0"):
        _embed(folder, "north")


def test_token_types_are_passed_to_models_with_that_input(folder: Path) -> None:
    inputs = "input_ids", "attention_mask", "token_type_ids"
    (folder / "model.onnx").write_bytes(_token_vectors(*inputs))
    assert _embed(folder, "east") == pytest.approx([1, 0])


def test_sentence_embedding_is_preferred_to_token_vectors(folder: Path) -> None:
    nodes = _node("Gather", ["table", "input_ids"], "found")
    nodes += _node("Neg", ["found"], "negated")
    nodes += _node("ReduceSum", ["negated", "axis"], "sentence_embedding")
    axis = _field(1, 1) + _field(2, 7) + _field(7, 1) + _field(8, "axis")
    model = _onnx(["input_ids"], nodes + _field(5, axis), {"found": 3, "sentence_embedding": 3})
    (folder / "model.onnx").write_bytes(model)
    assert _embed(folder, "east east") == pytest.approx([-1, 0])


def test_nan_vector_is_rejected(folder: Path) -> None:
    with pytest.raises(ServiceFailed, match="length nan"):
        _embed(folder, "void")


def test_model_with_other_dimension_than_described_is_rejected(folder: Path) -> None:
    _write_description(folder, dimension=3)
    with pytest.raises(
        InvalidConfiguration, match=r"2 dimensions, but memolith-model\.json says 3"
    ):
        _embed(folder, "north")


def test_model_with_unknown_inputs_is_rejected(folder: Path) -> None:
    (folder / "model.onnx").write_bytes(_token_vectors("input_ids", "pixels"))
    with pytest.raises(InvalidConfiguration, match="pixels"):
        _embed(folder, "north")


def test_counts_use_tokenizer_of_folder(folder: Path) -> None:
    assert WordPieceCounter(folder).count(["north east east south", ""]) == [4, 0]


@pytest.mark.parametrize("missing", ["model.onnx", "tokenizer.json"])
def test_missing_file_is_named(folder: Path, missing: str) -> None:
    (folder / missing).unlink()
    with pytest.raises(InvalidConfiguration, match=missing):
        LocalEmbedder(folder)


def test_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidConfiguration, match="nowhere"):
        WordPieceCounter(tmp_path / "nowhere")


@pytest.mark.parametrize("damaged", ["model.onnx", "tokenizer.json"])
@pytest.mark.parametrize("content", [b"", b"\xff\x00 nonsense", b"{}"])
def test_damaged_file_is_named(folder: Path, damaged: str, content: bytes) -> None:
    (folder / damaged).write_bytes(content)
    with pytest.raises(InvalidConfiguration, match=damaged):
        _embed(folder, "north")


@pytest.mark.parametrize(
    "content", [b"", b"[]", b'{"dimensions": 3}', b'{"max_tokens": "many"}', b'{"pooling": "max"}']
)
def test_invalid_description_is_rejected(folder: Path, content: bytes) -> None:
    (folder / "memolith-model.json").write_bytes(content)
    with pytest.raises(InvalidConfiguration, match=r"memolith-model\.json"):
        LocalEmbedder(folder)
