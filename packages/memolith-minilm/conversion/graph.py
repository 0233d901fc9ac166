"""A small writer of ONNX graphs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

RUNTIME: str = "com.microsoft"
"""The domain of ONNX Runtime's own operators."""

# The lowest in which every operator used here exists; later ones bring nothing and would shut out
# older runtimes. Opset 18 needs ONNX Runtime 1.14.
_OPSET = 18
_IR_VERSION = 8


class Graph:
    """Nodes in the order they are added, and named constants, each kept once."""

    def __init__(self) -> None:
        """Begin an empty graph."""
        self._nodes: list[onnx.NodeProto] = []
        self._constants: dict[str, NDArray[np.generic]] = {}
        self._once: dict[str, str] = {}

    def constant(self, name: str, value: NDArray[np.generic]) -> str:
        """Add a constant under this name, once, and return the name."""
        self._constants.setdefault(name, np.ascontiguousarray(value))
        return name

    def number(self, value: float) -> str:
        """Add a float32 scalar."""
        return self.constant(f"number {value!r}", np.array(value, np.float32))

    def integers(self, *values: int) -> str:
        """Add a list of int64, as axes and shapes are written."""
        return self.constant(f"integers {values}", np.array(values, np.int64))

    def add(
        self, operator: str, *inputs: str, domain: str = "", **attributes: float | Sequence[int]
    ) -> str:
        """Add a node of one output, and return that output's name."""
        return self.add_split(operator, *inputs, outputs=1, domain=domain, **attributes)[0]

    def once(self, operator: str, *inputs: str, key: str) -> str:
        """Add a node the first time that this key comes up, and return that node's output."""
        if key not in self._once:
            self._once[key] = self.add(operator, *inputs)
        return self._once[key]

    def add_split(
        self,
        operator: str,
        *inputs: str,
        outputs: int,
        domain: str = "",
        **attributes: float | Sequence[int],
    ) -> list[str]:
        """Add a node of several outputs, and return their names."""
        name = f"{operator} {len(self._nodes)}"
        names = [f"{name}.{number}" for number in range(outputs)]
        node = helper.make_node(operator, inputs, names, name=name, domain=domain)
        node.attribute.extend(
            helper.make_attribute(key, value) for key, value in sorted(attributes.items())
        )
        self._nodes.append(node)
        return names

    def model(self, output: str, width: int) -> onnx.ModelProto:
        """Close the graph: token ids and mask in, `embedding` of that width out."""
        self._nodes.append(helper.make_node("Identity", [output], ["embedding"], name="embedding"))
        tokens = ["texts", "tokens"]
        graph = helper.make_graph(
            self._nodes,
            "sentence embedding",
            [
                helper.make_tensor_value_info("input_ids", TensorProto.INT64, tokens),
                helper.make_tensor_value_info("attention_mask", TensorProto.INT64, tokens),
            ],
            [helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["texts", width])],
            [numpy_helper.from_array(value, name) for name, value in self._constants.items()],
        )
        domains = [helper.make_opsetid("", _OPSET), helper.make_opsetid(RUNTIME, 1)]
        model = helper.make_model(graph, opset_imports=domains, producer_name="memolith-minilm")
        model.ir_version = _IR_VERSION
        return model
