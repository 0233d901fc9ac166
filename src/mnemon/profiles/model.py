"""What a profile is: the kinds and policies of one way to remember, as one frozen value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from mnemon.domain.recall import Recalled
    from mnemon.policies.ranking.model import Ranking
    from mnemon.text.cues import CueKind


class Importance(Protocol):
    """A judgement of how much a text matters."""

    def __call__(self, cues: Iterable[CueKind], *, words: int) -> float:
        """Return 0..1 for a text with these cues and so many words."""
        ...


class Forgetting(Protocol):
    """A law by which memories fade."""

    def strength(
        self,
        kinds: Sequence[str],
        importance: NDArray[np.float64],
        access_count: NDArray[np.int64],
        days: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """Return what is left of each memory, 0..1, days after its last access."""
        ...


class Rendering(Protocol):
    """A form for a prompt."""

    def render(
        self, results: Sequence[Recalled], budget: int, count: Callable[[Sequence[str]], list[int]]
    ) -> tuple[str, tuple[Recalled, ...]]:
        """Return the text, at most `budget` tokens by `count`, and the results it shows."""
        ...


@dataclass(frozen=True, slots=True)
class Profile:
    """One way to remember.

    Attributes:
        name: As an owner keeps it.
        kinds: Its kinds of memories, in the order in which they are rendered.
        max_memory_chars: The longest memory, in characters.
        importance: The importance of a text, by its cues and its number of words.
        kind_of: The kind of a text by its cues.
        ranking: How results are ordered.
        forgetting: How memories fade.
        rendering: How they are shown to a model.
    """

    name: str
    kinds: tuple[str, ...]
    max_memory_chars: int
    importance: Importance
    kind_of: Callable[[Iterable[CueKind]], str]
    ranking: Ranking
    forgetting: Forgetting
    rendering: Rendering
