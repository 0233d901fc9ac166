"""A minimal builder of ONNX graphs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

RUNTIME: str = "com.microsoft"
"""Domain of ONNX Runtime's own operators."""

# The oldest opset with every operator used here. A newer one would only exclude older runtimes.
# Opset 18 needs ONNX Runtime 1.14.
_OPSET = 18
_IR_VERSION = 8


class Graph:
    """Nodes in order of creation, and unique named constants."""

    def __init__(self) -> None:
        """Create an empty graph."""
        self._nodes: list[onnx.NodeProto] = []
        self._constants: dict[str, NDArray[np.generic]] = {}
        self._outputs: dict[str, str] = {}

    def constant(self, name: str, value: NDArray[np.generic]) -> str:
        """Add a constant unless its name exists, and return the name."""
        self._constants.setdefault(name, np.ascontiguousarray(value))
        return name

    def number(self, value: float) -> str:
        """Add a float32 scalar, and return its name."""
        return self.constant(f"number {value!r}", np.array(value, np.float32))

    def integers(self, *values: int) -> str:
        """Add an int64 list, for example of axes or a shape, and return its name."""
        return self.constant(f"integers {values}", np.array(values, np.int64))

    def add(
        self, operator: str, *inputs: str, domain: str = "", **attributes: float | Sequence[int]
    ) -> str:
        """Add a node with one output, and return the name of the output."""
        return self.add_split(operator, *inputs, outputs=1, domain=domain, **attributes)[0]

    def add_once(self, operator: str, *inputs: str, key: str) -> str:
        """Add a node unless its key exists, and return the name of its output."""
        if key not in self._outputs:
            self._outputs[key] = self.add(operator, *inputs)
        return self._outputs[key]

    def add_split(
        self,
        operator: str,
        *inputs: str,
        outputs: int,
        domain: str = "",
        **attributes: float | Sequence[int],
    ) -> list[str]:
        """Add a node with several outputs, and return their names."""
        name = f"{operator} {len(self._nodes)}"
        names = [f"{name}.{number}" for number in range(outputs)]
        node = helper.make_node(operator, inputs, names, name=name, domain=domain)
        node.attribute.extend(
            helper.make_attribute(key, value) for key, value in sorted(attributes.items())
        )
        self._nodes.append(node)
        return names

    def model(self, output: str, width: int) -> onnx.ModelProto:
        """Return the model, with token ids and mask as inputs and `embedding` as output."""
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
