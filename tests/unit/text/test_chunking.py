"""Chunks, by example; tokens are words and marks unless a test says otherwise.

The folder data/chunkings holds texts with their expected chunks: the first line says the sizes
(least, most, most of a block that is kept whole, in word pieces), and "‖" stands where a chunk
ends and another follows.
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


class Tokens:
    """Counts words and marks, and how often it was asked."""

    def __init__(self) -> None:
        self.calls = 0

    def count(self, texts: Sequence[str]) -> list[int]:
        self.calls += 1
        return [len(re.findall(r"\w+|[^\w\s]", text)) for text in texts]


def cut(text: str, *sizes: int) -> list[str]:
    return [chunk.text for chunk in split_chunks(text, Tokens(), sizes=ChunkSizes(*sizes))]


@check_each("file", CHUNKINGS)
def test_a_text_has_its_golden_chunks(file: Path) -> None:
    head, _, marked = file.read_text(encoding="utf-8").partition("\n")
    sizes = ChunkSizes(*map(int, head.split()[1:]))
    expected = [chunk.strip() for chunk in marked.split("‖")]
    text = marked.replace("‖", "")
    assert clean(text) == text.strip()
    found = split_chunks(text, WordPieceCounter(), sizes=sizes)
    assert [chunk.text for chunk in found] == expected


def test_there_are_golden_chunkings() -> None:
    assert {file.stem for file in CHUNKINGS} >= {"essay-en", "essay-de", "code", "lists", "chinese"}


def test_a_text_of_nothing_has_no_chunks() -> None:
    assert split_chunks("", Tokens()) == []
    assert split_chunks(" \n\n ", Tokens()) == []


def test_paragraphs_are_chunks() -> None:
    assert cut("One two three.\n\nFour five six.", 2, 9) == ["One two three.", "Four five six."]


def test_a_paragraph_at_the_maximum_stays_whole() -> None:
    text = "One two. Three four."
    assert cut(text, 0, 6) == [text]
    assert cut(text, 0, 5) == ["One two.", "Three four."]


def test_a_last_sentence_too_short_by_itself_takes_from_the_ones_before() -> None:
    text = "One two three. Four five six. Seven eight nine. Ten."
    assert cut(text, 4, 12) == ["One two three. Four five six.", "Seven eight nine. Ten."]


def test_abbreviations_and_numbers_end_no_sentence() -> None:
    text = "Dr. Fox paid 3.50 to Mr. Lee, e.g. on 1. Mai. Then he left."
    assert cut(text, 0, 24) == ["Dr. Fox paid 3.50 to Mr. Lee, e.g. on 1. Mai.", "Then he left."]


def test_short_neighbours_are_merged() -> None:
    assert cut("One.\n\nTwo.\n\nThree four five.", 3, 8) == ["One.\n\nTwo.", "Three four five."]


def test_a_short_one_joins_the_smaller_neighbour() -> None:
    assert cut("a b c d e f.\n\ng h i.\n\nj k l m.", 5, 20) == [
        "a b c d e f.",
        "g h i.\n\nj k l m.",
    ]


def test_nothing_is_merged_over_the_maximum() -> None:
    assert cut("a b c d e.\n\nf.\n\ng h i j k.", 3, 7) == ["a b c d e.", "f.", "g h i j k."]


def test_a_heading_goes_with_what_follows() -> None:
    text = "a b c.\n\n# Title\n\ng h i j k l m n."
    assert cut(text, 4, 14) == ["a b c.", "# Title\n\ng h i j k l m n."]
    assert cut("a b c.\n\nTitle\n=====\ng h i j k.", 3, 14)[-1].startswith("Title")


def test_a_heading_that_does_not_fit_goes_back() -> None:
    assert cut("a b c.\n\n# Title\n\ng h i j k l m n.", 3, 9) == [
        "a b c.\n\n# Title",
        "g h i j k l m n.",
    ]


def test_what_ends_in_a_colon_goes_with_what_follows() -> None:
    assert cut("a b.\n\nThus:\n\n```\nc d e f\n```", 3, 15) == [
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
def test_code_lists_and_tables_are_never_cut_inside(block: str) -> None:
    assert block in cut(f"Before it. All.\n\n{block}\n\nAfter it. Too.", 0, 3, 40)


def test_code_that_is_too_long_is_cut_at_blank_lines_then_at_lines() -> None:
    text = "```\na b c\nd e f\n\ng h i\nj k l\nm n o\n```"
    assert cut(text, 0, 5, 14) == ["```\na b c\nd e f", "g h i\nj k l\nm n o\n```"]
    assert cut(text, 0, 5, 8) == ["```\na b c", "d e f\n\ng h i", "j k l\nm n o", "```"]


def test_a_list_that_is_too_long_is_cut_between_its_items() -> None:
    text = "- a b\n  - c d\n- e f\n  - g h"
    assert cut(text, 0, 5, 6) == ["- a b\n  - c d", "- e f\n  - g h"]
    assert cut("- a\n  - b\n- c\n  - d", 0, 5, 7) == ["- a\n  - b", "- c\n  - d"]


def test_a_table_that_is_too_long_is_cut_between_its_rows() -> None:
    text = "| a | b |\n| - | - |\n| c | d |"
    assert cut(text, 0, 5, 10) == ["| a | b |\n| - | - |", "| c | d |"]


def test_a_numbered_paragraph_is_no_list() -> None:
    item = "1. " + "word " * 60 + "end."
    assert cut(f"{item}\n\n{item}", 0, 100, 400) == [item, item]


def test_a_number_at_a_lines_beginning_is_no_item() -> None:
    text = "It cost him\n20. That was all.\nMore."
    assert cut(text, 0, 5, 40)[0] == "It cost him\n20."
    assert cut("It was:\n1. That was all. So.", 0, 5, 40) == ["It was:", "1. That was all. So."]


def test_the_last_two_parts_are_evened_only_as_far_as_they_fit() -> None:
    text = "be be be be. xxxxx. xxxxxxxxxxxxxx."
    found = split_chunks(text, Tokens(), sizes=ChunkSizes(3, 20, 20, max_chars=20))
    assert [chunk.text for chunk in found] == ["be be be be. xxxxx.", "xxxxxxxxxxxxxx."]


def test_a_line_that_is_too_long_to_look_at_keeps_letters_and_marks_together() -> None:
    sizes = ChunkSizes(0, 100, 100, max_chars=30, look_ahead_chars=31)
    found = split_chunks("x\u0301\u0323" * 60, Tokens(), sizes=sizes)
    assert "".join(chunk.text for chunk in found) == "x\u0301\u0323" * 60
    assert all(chunk.text.startswith("x") for chunk in found)


def test_a_long_sentence_is_cut_at_clauses_from_the_strongest_mark() -> None:
    text = "a, b c; d e, f g: h i"
    assert cut(text, 0, 8) == ["a, b c;", "d e, f g: h i"]
    assert cut("a b c, d e f – g h i and j k l", 0, 8) == ["a b c, d e f –", "g h i and j k l"]
    assert cut("a b c and d e f because g h i", 0, 8) == ["a b c and d e f", "because g h i"]
    assert cut("a b c und d e f weil g h i", 0, 8) == ["a b c und d e f", "weil g h i"]


def test_lines_that_end_on_purpose_end_a_sentence() -> None:
    poem = "roses are red\nviolets blue\nsugar is sweet, and so are you, my dear\nsaid she\nto me"
    assert cut(poem, 0, 7) == [
        "roses are red\nviolets blue",
        "sugar is sweet,",
        "and so are you, my dear",
        "said she\nto me",
    ]


def test_lines_of_running_text_end_no_sentence() -> None:
    text = "This is a text in lines\nof one width. It goes on\nto the end. There it is\ndone."
    assert cut(text, 0, 10) == [
        "This is a text in lines\nof one width.", "It goes on\nto the end.", "There it is\ndone.",
    ]  # fmt: skip


def test_a_word_is_cut_only_where_it_is_too_long_by_itself() -> None:
    text = "tiny " + "x" * 50 + " words"
    found = [c.text for c in split_chunks(text, Tokens(), sizes=ChunkSizes(0, 9, 9, max_chars=20))]
    assert found[0].startswith("tiny")
    assert found[-1].endswith("words")
    assert "".join(found).count("x") == 50


class Letters:
    """Counts all that is not white space."""

    def count(self, texts: Sequence[str]) -> list[int]:
        return [len("".join(text.split())) for text in texts]


def test_writing_without_spaces_is_cut_at_its_marks_then_between_words() -> None:
    text = "我喜欢茶，你喜欢咖啡。他用Python写代码，我也一样写得很好很多"
    found = [c.text for c in split_chunks(text, Letters(), sizes=ChunkSizes(0, 12))]
    assert found[:2] == ["我喜欢茶，你喜欢咖啡。", "他用Python写代码，"]
    found = [c.text for c in split_chunks("他用Python写" * 9, Letters(), sizes=ChunkSizes(0, 10))]
    assert sum(chunk.count("Python") for chunk in found) == 9


def test_thai_is_cut_at_spaces() -> None:
    text = "ฉันอยู่ที่นี่ มาสิบปีแล้ว ทุกเช้าฉันเดิน"
    assert [c.text for c in split_chunks(text, Letters(), sizes=ChunkSizes(0, 18))] == text.split()


def test_every_chunk_says_where_it_stands() -> None:
    text = "One two three.\n\nFour five six."
    assert [(c.span.start, c.span.end, c.tokens) for c in split_chunks(text, Tokens())] == [
        (0, 30, 8)
    ]
    assert [c.span.start for c in split_chunks(text, Tokens(), sizes=ChunkSizes(0, 5))] == [0, 16]


def test_a_block_that_is_too_long_to_look_at_is_taken_as_several() -> None:
    sizes = ChunkSizes(0, 100, 100, max_chars=40, look_ahead_chars=40)
    text = "word " * 7 + "two. Three " + "word " * 7
    found = list(stream_chunks([text], Tokens(), sizes=sizes))
    assert all(len(chunk.text) <= 40 for chunk in found)
    assert " ".join(chunk.text for chunk in found) == text.strip()


def test_a_stream_is_read_no_further_than_it_must() -> None:
    taken = 0

    def endless() -> Iterator[str]:
        nonlocal taken
        while True:
            taken += 1
            yield "Some words that say nothing at all.\n\n" * 100

    first = next(stream_chunks(endless(), Tokens()))
    assert first.span.start == 0
    assert taken < 200


def test_counting_takes_few_calls() -> None:
    counter = Tokens()
    split_chunks(
        "This is a sentence of some words. " * 10_000 + "\n\n" + "Hi.\n\n" * 10_000, counter
    )
    assert counter.calls <= 30


@check_each("sizes", [(-1, 3), (5, 3), (1, 3, 2), (0, 0), (0, 1, 1, 0), (0, 1, 1, 9, 8)])
def test_sizes_that_contradict_each_other_are_refused(sizes: tuple[int, ...]) -> None:
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
def test_a_long_hostile_text_is_cut_in_linear_time(unit: str) -> None:
    text = unit * (60_000 // len(unit))
    found = split_chunks(text, Letters())
    assert sum(len(chunk.text) for chunk in found) <= len(text)
