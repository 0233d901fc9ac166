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


def test_notes_stand_under_their_headings() -> None:
    text = render_document({"Preferences": ["Likes tea."], "User Profile": ["Is Ada."]})
    assert text == "User Profile:\n- Is Ada.\n\nPreferences:\n- Likes tea."


def test_what_was_written_by_hand_is_kept_as_notes_of_the_profile() -> None:
    assert parse_notes("Ada lives in Oslo.\n## Key History\n* moved") == {
        "User Profile": ["Ada lives in Oslo."],
        "Preferences": [],
        "Ongoing Topics": [],
        "Key History": ["* moved"],
    }


def test_the_oldest_of_the_history_goes_first() -> None:
    notes = {"User Profile": ["one two"], "Key History": ["three four", "five six"]}
    assert (
        render_document(notes, max_words=4)
        == "User Profile:\n- one two\n\nKey History:\n- five six"
    )


def test_a_note_stands_once() -> None:
    notes = merge_notes(
        {"Preferences": ["Likes tea."]}, {"Ongoing Topics": ["likes tea", "Moves."]}
    )
    assert notes["Preferences"] == ["Likes tea."]
    assert notes["Ongoing Topics"] == ["Moves."]


def test_kinds_have_their_places() -> None:
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
def test_a_document_reads_back_as_its_notes(notes: dict[str, list[str]]) -> None:
    found = parse_notes(render_document(notes))
    assert {heading: texts for heading, texts in found.items() if texts} == {
        heading: texts for heading, texts in notes.items() if texts
    }


@given(NOTES, st.integers(0, 40))
def test_a_document_has_no_more_words_than_it_may(notes: dict[str, list[str]], most: int) -> None:
    found = parse_notes(render_document(notes, most))
    assert sum(len(note.split()) for texts in found.values() for note in texts) <= most
