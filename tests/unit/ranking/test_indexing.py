"""The embedded text and the keywords of a passage."""

from memolith.policies.indexing import (
    WINDOW_TOKENS,
    add_window_terms,
    build_embedded_text,
    count_passage_terms,
    proper_name,
)
from support.rows import check_each


def test_speaker_name_precedes_embedded_text() -> None:
    assert build_embedded_text("Ines", "I bought a kayak.") == "Ines: I bought a kayak."


@check_each("speaker", [None, "", "user", "Assistant", "tool"])
def test_role_is_not_used_as_speaker_name(speaker: str | None) -> None:
    assert proper_name(speaker) is None
    assert build_embedded_text(speaker, "Hello") == "Hello"
    assert count_passage_terms(speaker, "kayak") == count_passage_terms(None, "kayak")


def test_speaker_name_counts_as_keyword() -> None:
    assert count_passage_terms("Kayak", "A kayak, and another kayak")["kayak"] == 3


def test_window_adds_previous_message_when_both_fit() -> None:
    own, previous = {"yes": 1, "week": 1}, {"week": 2, "kayak": 1}
    fits = add_window_terms(own, 20, previous, WINDOW_TOKENS - 20)
    assert fits == {"yes": 1, "week": 3, "kayak": 1}
    assert add_window_terms(own, 20, previous, WINDOW_TOKENS - 19) == own
