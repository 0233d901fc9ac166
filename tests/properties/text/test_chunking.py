"""Properties of chunking for any text."""

import re
from collections.abc import Sequence
from itertools import pairwise

from hypothesis import example, given
from hypothesis import strategies as st

from memolith.text.chunking.blocks import blocks
from memolith.text.chunking.chunks import Chunk, ChunkSizes, split_chunks, stream_chunks

_PARTS = [
    "Dr. ",
    "z. B. ",
    "I like tea",
    ". ",
    "! ",
    "?",
    '"',
    "\n",
    "\n\n",
    "\n\n",
    "\n- ",
    "\n\n1. ",
    "\n2) ",
    "  ",
    "\t",
    "\n# ",
    "\n===\n",
    "\n| a | b |\n",
    "|---|---|\n",
    "a | b\n",
    "3. ",
    "\n```\n",
    "```",
    "\n  ```\n",
    "\n~~~ py\n",
    "茶。",
    "我用Python写",
    "ไทย",
    "…",
    "word ",
    "and ",
    "x" * 30,
    ", ",
    "; ",
    ": ",
    "\u2028",
    "e\u0323\u0301",
    "👩\u200d👧",
    " " * 60,
]
texts = st.text() | st.lists(st.sampled_from(_PARTS), max_size=60).map("".join)
sizes = st.builds(
    lambda least, more, hard, chars, ahead: ChunkSizes(
        least, least + more, least + more + hard, chars, chars + ahead
    ),
    st.integers(0, 12),
    st.integers(1, 20),
    st.integers(0, 30),
    st.integers(1, 120),
    st.integers(0, 60),
)


class Words:
    """Counts words and marks; each run of white space counts as `space` tokens."""

    def __init__(self, space: int = 0) -> None:
        self.space = space

    def count(self, texts: Sequence[str]) -> list[int]:
        return [
            len(re.findall(r"\w{1,4}|[^\w\s]", text)) + self.space * len(re.findall(r"\s+", text))
            for text in texts
        ]


def remove_white_space(text: str) -> str:
    return "".join(text.split())


@given(texts, sizes, st.integers(0, 2))
def test_chunks_joined_equal_the_text_except_white_space(
    text: str, s: ChunkSizes, space: int
) -> None:
    end = 0
    for chunk in split_chunks(text, Words(space), sizes=s):
        assert not text[end : chunk.span.start].strip()
        assert chunk.text == chunk.span.extract(text) == chunk.text.strip() != ""
        end = chunk.span.end
    assert not text[end:].strip()


@given(texts, sizes, st.integers(0, 2))
def test_no_chunk_exceeds_its_limits(text: str, s: ChunkSizes, space: int) -> None:
    counter = Words(space)
    for chunk in split_chunks(text, counter, sizes=s):
        assert [chunk.tokens] == counter.count([chunk.text])
        assert len(chunk.text) <= s.max_chars
        assert chunk.tokens <= s.hard_max_tokens or len(chunk.text) == 1


@given(
    st.lists(st.sampled_from(["I like tea. ", "And? ", "a, b; ", "x" * 9, " ", "\n", "茶。"])),
    st.integers(0, 2),
)
def test_prose_chunks_stay_within_the_maximum(parts: list[str], space: int) -> None:
    found = split_chunks("".join(parts), Words(space), sizes=ChunkSizes(5, 12, 100))
    assert all(chunk.tokens <= 12 for chunk in found)


class Letters:
    """Counts characters other than white space, so that parts of a text add up to the whole."""

    def count(self, texts: Sequence[str]) -> list[int]:
        return [len(remove_white_space(text)) for text in texts]


@given(texts, sizes)
def test_short_adjacent_chunks_that_fit_are_merged(text: str, s: ChunkSizes) -> None:
    # With other counters, parts may cost more than the whole; merging compares the sum.
    found = split_chunks(text, Letters(), sizes=s)
    for first, second in pairwise(found):
        short = min(first.tokens, second.tokens) < s.min_tokens
        fit = first.tokens + second.tokens <= s.max_tokens
        assert not (short and fit and second.span.end - first.span.start <= s.max_chars)


@given(texts, sizes, st.lists(st.integers(0, 400)), st.integers(0, 1))
def test_stream_gives_the_same_chunks_however_it_is_split(
    text: str, s: ChunkSizes, cuts: list[int], space: int
) -> None:
    places = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    parts = [text[a:b] for a, b in pairwise(places)]
    assert list(stream_chunks(parts, Words(space), sizes=s)) == split_chunks(
        text, Words(space), sizes=s
    )


@given(texts, sizes)
def test_stream_of_characters_gives_the_same_chunks(text: str, s: ChunkSizes) -> None:
    assert list(stream_chunks(text, Words(), sizes=s)) == split_chunks(text, Words(), sizes=s)


@example("a | b\n|---|---|\n", 12)
@given(texts, st.integers(1, 60))
def test_blocks_cover_the_text_within_the_length_limit(text: str, longest: int) -> None:
    found = list(blocks([text], longest))
    assert "".join(block.text for block in found) == text
    assert [block.start for block in found] == [
        sum(len(block.text) for block in found[:at]) for at in range(len(found))
    ]
    assert all(0 < len(block.text) <= longest for block in found)


@given(texts, st.integers(8, 30))
def test_words_that_fit_are_not_split(text: str, most: int) -> None:
    counter = Words()
    found = split_chunks(text, counter, sizes=ChunkSizes(0, most, most, 500))
    kept = [word for chunk in found for word in chunk.text.split()]
    marks = re.compile(r"[–—，、；：。！？｡،]")
    for word in text.split():
        fits = counter.count([word])[0] <= most and len(word) <= 500
        assert not fits or word in kept or marks.search(word) or len(word) == 1


def assert_whole(block: str, found: list[Chunk]) -> None:
    assert any(block.strip() in chunk.text for chunk in found)


@given(st.lists(st.sampled_from(["a = 1", "", "# b", "- c", "| d", "  e. F"]), max_size=12), texts)
def test_code_that_fits_is_not_split(lines: list[str], around: str) -> None:
    block = "\n".join(["~~~~~~~", *lines, "~~~~~~~"])
    text = f"Words before.\n\n{block}\n\n{around}"
    assert_whole(block, split_chunks(text, Words(), sizes=ChunkSizes(5, 12, 100)))
