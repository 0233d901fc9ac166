"""all-MiniLM-L6-v2 in 8 bits: the files of a sentence embedding model, and where they are."""

from pathlib import Path
from typing import Final

__all__ = ["DIMENSION", "MAX_TOKENS", "MODEL_DIR", "NAME", "model_path", "tokenizer_path"]

NAME: Final = "all-MiniLM-L6-v2"

DIMENSION: Final = 384
"""The length of a vector."""

MAX_TOKENS: Final = 256
"""The model's window in word pieces, [CLS] and [SEP] included, as published with the model."""

MODEL_DIR: Final = Path(__file__).resolve().parent / "model"
"""The folder that holds `model.onnx`, its weights in `model.onnx.data`, and `tokenizer.json`."""


def model_path() -> Path:
    """Return the ONNX file.

    Inputs `input_ids` and `attention_mask`, int64 of shape (texts, tokens); output `embedding`,
    float32 of shape (texts, 384), rows of length 1.
    """
    return MODEL_DIR / "model.onnx"


def tokenizer_path() -> Path:
    """Return the tokenizer, as the library `tokenizers` reads it.

    It is the published file, which asks for padding and truncation to 128 tokens: switch both off.
    """
    return MODEL_DIR / "tokenizer.json"
