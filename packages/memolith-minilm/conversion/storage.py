"""Writing a model with its weights beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import onnx

_ALIGNMENT: Final = 4096
"""A page, so that tensors can be mapped into memory rather than read and copied: opening a session
takes two thirds of the time, and what is not used, most of the table of words, stays on disk."""

_LEAST: Final = 1024
"""Tensors smaller than this stay in the model's own file."""


def save(model: onnx.ModelProto, path: Path) -> None:
    """Write the model to `path`, and its tensors to a file of that name with `.data` behind it."""
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
