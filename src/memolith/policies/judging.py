"""What a text makes, with no model: a memory of which kind, and how much it matters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from memolith.policies.importance import get_standard_kind, score_importance
from memolith.text.cues import find_cue_kinds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from memolith.domain.memories import Origin
    from memolith.text.cues import CueKind


class Classifier(Protocol):
    """A judgement of single texts. Pure."""

    def get_kind(self, text: str, origin: Origin) -> str:
        """Return the kind of memory that a text of that origin makes."""
        ...

    def classify(self, text: str, origin: Origin) -> tuple[str, float]:
        """Return that kind, and how much the text matters, 0..1."""
        ...


@dataclass(frozen=True, slots=True)
class CueClassifier:
    """By cues: who somebody is, what they like, what was wrong (`standard`, `companion`).

    Attributes:
        kind_of: The kind by the cues found.
    """

    get_kind_of_cues: Callable[[Iterable[CueKind]], str] = get_standard_kind

    def get_kind(self, text: str, origin: Origin) -> str:
        """Return the kind that the text's cues make."""
        del origin
        return self.get_kind_of_cues(find_cue_kinds(text))

    def classify(self, text: str, origin: Origin) -> tuple[str, float]:
        """Return that, and the importance by the text's cues and length, 0.2..0.9."""
        del origin
        cues = find_cue_kinds(text)
        return self.get_kind_of_cues(cues), score_importance(cues, word_count=len(text.split()))


@dataclass(frozen=True, slots=True)
class FixedClassifier:
    """Always the same kind and importance, for profiles that are told both, or ask a model."""

    default_kind: str
    importance: float = 0.5

    def get_kind(self, text: str, origin: Origin) -> str:
        """Return the ordinary kind."""
        del text, origin
        return self.default_kind

    def classify(self, text: str, origin: Origin) -> tuple[str, float]:
        """Return the ordinary kind, and the one importance."""
        del text, origin
        return self.default_kind, self.importance
