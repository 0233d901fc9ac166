"""A sentence embedding model as ONNX Runtime runs it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from memolith.adapters.embedders.model_folder import MODEL_SETTING, ModelFolder
from memolith.errors import InvalidConfiguration, ServiceFailed

if TYPE_CHECKING:
    # At run time it is imported at first use, so that opening a store stays quick.
    from onnxruntime import InferenceSession

_INPUTS: Final = frozenset({"input_ids", "attention_mask", "token_type_ids"})

_TEXT_VECTORS: Final = 2
_TOKEN_VECTORS: Final = 3
"""Dimensions of an output that holds a vector a text, and of one that holds a vector a token."""

_ERRORS_ONLY: Final = 3
"""ONNX Runtime's log level; its warnings are of no use to who uses a finished model."""


class OnnxModel:
    """A loaded model. Thread-safe.

    Attributes:
        dimension: The length of a vector.
    """

    def __init__(self, folder: ModelFolder) -> None:
        """Load the model.

        Raises:
            InvalidConfiguration: The file is not a model that ONNX Runtime can run, takes inputs
                that texts do not give, or its vectors have another length than was said.
        """
        self._name = folder.name
        self._pooling = folder.pooling
        self._session = _create_session(folder)
        self._inputs = {each.name for each in self._session.get_inputs()}
        if "input_ids" not in self._inputs or not self._inputs <= _INPUTS:
            raise InvalidConfiguration(
                MODEL_SETTING,
                f"{folder.model} takes {sorted(self._inputs)}, not token ids and a mask",
            )
        self._output = _find_output(self._session)
        self.dimension = len(self._run([0]))
        if folder.dimension not in (None, self.dimension):
            raise InvalidConfiguration(
                MODEL_SETTING,
                f"{folder.model} gives vectors of {self.dimension} numbers, not of the "
                f"{folder.dimension} that memolith-model.json says",
            )

    def embed(self, ids: list[int]) -> NDArray[np.float32]:
        """Return the vector of one text's token ids, of length 1; shape (dimension,).

        Raises:
            ServiceFailed: The model failed on them, or gave what is no finite vector.
        """
        vector = self._run(ids)
        length = float(np.linalg.norm(vector))
        if not 0 < length < float("inf"):
            raise ServiceFailed(self._name, f"gave a vector of length {length}")
        return vector / np.float32(length)

    def _run(self, ids: list[int]) -> NDArray[np.float32]:
        from onnxruntime.capi.onnxruntime_pybind11_state import (
            Fail,
            InvalidArgument,
            RuntimeException,
        )

        tokens = np.array([ids], np.int64)
        values = {
            "input_ids": tokens,
            "attention_mask": np.ones_like(tokens),
            "token_type_ids": np.zeros_like(tokens),
        }
        try:
            given = {name: values[name] for name in self._inputs}
            found = self._session.run([self._output], given)[0]
        except (Fail, InvalidArgument, RuntimeException) as error:
            raise ServiceFailed(self._name, f"failed on {len(ids)} tokens") from error
        return self._pool(np.asarray(found, np.float32))

    def _pool(self, found: NDArray[np.float32]) -> NDArray[np.float32]:
        if found.ndim == _TEXT_VECTORS:
            return np.asarray(found[0])
        if found.ndim == _TOKEN_VECTORS:
            # No token is padding: each text is run on its own.
            return np.asarray(found[0, 0] if self._pooling == "cls" else found[0].mean(axis=0))
        raise InvalidConfiguration(
            MODEL_SETTING, f"{self._name} gives an output of shape {found.shape}"
        )


def _find_output(session: InferenceSession) -> str:
    """Return the output that is already a vector a text, where there is one; else the first."""
    names: list[str] = [each.name for each in session.get_outputs()]
    return "sentence_embedding" if "sentence_embedding" in names else names[0]


def _create_session(folder: ModelFolder) -> InferenceSession:
    # Before the import: from then on it would count what it is used for, keep that in the user's
    # cache folder, and try to send it. `disable_telemetry_events` comes too late for that.
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    import onnxruntime
    from onnxruntime.capi import onnxruntime_pybind11_state as states

    onnxruntime.disable_telemetry_events()
    try:
        return onnxruntime.InferenceSession(
            folder.model,
            _build_session_options(onnxruntime, folder),
            providers=["CPUExecutionProvider"],
        )
    except (
        states.Fail,
        states.InvalidArgument,
        states.InvalidGraph,
        states.InvalidProtobuf,
        states.NoSuchFile,
        states.NotImplemented,
        states.RuntimeException,
    ) as error:
        raise InvalidConfiguration(
            MODEL_SETTING, f"ONNX Runtime can't load {folder.model}: {error}"
        ) from error


def _build_session_options(onnxruntime: Any, folder: ModelFolder) -> Any:
    """Return how to run the model: on the caller's thread, quietly."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = _ERRORS_ONLY
    if folder.is_optimised:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return options
