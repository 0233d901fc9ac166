"""What chunking takes and gives."""

from __future__ import annotations

from dataclasses import dataclass

from memolith.domain.items import Span
from memolith.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class ChunkSizes:
    """How large chunks are.

    Attributes:
        min_tokens: Neighbours under it are merged where they fit.
        max_tokens: The most a chunk may have, but for one block of code, list or table.
        hard_max_tokens: The most such a block may have before it is cut at its own seams. The
            default is a guess: four times the maximum, and well under the 2,000 tokens that
            recall gives by default, so that what is kept whole can still be recalled.
        max_chars: The most characters of any chunk: the longest memory. A word piece can be long,
            so that tokens alone bound nothing.
        look_ahead_chars: The longest block that is looked at whole; a longer one is taken as
            several. A guess: a dozen of the longest chunks.
    """

    min_tokens: int = 50
    max_tokens: int = 300
    hard_max_tokens: int = 1_200
    max_chars: int = 8_000
    look_ahead_chars: int = 100_000

    def __post_init__(self) -> None:
        """Check them.

        Raises:
            InvalidInput: They contradict each other.
        """
        if not 0 <= self.min_tokens <= self.max_tokens <= self.hard_max_tokens:
            raise InvalidInput("sizes", "needs 0 <= min_tokens <= max_tokens <= hard_max_tokens")
        if not 1 <= self.max_chars <= self.look_ahead_chars or self.max_tokens < 1:
            raise InvalidInput(
                "sizes", "needs max_tokens and max_chars from 1, look_ahead_chars >= max_chars"
            )


@dataclass(frozen=True, slots=True)
class Chunk:
    """A stretch of a text that says one thing, without white space around it.

    Attributes:
        span: Where it stands in the whole text, in characters.
        text: The stretch.
        tokens: Its number of tokens.
    """

    span: Span
    text: str
    tokens: int
