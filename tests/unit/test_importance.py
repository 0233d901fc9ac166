"""Importance and kind by cues: the arithmetic of the companion profile."""

from memolith.policies.classification import get_companion_kind, get_standard_kind, score_importance
from memolith.text.cues import CueKind
from support.rows import check_each

NAMING, IDENTITY = CueKind.NAMING, CueKind.IDENTITY
CORRECTION, PREFERENCE = CueKind.CORRECTION, CueKind.PREFERENCE


@check_each(
    ("cues", "words", "expected"),
    [
        ([], 10, 0.30),
        ([NAMING], 10, 0.70),
        ([IDENTITY], 10, 0.65),
        ([CORRECTION], 10, 0.60),
        ([PREFERENCE], 10, 0.55),
        ([PREFERENCE, PREFERENCE], 10, 0.55),
        ([CORRECTION, PREFERENCE], 10, 0.85),
        ([NAMING, IDENTITY], 10, 0.90),
        (list(CueKind), 100, 0.90),
        ([], 0, 0.20),
        ([], 3, 0.20),
        ([], 4, 0.30),
        ([], 19, 0.30),
        ([], 20, 0.35),
        ([], 49, 0.35),
        ([], 50, 0.40),
        ([IDENTITY], 3, 0.55),
        ([IDENTITY], 50, 0.75),
    ],
)
def test_importance_adds_up_cues_and_length(
    cues: list[CueKind], words: int, expected: float
) -> None:
    assert score_importance(cues, word_count=words) == expected


@check_each(
    ("cues", "companion", "standard"),
    [
        ([], "context", "fact"),
        ([NAMING], "fact", "identity"),
        ([IDENTITY], "fact", "identity"),
        ([CORRECTION], "correction", "correction"),
        ([PREFERENCE], "preference", "preference"),
        ([NAMING, CORRECTION], "fact", "correction"),
        ([CORRECTION, PREFERENCE, IDENTITY], "correction", "correction"),
        ([PREFERENCE, IDENTITY], "preference", "identity"),
        (list(CueKind), "fact", "correction"),
    ],
)
def test_first_matching_kind_is_selected(
    cues: list[CueKind], companion: str, standard: str
) -> None:
    assert get_companion_kind(cues) == companion
    assert get_standard_kind(iter(cues)) == standard
