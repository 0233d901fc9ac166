"""The quick check whether a text has a word that another lacks."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from memolith.policies.paraphrase import long_words, sentence_keys

_WORDS = st.sampled_from(
    [
        "I",
        "the",
        "The",
        "a",
        "an",
        "An",
        "shouldn't",
        "should",
        "not",
        "cannot",
        "can't",
        "couldn't",
        "could",
        "mightn't",
        "wouldn't",
        "would",
        "neighbour's",
        "neighbours'll",
        "neighbours",
        "will",
        "everything's",
        "everything",
        "is",
        "breakfast",
        "BREAKFAST",
        "hasn't",
        "has",
        "we've",
        "we",
        "have",
        "eine",
        "einen",
        "einem",
        "eines",
        "Hund",
        "kaufen",
        "Kaufhaus",
        "8",
        "a.m.",
        "1,000",
        "(5)",
        "good-bye",
        "goodbye",
        "U.S.A.",
        "wonderful",
        "OKAY",
        "Turkey",
        "turkey",
        "'tis",
        "'twas",
    ]
)
_MARKS = st.sampled_from(["", ".", ",", "!", "?", "...", ";", ":", " -", ")", '"', "'"])
_PIECES = st.tuples(st.sampled_from(["", "(", '"', "'"]), _WORDS, _MARKS).map("".join)
_SPACES = st.sampled_from([" ", "  ", "\n", "...", "-"])


@st.composite
def _texts(draw: st.DrawFn) -> str:
    pieces = draw(st.lists(_PIECES, min_size=1, max_size=8))
    return "".join(piece + draw(_SPACES) for piece in pieces)


@st.composite
def _pairs(draw: st.DrawFn) -> tuple[str, str]:
    """Return a text, and another text or a variant of the first."""
    first = draw(_texts() | st.text(st.characters(codec="ascii"), max_size=40))
    ways = (str.upper, str.lower, str.title, lambda text: text.replace("'", ""), str.strip)
    second = draw(_texts() | st.sampled_from(ways).map(lambda way: way(first)))
    return first, f"{second}. {first}" if draw(st.booleans()) else second


@given(_pairs())
@example(("We shouldn't.", "We should not."))
@example(("I shan't.", "I shall not."))
@example(("It hasn't.", "It has not."))
@example(("Eine Katze", "Katze"))
@example(("The neighbours'll come.", "the neighbours will come"))
def test_text_contained_in_another_has_no_additional_long_word(pair: tuple[str, str]) -> None:
    first, second = pair
    here, there = long_words(first), long_words(second)
    assert here is not None
    assert there is not None
    if sentence_keys(first) <= sentence_keys(second):
        assert here <= there


def test_long_words_are_undefined_for_texts_with_diacritics() -> None:
    assert long_words("Das Café in Zürich") is None
    assert long_words("She shouldn't skip BREAKFAST") == frozenset({"skip", "breakfast"})
