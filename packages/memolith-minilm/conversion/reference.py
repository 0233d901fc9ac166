"""The float32 model in plain NumPy, one text at a time, as a reference for the converted model."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from conversion.bert import EPSILON, HEADS, LAYERS, WIDTH, Floats, positions, query_key_value
from conversion.source import Weights

_erf = np.vectorize(math.erf, otypes=[np.float32])


def embed(weights: Weights, ids: Sequence[int]) -> Floats:
    """Return the embedding of a text, of length 1, from its token ids with [CLS] and [SEP]."""
    words = weights["embeddings.word_embeddings.weight"][list(ids)]
    rows = _layer_norm(weights, "embeddings.LayerNorm", words + positions(weights)[: len(ids)])
    for number in range(LAYERS):
        rows = _layer(weights, f"encoder.layer.{number}", rows)
    mean = rows.mean(axis=0)
    unit: Floats = mean / np.linalg.norm(mean)
    return unit


def _layer(weights: Weights, name: str, rows: Floats) -> Floats:
    seen = _attention(weights, name, rows)
    linear = _linear(weights, f"{name}.attention.output.dense", seen)
    rows = _layer_norm(weights, f"{name}.attention.output.LayerNorm", rows + linear)
    wide = _linear(weights, f"{name}.intermediate.dense", rows)
    active = 0.5 * wide * (1 + _erf(wide / np.float32(math.sqrt(2))))
    narrow = _linear(weights, f"{name}.output.dense", active)
    return _layer_norm(weights, f"{name}.output.LayerNorm", rows + narrow)


def _attention(weights: Weights, name: str, rows: Floats) -> Floats:
    matrix = query_key_value(weights, name, "weight")
    projected = rows @ matrix.T + query_key_value(weights, name, "bias")
    parts = np.split(projected.reshape(len(rows), 3 * HEADS, WIDTH // HEADS), 3, axis=1)
    query, key, value = (part.transpose(1, 0, 2) for part in parts)
    scores = query @ key.transpose(0, 2, 1) / np.float32(math.sqrt(WIDTH // HEADS))
    weight = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weight /= weight.sum(axis=-1, keepdims=True)
    heads: Floats = (weight @ value).transpose(1, 0, 2).reshape(len(rows), WIDTH)
    return heads


def _linear(weights: Weights, name: str, rows: Floats) -> Floats:
    out: Floats = rows @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]
    return out


def _layer_norm(weights: Weights, name: str, rows: Floats) -> Floats:
    centred = rows - rows.mean(axis=-1, keepdims=True)
    variance = (centred**2).mean(axis=-1, keepdims=True)
    unit = centred / np.sqrt(variance + EPSILON)
    out: Floats = unit * weights[f"{name}.weight"] + weights[f"{name}.bias"]
    return out
