"""Importance and kind of what is learned by cues, with no model."""

from __future__ import annotations

from collections.abc import Iterable

from memolith.text.cues import CueKind

# All numbers are the companion profile's own.
_START = 0.30
_BY_CUE = {
    CueKind.NAMING: 0.40,
    CueKind.IDENTITY: 0.35,
    CueKind.CORRECTION: 0.30,
    CueKind.PREFERENCE: 0.25,
}
_FEW_WORDS, _FOR_FEW = 4, -0.10
_MANY_WORDS, _FOR_MANY = 20, 0.05
_VERY_MANY_WORDS, _FOR_VERY_MANY = 50, 0.10
_LEAST, _MOST = 0.2, 0.9
_OF_TEN = range(1, 11)
_ORDINARY_OF_TEN = 5
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


def importance(cues: Iterable[CueKind], *, words: int) -> float:
    """Return the importance, 0.2..0.9, of a text with these cues and so many words.

    0.30, and for each kind of cue once: naming 0.40, identity 0.35, correction 0.30, preference
    0.25; fewer than 4 words −0.10, from 20 words +0.05, from 50 words +0.10 instead.
    """
    total = _START + sum(_BY_CUE[kind] for kind in frozenset(cues)) + _by_length(words)
    return min(max(round(total, _DIGITS), _LEAST), _MOST)


def _by_length(words: int) -> float:
    if words < _FEW_WORDS:
        return _FOR_FEW
    if words >= _VERY_MANY_WORDS:
        return _FOR_VERY_MANY
    return _FOR_MANY if words >= _MANY_WORDS else 0.0


def of_ten(value: int | None) -> float:
    """Return the importance, 0..1, that a model gave as 1..10; 0.5 for anything else (`facts`)."""
    return (_ORDINARY_OF_TEN if value is None or value not in _OF_TEN else value) / 10


def companion_kind(cues: Iterable[CueKind]) -> str:
    """Return the `companion` profile's kind: naming, correction, preference, identity, else."""
    return _first(_COMPANION_KINDS, cues, "context")


def standard_kind(cues: Iterable[CueKind]) -> str:
    """Return the `standard` profile's kind: correction, identity, preference, else fact."""
    return _first(_STANDARD_KINDS, cues, "fact")


def _first(kinds: tuple[tuple[CueKind, str], ...], cues: Iterable[CueKind], otherwise: str) -> str:
    held = frozenset(cues)
    return next((kind for cue, kind in kinds if cue in held), otherwise)
