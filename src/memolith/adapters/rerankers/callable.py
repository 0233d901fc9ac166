"""A plain function as a reranker."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class CallableReranker:
    """Makes a reranker of a function from a query and texts to scores.

    What the function raises passes through as it is; `ServiceFailed` means that it can't be had.
    """

    def __init__(self, function: Callable[[str, list[str]], Sequence[float]]) -> None:
        """Use this function."""
        self._function = function

    def score(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """Return the function's scores."""
        return self._function(query, list(texts))
