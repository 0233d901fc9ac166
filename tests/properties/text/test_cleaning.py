"""Properties of cleaning for any text."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memolith.errors import InvalidInput
from memolith.text.cleaning import clean
from memolith.text.segmentation import code_blocks, mask_code

# Any code point, including lone surrogates; and texts dense with characters that cleaning handles.
anything = st.text(st.characters(codec=None, exclude_categories=()))
dense = st.text(st.sampled_from("a \n\r\t`~\x00\x1c\u0301\u0316\u0f73\ud800\udc00\u200b茶"))
texts = (
    anything
    | dense
    | st.lists(st.sampled_from(["```", "~~~", "\n", "\n\n\n", "    ", "a"])).map("".join)
)


def try_clean(text: str) -> str | None:
    try:
        return clean(text)
    except InvalidInput:
        return None


@given(texts)
def test_cleaning_twice_equals_cleaning_once(text: str) -> None:
    once = try_clean(text)
    assert once is None or clean(once) == once


@given(texts)
def test_cleaned_text_is_well_formed(text: str) -> None:
    once = try_clean(text)
    if once is not None:
        assert once == once.strip() != ""
        assert unicodedata.is_normalized("NFC", once)
        assert once.encode()
        assert all(c in "\t\n" or unicodedata.category(c) != "Cc" for c in once)


@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cf", "Z", "Cn", "Co"])))
def test_composed_text_without_blanks_is_unchanged(text: str) -> None:
    composed = unicodedata.normalize("NFC", text)
    assert try_clean(text) == (composed or None)


@given(texts, st.integers(0, 50))
def test_only_text_over_the_limit_is_rejected(text: str, limit: int) -> None:
    once = try_clean(text)
    if once is not None and len(once) > limit:
        with pytest.raises(InvalidInput, match=str(limit)):
            clean(text, limit=limit)
    elif once is not None:
        assert clean(text, limit=limit) == once


@given(texts)
def test_masking_code_keeps_all_positions(text: str) -> None:
    blanked = mask_code(text)
    assert len(blanked) == len(text)
    assert all(b in (" ", t) for b, t in zip(blanked, text, strict=True))


@given(texts)
def test_code_blocks_are_disjoint_and_in_order(text: str) -> None:
    ends = [0, *(at for block in code_blocks(text) for at in (block.start, block.end)), len(text)]
    assert ends == sorted(ends)
