"""Build BERT as an ONNX graph, with interchangeable implementations of its matrix products.

The graph uses ONNX Runtime's fused operators, so that opening a session needs no optimisation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto

from conversion.graph import RUNTIME, Graph
from conversion.source import Weights

LAYERS: Final = 6
HEADS: Final = 12
WIDTH: Final = 384
EPSILON: Final = 1e-12
"""Epsilon of layer normalisation, from the model's configuration."""

Floats = NDArray[np.float32]

Kind = Literal["stream", "heads", "active"]
"""Input of a product: normalised tokens, the output of the attention heads, or of GELU."""

Product = Callable[[Graph, str, Kind, Floats, str], str]
"""Adds `input @ matrix` to the graph and returns the name of the output.

Arguments: graph, input of shape (rows, k), kind of the input, matrix of shape (k, n), name of the
matrix.
"""

Lookup = Callable[[Graph, str, Floats, str], str]
"""Adds `table[ids]` to the graph and returns the name of the output.

Arguments: graph, ids, table, name of the table.
"""


def bert(weights: Weights, product: Product, lookup: Lookup) -> onnx.ModelProto:
    """Return the model, including mean pooling and normalisation to length 1.

    Between attention blocks, the tokens of all texts are rows of one matrix.
    """
    graph = Graph()
    mask = graph.add("Cast", "attention_mask", to=TensorProto.INT32)
    shape = graph.add("Shape", "input_ids")
    rows = graph.add("Reshape", _add_embedding(graph, weights, lookup), graph.integers(-1, WIDTH))
    for number in range(LAYERS):
        layer = _Layer(graph, weights, f"encoder.layer.{number}", product)
        rows = layer.attend(rows, shape, mask)
        rows = layer.feed_forward(rows)
    return graph.model(_add_pooling(graph, rows, shape), WIDTH)


def query_key_value(weights: Weights, layer: str, part: str) -> Floats:
    """Return a layer's query, key and value "weight" or "bias" as one array."""
    names = [f"{layer}.attention.self.{name}.{part}" for name in ("query", "key", "value")]
    joined: Floats = np.concatenate([weights[name] for name in names])
    return joined


def positions(weights: Weights) -> Floats:
    """Return the position embeddings plus the embedding of the first segment, the only one used."""
    segment = weights["embeddings.token_type_embeddings.weight"][0]
    total: Floats = weights["embeddings.position_embeddings.weight"] + segment
    return total


def _add_embedding(graph: Graph, weights: Weights, lookup: Lookup) -> str:
    words = weights["embeddings.word_embeddings.weight"]
    tokens = graph.add("Shape", "input_ids", start=1)
    table = graph.constant("positions", positions(weights))
    place = graph.add("Slice", table, graph.integers(0), tokens)
    both = graph.add("Add", lookup(graph, "input_ids", words, "words"), place)
    return _add_layer_norm(graph, weights, "embeddings.LayerNorm", both)


def _add_layer_norm(graph: Graph, weights: Weights, name: str, rows: str) -> str:
    scale = graph.constant(f"{name}.weight", weights[f"{name}.weight"])
    shift = graph.constant(f"{name}.bias", weights[f"{name}.bias"])
    return graph.add("LayerNormalization", rows, scale, shift, axis=-1, epsilon=EPSILON)


def _add_pooling(graph: Graph, rows: str, shape: str) -> str:
    """Sum the tokens under the mask. Normalisation makes dividing by their number unnecessary."""
    texts = graph.add("Reshape", rows, graph.add("Concat", shape, graph.integers(WIDTH), axis=0))
    mask = graph.add("Cast", "attention_mask", to=TensorProto.FLOAT)
    total = graph.add("MatMul", graph.add("Unsqueeze", mask, graph.integers(1)), texts)
    flat = graph.add("Squeeze", total, graph.integers(1))
    return graph.add("LpNormalization", flat, axis=-1, p=2)


class _Layer:
    """Adds a layer of the encoder to the graph."""

    def __init__(self, graph: Graph, weights: Weights, name: str, product: Product) -> None:
        self._graph = graph
        self._weights = weights
        self._name = name
        self._product = product

    def attend(self, rows: str, shape: str, mask: str) -> str:
        """Add self-attention and the normalisation after it."""
        graph = self._graph
        matrix = query_key_value(self._weights, self._name, "weight").T
        bias = query_key_value(self._weights, self._name, "bias")
        projected = self._product(
            graph, rows, "stream", matrix, f"{self._name}.attention.self.weight"
        )
        three = graph.add("Concat", shape, graph.integers(3 * WIDTH), axis=0)
        parts = graph.add_split(
            "Split", graph.add("Reshape", projected, three), outputs=3, axis=-1, num_outputs=3
        )
        bias_name = graph.constant(f"{self._name}.attention.self.bias", bias)
        seen = graph.add(
            "MultiHeadAttention", *parts, bias_name, mask, domain=RUNTIME, num_heads=HEADS
        )
        flat = graph.add("Reshape", seen, graph.integers(-1, WIDTH))
        block = "attention.output"
        return self._add_residual(rows, self._linear(flat, "heads", block), block)

    def feed_forward(self, rows: str) -> str:
        """Add the two dense layers with GELU between them, and the normalisation after them."""
        name = f"{self._name}.intermediate.dense"
        matrix = self._weights[f"{name}.weight"].T
        wide = self._product(self._graph, rows, "stream", matrix, f"{name}.weight")
        bias = self._graph.constant(f"{name}.bias", self._weights[f"{name}.bias"])
        active = self._graph.add("BiasGelu", wide, bias, domain=RUNTIME)
        return self._add_residual(rows, self._linear(active, "active", "output"), "output")

    def _linear(self, rows: str, kind: Kind, block: str) -> str:
        name = f"{self._name}.{block}.dense"
        matrix = self._weights[f"{name}.weight"].T
        bias = self._graph.constant(f"{name}.bias", self._weights[f"{name}.bias"])
        product = self._product(self._graph, rows, kind, matrix, f"{name}.weight")
        return self._graph.add("Add", product, bias)

    def _add_residual(self, before: str, after: str, block: str) -> str:
        # Not SkipLayerNormalization, which fuses both but was eight times as slow here (ONNX
        # Runtime 1.31, 256 rows: 500 µs instead of 60 µs for LayerNormalization).
        both = self._graph.add("Add", after, before)
        return _add_layer_norm(self._graph, self._weights, f"{self._name}.{block}.LayerNorm", both)
