"""Vectors from any service with OpenAI's `/v1/embeddings`: OpenAI, vLLM, TEI and others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memolith.adapters.clients.openai import OpenAIClient
from memolith.adapters.clients.wire import dig, unreadable_failure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memolith.policies.embedding_models import SelectedModel
    from memolith.ports.embedder import TextRole


class OpenAIVectorService:
    """Gives the vectors of a service that speaks OpenAI's protocol. Thread-safe."""

    def __init__(
        self,
        model: SelectedModel,
        *,
        api_key: str = "",
        base_url: str = "",
        timeout_s: float = 30.0,
    ) -> None:
        """Use a model; nothing is sent yet. The arguments are those of `OpenAIClient`.

        Raises:
            InvalidConfiguration: The client is not installed.
        """
        self.name = f"openai:{model.requested_name}"
        self._client = OpenAIClient(
            self.name,
            "embedding.provider",
            api_key=api_key,
            base_url=base_url,
            timeout_s=timeout_s,
        )
        # As numbers: not all services know how to send them otherwise.
        self._request: dict[str, Any] = {"model": model.requested_name, "encoding_format": "float"}
        if model.truncated_dimension is not None and model.info.accepts_dimension:
            self._request["dimensions"] = model.truncated_dimension

    def vectors(self, texts: Sequence[str], role: TextRole) -> Any:
        """Return the service's vectors of texts; the prefix of a role stands before them already.

        Raises:
            ServiceFailed: There are none.
        """
        del role
        done = self._client.call(
            lambda client: client.embeddings.create(input=list(texts), **self._request)
        )
        rows = dig(done, "data")
        if not isinstance(rows, list):
            raise unreadable_failure(self.name)
        places = [dig(row, "index") for row in rows]
        if sorted(map(repr, places)) != sorted(map(repr, range(len(rows)))):
            raise unreadable_failure(self.name)  # which vector is of which text can't be told
        by_place = dict(zip(places, rows, strict=True))
        return [dig(by_place[place], "embedding") for place in range(len(rows))]

    def close(self) -> None:
        """End the connections."""
        self._client.close()
