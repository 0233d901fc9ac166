"""The base memory as a document."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memolith.policies.base_memory import (
    HEADINGS,
    get_heading,
    merge_notes,
    parse_notes,
    render_document,
)

WORDS = st.text("abcdefgh ", min_size=1, max_size=30).map(lambda text: text.strip() or "a")
NOTES = st.dictionaries(st.sampled_from(HEADINGS), st.lists(WORDS, max_size=6))


def test_notes_are_rendered_under_their_headings() -> None:
    text = render_document({"Preferences": ["Likes tea."], "User Profile": ["Is Ada."]})
    assert text == "User Profile:\n- Is Ada.\n\nPreferences:\n- Likes tea."


def test_handwritten_text_becomes_profile_notes() -> None:
    assert parse_notes("Ada lives in Oslo.\n## Key History\n* moved") == {
        "User Profile": ["Ada lives in Oslo."],
        "Preferences": [],
        "Ongoing Topics": [],
        "Key History": ["* moved"],
    }


def test_oldest_history_note_is_dropped_first() -> None:
    notes = {"User Profile": ["one two"], "Key History": ["three four", "five six"]}
    assert (
        render_document(notes, max_words=4)
        == "User Profile:\n- one two\n\nKey History:\n- five six"
    )


def test_duplicate_note_is_dropped() -> None:
    notes = merge_notes(
        {"Preferences": ["Likes tea."]}, {"Ongoing Topics": ["likes tea", "Moves."]}
    )
    assert notes["Preferences"] == ["Likes tea."]
    assert notes["Ongoing Topics"] == ["Moves."]


def test_each_kind_has_its_heading() -> None:
    kinds = ("identity", "preference", "correction", "event", "project", "fact")
    assert [get_heading(kind) for kind in kinds] == [
        "User Profile",
        "Preferences",
        "Preferences",
        "Key History",
        "Ongoing Topics",
        "Ongoing Topics",
    ]


@given(NOTES)
def test_document_is_parsed_back_into_its_notes(notes: dict[str, list[str]]) -> None:
    found = parse_notes(render_document(notes))
    assert {heading: texts for heading, texts in found.items() if texts} == {
        heading: texts for heading, texts in notes.items() if texts
    }


@given(NOTES, st.integers(0, 40))
def test_document_respects_word_limit(notes: dict[str, list[str]], most: int) -> None:
    found = parse_notes(render_document(notes, most))
    assert sum(len(note.split()) for texts in found.values() for note in texts) <= most
