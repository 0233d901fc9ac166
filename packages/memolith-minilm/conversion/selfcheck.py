"""Check that the converted model matches the published one before it is packaged."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
import onnxruntime

from conversion import reference
from conversion.bert import Floats
from conversion.errors import ConversionFailed
from conversion.source import Weights

_LEAST_COSINE: Final = 0.99
"""Minimum cosine to the float32 embedding. The minimum over 569 sentences was 0.998; of the texts
below it is 0.993, for "Thanks!"."""

_CLS: Final = 101
_SEP: Final = 102

_NAME: Final = (2026, 2171, 2003, 5650, 1998, 1045, 2444, 1999, 9977)

_TOKENS: Final = {
    "What is my name?": (2054, 2003, 2026, 2171, 1029),
    "My name is Alice and I live in Oslo": _NAME,
    "The meeting moved from Monday to Tuesday": (1996, 3116, 2333, 2013, 6928, 2000, 9857),
    "The meeting moved from Tuesday to Monday": (1996, 3116, 2333, 2013, 9857, 2000, 6928),
    "Fünf Äpfel": (4569, 2546, 9706, 7959, 2140),
    "def add(a, b): return": (13366, 5587, 1006, 1037, 1010, 1038, 1007, 1024, 2709),
    "Thanks!": (4283, 999),
    "": (),
    "the window, filled": (_NAME * 29)[:254],
}
"""Texts with their token ids from the published tokenizer, without [CLS] and [SEP]."""


def check(model: Path, weights: Weights) -> None:
    """Compare the model with the float32 reference, and embeddings alone with those in a batch.

    Raises:
        ConversionFailed: An embedding differs too much from the reference, does not have length 1,
            or depends on the batch.
    """
    session = _session(model)
    for text, tokens in _TOKENS.items():
        ids = [_CLS, *tokens, _SEP]
        alone = _run(session, [ids])[0]
        _require_near(alone, reference.embed(weights, ids), text)
        _require_same(_run(session, [ids, ids[::-1], ids])[2], alone, text)


def _require_near(vector: Floats, expected: Floats, text: str) -> None:
    cosine = float(vector @ expected)
    length = float(np.linalg.norm(vector))
    # Not `cosine < …`, which would accept NaN.
    if not (cosine >= _LEAST_COSINE and abs(length - 1) < 1e-5):  # noqa: PLR2004 - float32 rounding
        raise ConversionFailed(
            f"the converted model does not match the published one: cosine {cosine:.4f}, length "
            f"{length:.6f} for {text!r}; onnxruntime {onnxruntime.__version__}"
        )


def _require_same(batched: Floats, alone: Floats, text: str) -> None:
    if not np.array_equal(batched, alone):
        raise ConversionFailed(
            f"an embedding depends on the batch, by {np.abs(batched - alone).max():.1e}, for the "
            f"text {text!r}; onnxruntime {onnxruntime.__version__}"
        )


def _session(model: Path) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def _run(session: onnxruntime.InferenceSession, rows: Sequence[Sequence[int]]) -> Floats:
    ids = np.array(rows, np.int64)
    found: Floats = session.run(None, {"input_ids": ids, "attention_mask": np.ones_like(ids)})[0]
    return found
