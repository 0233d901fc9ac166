"""Properties of the canonical form for any text."""

import string

from hypothesis import given
from hypothesis import strategies as st

from corpora.meaning_edits import swaps
from corpora.pairs import load_pairs
from memolith.errors import InvalidInput
from memolith.text.canonical_form import canonical_words, content_key
from memolith.text.cleaning import clean

SENTENCES = sorted({text for pair in load_pairs() for text in (pair.a, pair.b)})
sentences = st.sampled_from(SENTENCES)
token = st.sampled_from(
    [
        "a",
        "A",
        "the",
        "The",
        "don't",
        "I'm",
        "Bob's",
        "he's",
        "'",
        '"',
        "(",
        ")",
        ",",
        ".",
        "?",
        "!",
        "-",
        "-5",
        "3.5",
        "US",
        "us",
        "der",
        "Hund",
        "ist",
        "茶",
        "、",
        "👍",
        ":)",
        "5",
        "MW",
        "…",
        "—",
    ]
)
made = st.lists(token, max_size=12).map(" ".join)
texts = st.text() | made | sentences


@given(texts)
def test_text_that_is_not_blank_has_a_key(text: str) -> None:
    assert bool(content_key(text)) is bool(text.strip())


@given(texts)
def test_canonical_words_are_not_empty_and_have_no_blanks(text: str) -> None:
    words = canonical_words(text)
    assert all(words)
    if len(words) > 1:
        assert not any(char.isspace() for word in words for char in word)


@given(texts)
def test_cleaning_does_not_change_the_key(text: str) -> None:
    printable = "".join(char for char in text if char.isprintable() or char in " \n\t")
    try:
        cleaned = clean(printable)
    except InvalidInput:
        return
    assert content_key(cleaned) == content_key(printable)


@given(texts, st.sampled_from([" ", "\n", "\t ", "\n\n"]))
def test_white_space_does_not_change_the_key(text: str, blank: str) -> None:
    assert content_key(blank.join(text.split())) == content_key(text)


@given(sentences, st.sampled_from(["", ".", "!", "...", ". ", "!!"]))
def test_final_punctuation_does_not_change_the_key(text: str, mark: str) -> None:
    trimmed = text.rstrip(".! ")
    if trimmed and trimmed[-1] in string.ascii_letters:
        assert content_key(trimmed + mark) == content_key(trimmed)


@given(sentences)
def test_typographic_apostrophes_do_not_change_the_key(text: str) -> None:
    assert content_key(text.replace("'", "’")) == content_key(text)


@given(st.lists(sentences, min_size=1, max_size=3).map(" ".join))
def test_meaning_edits_change_the_key(text: str) -> None:
    key = content_key(text)
    assert all(content_key(swap.changed) != key for swap in swaps(text))


@given(st.lists(st.sampled_from(["Anna", "Bob", "owes", "likes", "7", "tea"]), max_size=6))
def test_plain_words_keep_their_order_and_count(words: list[str]) -> None:
    assert list(canonical_words(" ".join(words))) == [word.lower() for word in words]
