"""Detection of paraphrases of known statements."""

from __future__ import annotations

from datetime import date

from memolith.policies.base_memory import remove_from_document
from memolith.policies.paraphrase import build_paraphrase_detector
from support.rows import check_each

LIVES = "We met a heron. I live in Oslo."


@check_each(
    ("told", "sentence", "expected"),
    [
        (LIVES, "I live in Oslo.", True),
        (LIVES, "i live in oslo", True),
        (LIVES, "The user lives in Oslo.", True),
        (LIVES, "The user lives in Oslo and drives a blue Volvo.", True),
        (LIVES, "The user drives a blue Volvo.", False),
        (LIVES, "The user lives in Bergen.", False),
        (LIVES, "The user likes herons.", False),
        ("My name is Johanna Lindqvist.", "Johanna Lindqvist, born 1988.", True),
        ("Bob likes tea.", "Bob is the user's brother.", False),
        ("I know.", "The user knows French.", False),
        ("Yes.", "The user likes tea.", False),
        ("Ich wohne in Köln.", "Ich wohne in Köln.", True),
    ],
)
def test_paraphrase_of_statement_is_detected(told: str, sentence: str, *, expected: bool) -> None:
    assert build_paraphrase_detector([told])(sentence) is expected


def test_relative_date_matches_its_calendar_date() -> None:
    is_paraphrase = build_paraphrase_detector(["I moved to Bergen yesterday."], [date(2026, 5, 4)])
    assert is_paraphrase("The user moved to Bergen on 3 May 2026.")
    assert not is_paraphrase("The user moved to Oslo on 3 May 2026.")


def test_detector_without_statements_matches_nothing() -> None:
    assert not build_paraphrase_detector([])("The user lives in Oslo.")


DOCUMENT = """User Profile:
- Is Ada. Lives in Oslo.

Preferences:
- Lives in Oslo.

Key History:
- Moved.
"""


def test_document_loses_matching_sentences_and_empty_headings() -> None:
    left = remove_from_document(DOCUMENT, lambda sentence: "Oslo" in sentence)
    assert left == "User Profile:\n- Is Ada.\n\nKey History:\n- Moved."
    assert remove_from_document(DOCUMENT, lambda _: True) == ""


def test_document_without_match_is_unchanged() -> None:
    assert remove_from_document(DOCUMENT, lambda sentence: "Bergen" in sentence) == DOCUMENT


def test_text_without_headings_loses_only_sentences() -> None:
    assert (
        remove_from_document("Lives in Oslo. Drinks tea.", lambda each: "tea" in each)
        == "Lives in Oslo."
    )
