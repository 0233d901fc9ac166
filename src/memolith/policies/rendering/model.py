"""What every rendering takes and gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memolith.domain.recall import RecalledItem


@dataclass(frozen=True, slots=True)
class RenderInput:
    """What a prompt is made of.

    Attributes:
        results: What was recalled, best first.
        base_memory: The owner's living document; empty where there is none.
        state: How things stand now, in the caller's words; empty where nothing is said.
    """

    results: Sequence[RecalledItem]
    base_memory: str = ""
    state: str = ""


class Rendering(Protocol):
    """A form for a prompt. No text in it can close its section or pose as another."""

    def render(
        self, material: RenderInput, budget: int, count: Callable[[Sequence[str]], list[int]]
    ) -> tuple[str, tuple[RecalledItem, ...]]:
        """Return the text, at most `budget` tokens by `count`, and the results it shows.

        Results come best first; one that does not fit is skipped and the next is tried. Nothing
        to show is the empty text.
        """
        ...
