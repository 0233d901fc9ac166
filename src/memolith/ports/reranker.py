"""The reranker: reads a query and a text together, and says how well they go together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence


class Reranker(Protocol):
    """Scores texts for a query. Thread-safe."""

    def score(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """Return how relevant each text is, in their order; more is better, on any scale.

        A text's score depends on the query and the text, not on what else is in the call.

        Raises:
            ServiceFailed: The model is not there, or failed.
        """
        ...
