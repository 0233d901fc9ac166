"""What a text makes, with no model: a memory of which kind, and how much it matters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from memolith.policies.importance import importance, standard_kind
from memolith.text.cues import found

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from memolith.domain.memories import Origin
    from memolith.text.cues import CueKind


class Judging(Protocol):
    """A judgement of single texts. Pure."""

    def kind(self, text: str, origin: Origin) -> str:
        """Return the kind of memory that a text of that origin makes."""
        ...

    def judged(self, text: str, origin: Origin) -> tuple[str, float]:
        """Return that kind, and how much the text matters, 0..1."""
        ...


@dataclass(frozen=True, slots=True)
class CueJudging:
    """By cues: who somebody is, what they like, what was wrong (`standard`, `companion`).

    Attributes:
        kind_of: The kind by the cues found.
    """

    kind_of: Callable[[Iterable[CueKind]], str] = standard_kind

    def kind(self, text: str, origin: Origin) -> str:
        """Return the kind that the text's cues make."""
        del origin
        return self.kind_of(found(text))

    def judged(self, text: str, origin: Origin) -> tuple[str, float]:
        """Return that, and the importance by the text's cues and length, 0.2..0.9."""
        del origin
        cues = found(text)
        return self.kind_of(cues), importance(cues, words=len(text.split()))


@dataclass(frozen=True, slots=True)
class FixedJudging:
    """Always the same kind and importance, for profiles that are told both, or ask a model."""

    ordinary: str
    weight: float = 0.5

    def kind(self, text: str, origin: Origin) -> str:
        """Return the ordinary kind."""
        del text, origin
        return self.ordinary

    def judged(self, text: str, origin: Origin) -> tuple[str, float]:
        """Return the ordinary kind, and the one importance."""
        del text, origin
        return self.ordinary, self.weight
