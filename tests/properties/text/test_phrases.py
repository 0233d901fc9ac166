"""Phrases found quickly are those found slowly."""

from hypothesis import given
from hypothesis import strategies as st

from memolith.text.cues import CueKind, languages
from memolith.text.cues.matching import compiled, folded, phrase_regex
from memolith.text.cues.phrases import Phrases, runs

_CUES = [(cues.fillers, cues.phrases(kind)) for cues in languages() for kind in CueKind]
_WORDS = sorted({word for _, phrases in _CUES for phrase in phrases for word in phrase.split()})
words = st.sampled_from([word.strip("^!*").replace("#", "7") for word in _WORDS])
texts = st.lists(words | st.sampled_from(["really", ".", ",\n", "Straße", "I’M"]), max_size=12).map(
    " ".join
)


@given(texts | st.sampled_from([phrase.strip("^*") for _, ps in _CUES for phrase in ps]))
def test_no_phrase_is_missed(text: str) -> None:
    lower = folded(text)
    for fillers, phrases in _CUES:
        slow = compiled(phrase_regex(phrase, fillers) for phrase in phrases)
        quick = Phrases(phrases, fillers).within(runs(text))
        found = None if quick is None else quick.search(lower)
        assert (found is None) == (slow.search(lower) is None)


def test_a_text_with_none_of_the_words_needs_no_pattern() -> None:
    phrases = Phrases(["i prefer", "mein lieblings*", "# days"])
    assert phrases.within(runs("It rained.")) is None
    assert phrases.within(runs("Mein Lieblingsessen")) is not None
    assert phrases.within(runs("It rained for 5 days.")) is not None
