"""Importance and kind of what is learned by cues, with no model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from memolith.domain.memories import Origin
from memolith.text.cues import CueKind, find_cue_kinds

# All numbers are the companion profile's own.
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
# Sums of such decimals are exact to this many digits, and 0.3 + 0.35 should read 0.65.
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
    """Return the importance, 0.2..0.9, of a text with these cues and so many words.

    0.30, and for each kind of cue once: naming 0.40, identity 0.35, correction 0.30, preference
    0.25; fewer than 4 words −0.10, from 20 words +0.05, from 50 words +0.10 instead.
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
    """Return the importance, 0..1, that a model gave as 1..10; 0.5 for anything else (`facts`)."""
    return (_DEFAULT_OF_TEN if value is None or value not in _TEN_SCALE else value) / 10


def get_companion_kind(cues: Iterable[CueKind]) -> str:
    """Return the `companion` profile's kind: naming, correction, preference, identity, else."""
    return _first_matching_kind(_COMPANION_KINDS, cues, "context")


def get_standard_kind(cues: Iterable[CueKind]) -> str:
    """Return the `standard` profile's kind: correction, identity, preference, else fact."""
    return _first_matching_kind(_STANDARD_KINDS, cues, "fact")


def _first_matching_kind(
    kinds: tuple[tuple[CueKind, str], ...], cues: Iterable[CueKind], default: str
) -> str:
    held = frozenset(cues)
    return next((kind for cue, kind in kinds if cue in held), default)


# --- What a text makes, with no model: a memory of which kind, and how much it matters


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


# --- Kinds across profiles: what a memory of one is in another, by way of `standard`


class KindMapping(Protocol):
    """What a profile says of its kinds."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """Its own kinds."""
        ...

    @property
    def standard_kinds(self) -> Mapping[str, str]:
        """The kind of `standard` that each of them is, where that has another name."""
        ...

    @property
    def own_kinds(self) -> Mapping[str, str]:
        """The kind of its own that each kind of `standard` becomes, likewise."""
        ...


def convert_kind(kind: str, source: KindMapping, target: KindMapping) -> str:
    """Return what a kind of one profile is in another; what has no like is its ordinary kind."""
    return get_profile_kind(source.standard_kinds.get(kind, kind), target)


def get_profile_kind(standard_kind: str, target: KindMapping) -> str:
    """Return what a profile calls a kind of `standard`; without a like, its ordinary kind."""
    own = target.own_kinds.get(standard_kind, standard_kind)
    return own if own in target.kinds else target.own_kinds.get("fact", target.kinds[-1])


def parse_previous_kinds(stored: str | None) -> dict[str, str]:
    """Return the kinds that a memory had in other profiles, by their names.

    Args:
        kept: As a memory keeps them: "profile:kind", several of them with a space between.
    """
    pairs = (each.partition(":") for each in (stored or "").split())
    return {profile: kind for profile, _, kind in pairs if kind}


def add_previous_kind(stored: str | None, profile: str, kind: str) -> str:
    """Return what a memory keeps, with the kind it had in one more profile."""
    kinds = {**parse_previous_kinds(stored), profile: kind}
    return " ".join(f"{name}:{each}" for name, each in sorted(kinds.items()))
