"""Counting tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence


class TokenCounter(Protocol):
    """Counts what a text costs in a prompt, or in an embedder's window. Thread-safe."""

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text, in order, without special tokens.

        The empty text has 0. The same text always has the same number.
        """
        ...
