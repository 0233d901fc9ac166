from __future__ import annotations

import sys
from types import FrameType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memolith.errors import InvalidInput
from memolith.text.cleaning import clean_stream, clean_text

TEXTS = st.lists(
    st.sampled_from(
        ["word ", "a.\n", "\n\n", "\n\n\n\n", "```\n", "\u00e4", "a\u0308", "\r\n", " "]
    )
).map("".join)


def split(text: str, places: list[int]) -> list[str]:
    cuts = sorted({min(place, len(text)) for place in places})
    return [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]


@given(TEXTS, st.lists(st.integers(0, 200)))
def test_stream_pieces_joined_equal_the_cleaned_text(text: str, places: list[int]) -> None:
    joined = "".join(clean_stream(split(text, places), segment_chars=20, longest_chars=90))
    assert "".join(joined.split()) == "".join(clean_text(text).split())


@given(TEXTS, st.lists(st.integers(0, 200)))
def test_short_text_is_cleaned_as_a_whole(text: str, places: list[int]) -> None:
    assert "".join(clean_stream(split(text, places))) == clean_text(text)


def test_fenced_code_is_not_split_at_blank_lines() -> None:
    code = "```\n" + "a = 1\n\n" * 50 + "```"
    text = f"Before.\n\n{code}\n\nAfter.\n\nEnd."
    pieces = list(clean_stream([text], segment_chars=20))
    assert any(code in piece for piece in pieces)


def test_stream_with_bytes_is_rejected() -> None:
    with pytest.raises(InvalidInput):
        list(clean_stream(["a", b"b"]))  # type: ignore[list-item] # what is tested


def count_searches(pieces: list[str]) -> int:
    """Return how often the incoming text is searched for a place to split."""
    searches: list[str] = []

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_name == "_find_cut":
            searches.append(event)

    sys.setprofile(note)
    try:
        list(clean_stream(pieces, segment_chars=100, longest_chars=10_000))
    finally:
        sys.setprofile(None)
    return len(searches)


def test_many_small_pieces_do_not_cause_a_search_each() -> None:
    assert 0 < count_searches(["a line\n"] * 1_000) <= 7_000 // 100


def test_huge_piece_is_processed_in_segments() -> None:
    segments = list(clean_stream(["word " * 10_000], segment_chars=100, longest_chars=1_000))
    assert "".join("".join(segments).split()) == "word" * 10_000
    assert max(map(len, segments)) <= 1_000 + len("\n\n")
