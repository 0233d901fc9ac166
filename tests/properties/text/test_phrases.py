"""The phrase index finds the same phrases as a full search."""

from hypothesis import given
from hypothesis import strategies as st

from memolith.text.cues import (
    CueKind,
    PhraseIndex,
    build_phrase_regex,
    compile_phrases,
    fold_prose,
    get_runs,
    load_cues,
)

_CUES = [(cues.fillers, cues.phrases(kind)) for cues in load_cues() for kind in CueKind]
_WORDS = sorted({word for _, phrases in _CUES for phrase in phrases for word in phrase.split()})
words = st.sampled_from([word.strip("^!*").replace("#", "7") for word in _WORDS])
texts = st.lists(words | st.sampled_from(["really", ".", ",\n", "Straße", "I’M"]), max_size=12).map(
    " ".join
)


@given(texts | st.sampled_from([phrase.strip("^*") for _, ps in _CUES for phrase in ps]))
def test_phrase_index_misses_no_phrase(text: str) -> None:
    lower = fold_prose(text)
    for fillers, phrases in _CUES:
        slow = compile_phrases(build_phrase_regex(phrase, fillers) for phrase in phrases)
        quick = PhraseIndex(phrases, fillers).get_pattern(get_runs(text))
        found = None if quick is None else quick.search(lower)
        assert (found is None) == (slow.search(lower) is None)


def test_text_without_indexed_words_needs_no_pattern() -> None:
    phrases = PhraseIndex(["i prefer", "mein lieblings*", "# days"])
    assert phrases.get_pattern(get_runs("It rained.")) is None
    assert phrases.get_pattern(get_runs("Mein Lieblingsessen")) is not None
    assert phrases.get_pattern(get_runs("It rained for 5 days.")) is not None
