"""What is worth keeping of a long text: the vocabulary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class ChunkScore:
    """What a stretch of text was found to be worth, each 0..1.

    Attributes:
        novelty: How far it is from what the owner has.
        salience: How much of what matters it holds.
        importance: What they come to.
        kept: Whether that is enough.
    """

    novelty: float
    salience: float
    importance: float
    is_kept: bool


class ChunkScoring(Protocol):
    """A judgement of the stretches of a text. Pure."""

    def score_chunk(self, text: str, *, novelty: float, word_pieces: int) -> ChunkScore:
        """Return what a stretch is worth.

        Args:
            text: The stretch.
            novelty: Its distance from the centroid of what the owner has, 0..2.
            pieces: Its word pieces.
        """
        ...
