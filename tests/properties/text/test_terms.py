"""Properties of terms, features, cues and importance for any text."""

from hypothesis import given
from hypothesis import strategies as st

from memolith.policies.classification import get_companion_kind, get_standard_kind, score_importance
from memolith.text.analysis import MAX_TERM_CHARS, terms
from memolith.text.cleaning import clean
from memolith.text.cues import CueKind, find_cue_kinds
from memolith.text.features import count_words, extract_features

word = st.sampled_from(
    [
        "the",
        "garden",
        "Männer",
        "don't",
        "C++",
        "user_id",
        "v1.2",
        "茶",
        "東京",
        "고양이",
        "US",
        "3.5",
        "é",
        "👍",
        "...",
        "ёлка",
        "O'Brien",
        "हिन्दी",
        "_",
        "ｆｕｌｌ",
        "1,000",
        "\u200d",
    ]
)
texts = st.text() | st.lists(word, max_size=12).map(" ".join)
kinds = st.frozensets(st.sampled_from(CueKind))


@given(texts)
def test_terms_are_deterministic(text: str) -> None:
    assert terms(text) == terms(text)


@given(texts)
def test_terms_are_short_and_not_empty(text: str) -> None:
    found_terms = terms(text)
    assert all(found_terms)
    assert all(len(term) <= 3 * MAX_TERM_CHARS for term in found_terms)


@given(st.text(st.characters(codec="utf-8", categories=["L", "N", "S", "P"]), min_size=1))
def test_visible_text_has_terms(text: str) -> None:
    assert terms(clean(text))


@given(texts, texts)
def test_word_has_the_same_terms_in_any_context(before: str, after: str) -> None:
    for single in ("garden", "Männer", "user_id", "茶", "C++", "3.5"):
        assert set(terms(single)) <= set(terms(f"{before} {single} {after}"))


@given(texts)
def test_features_accept_any_text(text: str) -> None:
    assert extract_features(text, tokens=3).words == count_words(text) <= max(1, len(text))


@given(texts)
def test_cues_accept_any_text(text: str) -> None:
    assert find_cue_kinds(text) <= frozenset(CueKind)


@given(kinds, st.integers(0, 10_000))
def test_importance_stays_in_its_range(held: frozenset[CueKind], words: int) -> None:
    assert 0.2 <= score_importance(held, word_count=words) <= 0.9


@given(kinds, kinds, st.integers(0, 10_000))
def test_additional_cues_never_lower_the_importance(
    held: frozenset[CueKind], more: frozenset[CueKind], words: int
) -> None:
    assert score_importance(held, word_count=words) <= score_importance(
        held | more, word_count=words
    )


@given(kinds, st.integers(0, 10_000), st.integers(0, 10_000))
def test_additional_words_never_lower_the_importance(
    held: frozenset[CueKind], a: int, b: int
) -> None:
    fewer, more = sorted((a, b))
    assert score_importance(held, word_count=fewer) <= score_importance(held, word_count=more)


@given(kinds)
def test_every_set_of_cues_has_a_kind(held: frozenset[CueKind]) -> None:
    assert get_companion_kind(held) in {"fact", "correction", "preference", "context"}
    assert get_standard_kind(held) in {"fact", "correction", "preference", "identity"}
