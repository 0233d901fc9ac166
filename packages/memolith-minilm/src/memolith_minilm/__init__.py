"""The sentence embedding model all-MiniLM-L6-v2 in 8 bits, as local files."""

from pathlib import Path
from typing import Final

__all__ = ["DIMENSION", "MAX_TOKENS", "MODEL_DIR", "NAME", "model_path", "tokenizer_path"]

NAME: Final = "all-MiniLM-L6-v2"

DIMENSION: Final = 384
"""Dimension of the embeddings."""

MAX_TOKENS: Final = 256
"""Maximum number of tokens, including [CLS] and [SEP], as published with the model."""

MODEL_DIR: Final = Path(__file__).resolve().parent / "model"
"""Folder of `model.onnx`, its weights `model.onnx.data`, and `tokenizer.json`."""


def model_path() -> Path:
    """Return the path of the ONNX file.

    Inputs: `input_ids` and `attention_mask`, int64 of shape (texts, tokens). Output: `embedding`,
    float32 of shape (texts, 384), with rows of length 1.
    """
    return MODEL_DIR / "model.onnx"


def tokenizer_path() -> Path:
    """Return the path of the tokenizer file for the library `tokenizers`.

    The published file enables padding and truncation to 128 tokens: disable both.
    """
    return MODEL_DIR / "tokenizer.json"
