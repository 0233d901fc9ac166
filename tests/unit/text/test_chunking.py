"""Chunks, by example. Tokens are words and punctuation marks unless a test states otherwise.

The folder data/chunkings contains texts with their expected chunks. Their first line has the sizes
in word pieces: minimum, maximum, and maximum of an unsplit block. "‖" separates chunks.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from memolith.adapters.models.local import WordPieceCounter
from memolith.errors import InvalidInput
from memolith.text.chunking.chunks import ChunkSizes, split_chunks, stream_chunks
from memolith.text.cleaning import clean
from support.rows import check_each

CHUNKINGS = sorted((Path(__file__).parents[2] / "data" / "chunkings").glob("*.txt"))


class FakeCounter:
    """Count words and punctuation marks, and the calls."""

    def __init__(self) -> None:
        self.calls = 0

    def count(self, texts: Sequence[str]) -> list[int]:
        self.calls += 1
        return [len(re.findall(r"\w+|[^\w\s]", text)) for text in texts]


def get_chunks(text: str, *sizes: int) -> list[str]:
    return [chunk.text for chunk in split_chunks(text, FakeCounter(), sizes=ChunkSizes(*sizes))]


@check_each("file", CHUNKINGS)
def test_text_is_split_into_golden_chunks(file: Path) -> None:
    head, _, marked = file.read_text(encoding="utf-8").partition("\n")
    sizes = ChunkSizes(*map(int, head.split()[1:]))
    expected = [chunk.strip() for chunk in marked.split("‖")]
    text = marked.replace("‖", "")
    assert clean(text) == text.strip()
    found = split_chunks(text, WordPieceCounter(), sizes=sizes)
    assert [chunk.text for chunk in found] == expected


def test_golden_chunkings_exist() -> None:
    assert {file.stem for file in CHUNKINGS} >= {"essay-en", "essay-de", "code", "lists", "chinese"}


def test_blank_text_has_no_chunks() -> None:
    assert split_chunks("", FakeCounter()) == []
    assert split_chunks(" \n\n ", FakeCounter()) == []


def test_paragraphs_become_chunks() -> None:
    assert get_chunks("One two three.\n\nFour five six.", 2, 9) == [
        "One two three.",
        "Four five six.",
    ]


def test_paragraph_of_maximum_size_is_not_split() -> None:
    text = "One two. Three four."
    assert get_chunks(text, 0, 6) == [text]
    assert get_chunks(text, 0, 5) == ["One two.", "Three four."]


def test_short_last_sentence_is_joined_with_previous_one() -> None:
    text = "One two three. Four five six. Seven eight nine. Ten."
    assert get_chunks(text, 4, 12) == ["One two three. Four five six.", "Seven eight nine. Ten."]


def test_abbreviations_and_numbers_do_not_end_sentences() -> None:
    text = "Dr. Fox paid 3.50 to Mr. Lee, e.g. on 1. Mai. Then he left."
    assert get_chunks(text, 0, 24) == [
        "Dr. Fox paid 3.50 to Mr. Lee, e.g. on 1. Mai.",
        "Then he left.",
    ]


def test_short_neighbours_are_merged() -> None:
    assert get_chunks("One.\n\nTwo.\n\nThree four five.", 3, 8) == [
        "One.\n\nTwo.",
        "Three four five.",
    ]


def test_short_chunk_is_merged_with_smaller_neighbour() -> None:
    assert get_chunks("a b c d e f.\n\ng h i.\n\nj k l m.", 5, 20) == [
        "a b c d e f.",
        "g h i.\n\nj k l m.",
    ]


def test_merged_chunks_never_exceed_maximum() -> None:
    assert get_chunks("a b c d e.\n\nf.\n\ng h i j k.", 3, 7) == ["a b c d e.", "f.", "g h i j k."]


def test_heading_belongs_to_following_text() -> None:
    text = "a b c.\n\n# Title\n\ng h i j k l m n."
    assert get_chunks(text, 4, 14) == ["a b c.", "# Title\n\ng h i j k l m n."]
    assert get_chunks("a b c.\n\nTitle\n=====\ng h i j k.", 3, 14)[-1].startswith("Title")


def test_heading_that_does_not_fit_joins_previous_chunk() -> None:
    assert get_chunks("a b c.\n\n# Title\n\ng h i j k l m n.", 3, 9) == [
        "a b c.\n\n# Title",
        "g h i j k l m n.",
    ]


def test_paragraph_ending_in_colon_belongs_to_following_text() -> None:
    assert get_chunks("a b.\n\nThus:\n\n```\nc d e f\n```", 3, 15) == [
        "a b.",
        "Thus:\n\n```\nc d e f\n```",
    ]


@check_each(
    "block",
    [
        "```\na. B. c\n\n\n# d\n- e\n```",
        "~~~~\na\n~~~\nb. C.\n~~~~",
        "- a. B.\n- c. D.\n\n- e. F.",
        "1. a. B.\n   more. And more.\n\n   A paragraph.\n2. c",
        "* a\n  * b\n    * c\n* d",
        "- a\n  ```\n  x\n\ny\n  ```\n- b",
        "| a | b. C |\n|---|---|\n| c. D | e |",
        "a | b. C\n--|--\nc. D | e",
        "• a. B.\n• c. D.",
        "a) b. C.\nb) d. E.",
    ],
)
def test_code_lists_and_tables_are_not_split(block: str) -> None:
    assert block in get_chunks(f"Before it. All.\n\n{block}\n\nAfter it. Too.", 0, 3, 40)


def test_oversized_code_is_split_at_blank_lines_then_lines() -> None:
    text = "```\na b c\nd e f\n\ng h i\nj k l\nm n o\n```"
    assert get_chunks(text, 0, 5, 14) == ["```\na b c\nd e f", "g h i\nj k l\nm n o\n```"]
    assert get_chunks(text, 0, 5, 8) == ["```\na b c", "d e f\n\ng h i", "j k l\nm n o", "```"]


def test_oversized_list_is_split_between_items() -> None:
    text = "- a b\n  - c d\n- e f\n  - g h"
    assert get_chunks(text, 0, 5, 6) == ["- a b\n  - c d", "- e f\n  - g h"]
    assert get_chunks("- a\n  - b\n- c\n  - d", 0, 5, 7) == ["- a\n  - b", "- c\n  - d"]


def test_oversized_table_is_split_between_rows() -> None:
    text = "| a | b |\n| - | - |\n| c | d |"
    assert get_chunks(text, 0, 5, 10) == ["| a | b |\n| - | - |", "| c | d |"]


def test_numbered_paragraph_is_not_list() -> None:
    item = "1. " + "word " * 60 + "end."
    assert get_chunks(f"{item}\n\n{item}", 0, 100, 400) == [item, item]


def test_number_at_beginning_of_line_is_not_list_item() -> None:
    text = "It cost him\n20. That was all.\nMore."
    assert get_chunks(text, 0, 5, 40)[0] == "It cost him\n20."
    assert get_chunks("It was:\n1. That was all. So.", 0, 5, 40) == [
        "It was:",
        "1. That was all. So.",
    ]


def test_last_two_parts_are_balanced_within_limits() -> None:
    text = "be be be be. xxxxx. xxxxxxxxxxxxxx."
    found = split_chunks(text, FakeCounter(), sizes=ChunkSizes(3, 20, 20, max_chars=20))
    assert [chunk.text for chunk in found] == ["be be be be. xxxxx.", "xxxxxxxxxxxxxx."]


def test_overlong_line_is_not_split_inside_combining_characters() -> None:
    sizes = ChunkSizes(0, 100, 100, max_chars=30, look_ahead_chars=31)
    found = split_chunks("x\u0301\u0323" * 60, FakeCounter(), sizes=sizes)
    assert "".join(chunk.text for chunk in found) == "x\u0301\u0323" * 60
    assert all(chunk.text.startswith("x") for chunk in found)


def test_long_sentence_is_split_at_strongest_clause_marks() -> None:
    text = "a, b c; d e, f g: h i"
    assert get_chunks(text, 0, 8) == ["a, b c;", "d e, f g: h i"]
    assert get_chunks("a b c, d e f – g h i and j k l", 0, 8) == [
        "a b c, d e f –",
        "g h i and j k l",
    ]
    assert get_chunks("a b c and d e f because g h i", 0, 8) == ["a b c and d e f", "because g h i"]
    assert get_chunks("a b c und d e f weil g h i", 0, 8) == ["a b c und d e f", "weil g h i"]


def test_deliberate_line_breaks_end_sentences() -> None:
    poem = "roses are red\nviolets blue\nsugar is sweet, and so are you, my dear\nsaid she\nto me"
    assert get_chunks(poem, 0, 7) == [
        "roses are red\nviolets blue",
        "sugar is sweet,",
        "and so are you, my dear",
        "said she\nto me",
    ]


def test_wrapped_lines_do_not_end_sentences() -> None:
    text = "This is a text in lines\nof one width. It goes on\nto the end. There it is\ndone."
    assert get_chunks(text, 0, 10) == [
        "This is a text in lines\nof one width.", "It goes on\nto the end.", "There it is\ndone.",
    ]  # fmt: skip


def test_only_overlong_word_is_split() -> None:
    text = "tiny " + "x" * 50 + " words"
    found = [
        c.text for c in split_chunks(text, FakeCounter(), sizes=ChunkSizes(0, 9, 9, max_chars=20))
    ]
    assert found[0].startswith("tiny")
    assert found[-1].endswith("words")
    assert "".join(found).count("x") == 50


class LetterCounter:
    """Count all characters that are not white space."""

    def count(self, texts: Sequence[str]) -> list[int]:
        return [len("".join(text.split())) for text in texts]


def test_text_without_spaces_is_split_at_marks_then_between_words() -> None:
    text = "我喜欢茶，你喜欢咖啡。他用Python写代码，我也一样写得很好很多"
    found = [c.text for c in split_chunks(text, LetterCounter(), sizes=ChunkSizes(0, 12))]
    assert found[:2] == ["我喜欢茶，你喜欢咖啡。", "他用Python写代码，"]
    found = [
        c.text for c in split_chunks("他用Python写" * 9, LetterCounter(), sizes=ChunkSizes(0, 10))
    ]
    assert sum(chunk.count("Python") for chunk in found) == 9


def test_thai_is_split_at_spaces() -> None:
    text = "ฉันอยู่ที่นี่ มาสิบปีแล้ว ทุกเช้าฉันเดิน"
    assert [
        c.text for c in split_chunks(text, LetterCounter(), sizes=ChunkSizes(0, 18))
    ] == text.split()


def test_every_chunk_has_its_span() -> None:
    text = "One two three.\n\nFour five six."
    assert [(c.span.start, c.span.end, c.tokens) for c in split_chunks(text, FakeCounter())] == [
        (0, 30, 8)
    ]
    assert [c.span.start for c in split_chunks(text, FakeCounter(), sizes=ChunkSizes(0, 5))] == [
        0,
        16,
    ]


def test_block_beyond_look_ahead_is_split() -> None:
    sizes = ChunkSizes(0, 100, 100, max_chars=40, look_ahead_chars=40)
    text = "word " * 7 + "two. Three " + "word " * 7
    found = list(stream_chunks([text], FakeCounter(), sizes=sizes))
    assert all(len(chunk.text) <= 40 for chunk in found)
    assert " ".join(chunk.text for chunk in found) == text.strip()


def test_stream_is_read_only_as_needed() -> None:
    taken = 0

    def iter_endless_text() -> Iterator[str]:
        nonlocal taken
        while True:
            taken += 1
            yield "Some words that say nothing at all.\n\n" * 100

    first = next(stream_chunks(iter_endless_text(), FakeCounter()))
    assert first.span.start == 0
    assert taken < 200


def test_counting_takes_few_calls() -> None:
    counter = FakeCounter()
    split_chunks(
        "This is a sentence of some words. " * 10_000 + "\n\n" + "Hi.\n\n" * 10_000, counter
    )
    assert counter.calls <= 30


@check_each("sizes", [(-1, 3), (5, 3), (1, 3, 2), (0, 0), (0, 1, 1, 0), (0, 1, 1, 9, 8)])
def test_contradictory_sizes_are_rejected(sizes: tuple[int, ...]) -> None:
    with pytest.raises(InvalidInput, match="sizes"):
        ChunkSizes(*sizes)


@pytest.mark.timeout(30)
@pytest.mark.parametrize(
    "unit",
    [
        "a. ", "a\n", "\n", "- a\n", "| a\n", "```\n", "\n```x", "a, ", "a", "茶", "# \n", "a\n\n",
        "1. a\n\n", ": ", " ", "\t", "x\u0301", "---\n", "a|b\n-|-\n", "and ", "===\n", "\u2028",
    ],
    ids=repr,
)  # fmt: skip
def test_long_hostile_text_is_split_in_linear_time(unit: str) -> None:
    text = unit * (60_000 // len(unit))
    found = split_chunks(text, LetterCounter())
    assert sum(len(chunk.text) for chunk in found) <= len(text)
