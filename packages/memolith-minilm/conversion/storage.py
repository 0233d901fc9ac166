"""Save a model with its weights in a separate file."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import onnx

_ALIGNMENT: Final = 4096
"""The page size, so that tensors can be memory-mapped: opening a session takes two thirds of the
time, and unused weights, such as most word embeddings, stay on disk."""

_LEAST: Final = 1024
"""Size in bytes below which tensors stay in the model file."""


def save(model: onnx.ModelProto, path: Path) -> None:
    """Write the model to `path`, and its tensors to `path` with `.data` appended."""
    content = bytearray()
    for tensor in model.graph.initializer:
        if len(tensor.raw_data) >= _LEAST:
            _move(tensor, content, path.name + ".data")
    path.with_name(path.name + ".data").write_bytes(content)
    path.write_bytes(model.SerializeToString(deterministic=True))


def _move(tensor: onnx.TensorProto, content: bytearray, location: str) -> None:
    content.extend(bytes(-len(content) % _ALIGNMENT))
    for key, value in (
        ("location", location),
        ("offset", str(len(content))),
        ("length", str(len(tensor.raw_data))),
    ):
        tensor.external_data.add(key=key, value=value)
    tensor.data_location = onnx.TensorProto.EXTERNAL
    content.extend(tensor.raw_data)
    tensor.ClearField("raw_data")
