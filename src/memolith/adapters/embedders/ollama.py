"""Vectors from Ollama's `/api/embed`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memolith.adapters.clients.ollama import OllamaClient
from memolith.adapters.clients.wire import dig

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memolith.policies.embedding_models import SelectedModel
    from memolith.ports.embedder import TextRole


class OllamaVectorService:
    """Gives the vectors of a model that Ollama runs. Thread-safe.

    Vectors come whole; older versions of Ollama know nothing of shorter ones.
    """

    def __init__(
        self,
        model: SelectedModel,
        *,
        api_key: str = "",
        base_url: str = "",
        timeout_s: float = 30.0,
    ) -> None:
        """Use a model; nothing is sent yet. The arguments are those of `OllamaClient`.

        Raises:
            InvalidConfiguration: The client is not installed.
        """
        self.name = f"ollama:{model.requested_name}"
        self._model_name = model.requested_name
        self._client = OllamaClient(
            self.name,
            "embedding.provider",
            api_key=api_key,
            base_url=base_url,
            timeout_s=timeout_s,
        )

    def vectors(self, texts: Sequence[str], role: TextRole) -> Any:
        """Return Ollama's vectors of texts; the prefix of a role stands before them already.

        Raises:
            ServiceFailed: There are none.
        """
        del role
        return dig(
            self._client.call(lambda it: it.embed(self._model_name, list(texts))), "embeddings"
        )

    def close(self) -> None:
        """End the connections."""
        self._client.close()
