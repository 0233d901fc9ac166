"""Properties of sentences and passages for any text."""

import re
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from memolith.domain.memories import Span
from memolith.text.cues import find_cue_sentences
from memolith.text.passages import passages
from memolith.text.segmentation import sentences

prose = st.lists(
    st.sampled_from(
        [
            "Dr.",
            "z. B.",
            "I like tea",
            ". ",
            "! ",
            "?",
            '"',
            "\n",
            "\n- ",
            "3. ",
            "Mai",
            "J. ",
            " ",
            "```\n",
            "```",
            "茶。",
            "…",
            "word ",
            "x" * 30,
            ", ",
            "\u2028",
            "a.b",
            "e\u0323\u0301",
            "👩\u200d👧",
            "my name is ",
            "actually ",
            "`i like` ",
        ]
    ),
    max_size=40,
).map("".join)
texts = st.text() | prose


class Words:
    """Counts words and marks; each run of white space counts as `space` tokens."""

    def __init__(self, space: int) -> None:
        self.space = space

    def count(self, texts: Sequence[str]) -> list[int]:
        return [
            len(re.findall(r"\w{1,4}|[^\w\s]", text)) + self.space * len(re.findall(r"\s+", text))
            for text in texts
        ]


def assert_cover(text: str, spans: list[Span]) -> None:
    """Assert that spans are stripped, ordered, disjoint and cover all but white space."""
    end = 0
    for span in spans:
        assert span.start >= end
        assert not text[end : span.start].strip()
        assert span.extract(text) == span.extract(text).strip() != ""
        end = span.end
    assert not text[end:].strip()


@given(texts)
def test_sentences_cover_the_whole_text(text: str) -> None:
    assert_cover(text, sentences(text))


@given(texts)
def test_no_sentence_crosses_a_line_end(text: str) -> None:
    assert not any("\n" in span.extract(text) for span in sentences(text))


@given(texts, st.integers(1, 30), st.integers(0, 2))
def test_passages_cover_the_whole_text(text: str, max_tokens: int, space: int) -> None:
    cut = passages(text, Words(space), max_tokens=max_tokens)
    assert_cover(text, [span for span, _ in cut])


@given(texts, st.integers(1, 30), st.integers(0, 2))
def test_no_passage_exceeds_the_token_limit(text: str, max_tokens: int, space: int) -> None:
    counter = Words(space)
    for span, tokens in passages(text, counter, max_tokens=max_tokens):
        assert [tokens] == counter.count([span.extract(text)])
        assert tokens <= max_tokens or span.end - span.start == 1


@given(texts, st.integers(8, 30))
def test_words_that_fit_are_not_split(text: str, max_tokens: int) -> None:
    counter = Words(0)
    cut = passages(text, counter, max_tokens=max_tokens)
    kept = [word for span, _ in cut for word in span.extract(text).split()]
    fitting = [word for word in text.split() if counter.count([word])[0] <= max_tokens]
    clause_marks = re.compile(r"[–—，、；：。！？｡]")
    for word in fitting:
        assert word in kept or clause_marks.search(word) or len(word) == 1


@given(texts)
def test_sentences_with_cues_are_a_subset_of_the_sentences(text: str) -> None:
    cue_sentences = find_cue_sentences(text)
    assert [span for span, _ in cue_sentences] == [
        s for s in sentences(text) if s in {t for t, _ in cue_sentences}
    ]
    assert all(kinds for _, kinds in cue_sentences)
