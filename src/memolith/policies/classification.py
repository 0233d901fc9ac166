"""Classify texts by cues, without a model: kind and importance; map kinds between profiles."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from memolith.domain.memories import Origin
from memolith.text.cues import CueKind, find_cue_kinds

# All numbers are from `companion`.
_BASE_IMPORTANCE = 0.30
_BY_CUE = {
    CueKind.NAMING: 0.40,
    CueKind.IDENTITY: 0.35,
    CueKind.CORRECTION: 0.30,
    CueKind.PREFERENCE: 0.25,
}
_FEW_WORDS, _FOR_FEW = 4, -0.10
_MANY_WORDS, _FOR_MANY = 20, 0.05
_VERY_MANY_WORDS, _FOR_VERY_MANY = 50, 0.10
_MIN_IMPORTANCE, _MAX_IMPORTANCE = 0.2, 0.9
_TEN_SCALE = range(1, 11)
_DEFAULT_OF_TEN = 5
# Rounding hides binary fractions: 0.3 + 0.35 is 0.65.
_DIGITS = 2

_COMPANION_KINDS = (
    (CueKind.NAMING, "fact"),
    (CueKind.CORRECTION, "correction"),
    (CueKind.PREFERENCE, "preference"),
    (CueKind.IDENTITY, "fact"),
)
_STANDARD_KINDS = (
    (CueKind.CORRECTION, "correction"),
    (CueKind.NAMING, "identity"),
    (CueKind.IDENTITY, "identity"),
    (CueKind.PREFERENCE, "preference"),
)


def score_importance(cues: Iterable[CueKind], *, word_count: int) -> float:
    """Return the importance of a text, 0.2..0.9, by its cues and its length.

    Base 0.30. Each kind of cue adds once: naming 0.40, identity 0.35, correction 0.30, preference
    0.25. Fewer than 4 words: −0.10; from 20 words: +0.05; from 50 words: +0.10.
    """
    total = (
        _BASE_IMPORTANCE
        + sum(_BY_CUE[kind] for kind in frozenset(cues))
        + _length_bonus(word_count)
    )
    return min(max(round(total, _DIGITS), _MIN_IMPORTANCE), _MAX_IMPORTANCE)


def _length_bonus(words: int) -> float:
    if words < _FEW_WORDS:
        return _FOR_FEW
    if words >= _VERY_MANY_WORDS:
        return _FOR_VERY_MANY
    return _FOR_MANY if words >= _MANY_WORDS else 0.0


def scale_importance(value: int | None) -> float:
    """Convert a model's importance, 1..10, to 0..1; anything else is 0.5 (`facts`)."""
    return (_DEFAULT_OF_TEN if value is None or value not in _TEN_SCALE else value) / 10


def get_companion_kind(cues: Iterable[CueKind]) -> str:
    """Return the `companion` kind: naming, correction, preference, identity, in this order."""
    return _first_matching_kind(_COMPANION_KINDS, cues, "context")


def get_standard_kind(cues: Iterable[CueKind]) -> str:
    """Return the `standard` kind: correction, identity, preference, otherwise fact."""
    return _first_matching_kind(_STANDARD_KINDS, cues, "fact")


def _first_matching_kind(
    kinds: tuple[tuple[CueKind, str], ...], cues: Iterable[CueKind], default: str
) -> str:
    cue_set = frozenset(cues)
    return next((kind for cue, kind in kinds if cue in cue_set), default)


# --- Classifiers


class Classifier(Protocol):
    """Assigns kind and importance to a text. Pure."""

    def get_kind(self, text: str, origin: Origin) -> str:
        """Return the kind of memory for a text of that origin."""
        ...

    def classify(self, text: str, origin: Origin) -> tuple[str, float]:
        """Return the kind, and the importance, 0..1."""
        ...


@dataclass(frozen=True, slots=True)
class CueClassifier:
    """Classifies by cues: identity, preference, correction (`standard`, `companion`).

    Attributes:
        get_kind_of_cues: Returns the kind for the cues of a text.
    """

    get_kind_of_cues: Callable[[Iterable[CueKind]], str] = get_standard_kind

    def get_kind(self, text: str, origin: Origin) -> str:
        """Return the kind for the text's cues."""
        del origin
        return self.get_kind_of_cues(find_cue_kinds(text))

    def classify(self, text: str, origin: Origin) -> tuple[str, float]:
        """Return the kind, and the importance by cues and length, 0.2..0.9."""
        del origin
        cues = find_cue_kinds(text)
        return self.get_kind_of_cues(cues), score_importance(cues, word_count=len(text.split()))


@dataclass(frozen=True, slots=True)
class FixedClassifier:
    """Always returns the same kind and importance; for profiles that ask the caller or a model."""

    default_kind: str
    importance: float = 0.5

    def get_kind(self, text: str, origin: Origin) -> str:
        """Return the default kind."""
        del text, origin
        return self.default_kind

    def classify(self, text: str, origin: Origin) -> tuple[str, float]:
        """Return the default kind and importance."""
        del text, origin
        return self.default_kind, self.importance


# --- Kinds across profiles, by way of `standard`


class KindMapping(Protocol):
    """How the kinds of a profile map to those of `standard`."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """The profile's kinds."""
        ...

    @property
    def standard_kinds(self) -> Mapping[str, str]:
        """Own kinds to kinds of `standard`, where the names differ."""
        ...

    @property
    def own_kinds(self) -> Mapping[str, str]:
        """Kinds of `standard` to own kinds, where the names differ."""
        ...


def convert_kind(kind: str, source: KindMapping, target: KindMapping) -> str:
    """Return the kind of another profile for a kind; its default kind if there is no equivalent."""
    return get_profile_kind(source.standard_kinds.get(kind, kind), target)


def get_profile_kind(standard_kind: str, target: KindMapping) -> str:
    """Return a profile's kind for a kind of `standard`; its default kind if there is none."""
    own_kind = target.own_kinds.get(standard_kind, standard_kind)
    return own_kind if own_kind in target.kinds else target.own_kinds.get("fact", target.kinds[-1])


def parse_previous_kinds(stored: str | None) -> dict[str, str]:
    """Return the kinds that a memory had in other profiles, by profile name.

    Args:
        stored: Pairs "profile:kind", separated by spaces.
    """
    pairs = (each.partition(":") for each in (stored or "").split())
    return {profile: kind for profile, _, kind in pairs if kind}


def add_previous_kind(stored: str | None, profile: str, kind: str) -> str:
    """Return the stored pairs with the kind in one more profile."""
    kinds = {**parse_previous_kinds(stored), profile: kind}
    return " ".join(f"{name}:{each}" for name, each in sorted(kinds.items()))
