"""Convert the published float32 weights of all-MiniLM-L6-v2 to an 8-bit ONNX file.

Runs only when the package is built. The same weights give the same bytes on every machine.
"""

from __future__ import annotations

import os
from pathlib import Path

# Set before ONNX Runtime is imported, which would otherwise try to send usage data.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"

from conversion.errors import ConversionFailed
from conversion.quantised import quantised_bert
from conversion.selfcheck import check
from conversion.source import fetch
from conversion.storage import save

__all__ = ["ConversionFailed", "convert"]


def convert(folder: Path) -> None:
    """Write `model.onnx`, `model.onnx.data` and `tokenizer.json` to an existing folder.

    Raises:
        ConversionFailed: The weights cannot be downloaded or are not the published ones, or the
            converted model does not match the float32 model.
    """
    source = fetch()
    weights = source.weights()
    model = folder / "model.onnx"
    save(quantised_bert(weights), model)
    check(model, weights)
    (folder / "tokenizer.json").write_bytes(source.tokenizer)
