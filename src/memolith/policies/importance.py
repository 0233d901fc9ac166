"""Importance and kind of what is learned by cues, with no model."""

from __future__ import annotations

from collections.abc import Iterable

from memolith.text.cues import CueKind

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
