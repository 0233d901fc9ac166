from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemon.errors import InvalidInput
from mnemon.text.cleaning import cleaned
from mnemon.text.streaming import cleaned_pieces

TEXTS = st.lists(
    st.sampled_from(
        ["word ", "a.\n", "\n\n", "\n\n\n\n", "```\n", "\u00e4", "a\u0308", "\r\n", " "]
    )
).map("".join)


def split(text: str, places: list[int]) -> list[str]:
    cuts = sorted({min(place, len(text)) for place in places})
    return [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]


@given(TEXTS, st.lists(st.integers(0, 200)))
def test_the_pieces_joined_are_the_cleaned_text_but_for_white_space(
    text: str, places: list[int]
) -> None:
    joined = "".join(cleaned_pieces(split(text, places), segment_chars=20, longest_chars=90))
    assert "".join(joined.split()) == "".join(cleaned(text).split())


@given(TEXTS, st.lists(st.integers(0, 200)))
def test_a_text_short_enough_is_cleaned_as_a_whole(text: str, places: list[int]) -> None:
    assert "".join(cleaned_pieces(split(text, places))) == cleaned(text)


def test_fenced_code_is_not_parted_at_its_blank_lines() -> None:
    code = "```\n" + "a = 1\n\n" * 50 + "```"
    text = f"Before.\n\n{code}\n\nAfter.\n\nEnd."
    pieces = list(cleaned_pieces([text], segment_chars=20))
    assert any(code in piece for piece in pieces)


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(InvalidInput):
        list(cleaned_pieces(["a", b"b"]))  # type: ignore[list-item] # what is tested
