"""From the published float32 weights of all-MiniLM-L6-v2 to an 8-bit ONNX file.

Runs when the package is built, never when it is used. The same weights give the same bytes on
every machine.
"""

from __future__ import annotations

import os
from pathlib import Path

# Before ONNX Runtime is loaded, which would count what it is used for and try to send it.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"

from conversion.errors import ConversionFailed
from conversion.quantised import quantised_bert
from conversion.selfcheck import check
from conversion.source import fetch
from conversion.storage import save

__all__ = ["ConversionFailed", "convert"]


def convert(folder: Path) -> None:
    """Write `model.onnx`, `model.onnx.data` and `tokenizer.json` into an existing folder.

    Raises:
        ConversionFailed: The weights can't be had, are not the published ones, or the model made
            of them does not do what the float32 model does.
    """
    source = fetch()
    weights = source.weights()
    model = folder / "model.onnx"
    save(quantised_bert(weights), model)
    check(model, weights)
    (folder / "tokenizer.json").write_bytes(source.tokenizer)
