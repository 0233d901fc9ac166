"""Passages, by example; tokens are words and marks unless a test says otherwise."""

import re
from collections.abc import Callable, Sequence

import pytest

from memolith.errors import InvalidInput
from memolith.text.passages import passages


class Tokens:
    """Counts by a function, and how often it was asked."""

    def __init__(self, cost: Callable[[str], int] | None = None) -> None:
        self.cost = cost or (lambda text: len(re.findall(r"\w+|[^\w\s]", text)))
        self.calls = 0

    def count(self, texts: Sequence[str]) -> list[int]:
        self.calls += 1
        return [self.cost(text) for text in texts]


def cut(text: str, counter: Tokens, max_tokens: int) -> list[str]:
    return [span.extract(text) for span, _ in passages(text, counter, max_tokens=max_tokens)]


def test_a_short_text_is_one_passage_counted_once() -> None:
    counter = Tokens()
    text = "  I like tea. You too?  "
    assert [(s.extract(text), n) for s, n in passages(text, counter)] == [
        ("I like tea. You too?", 7)
    ]
    assert counter.calls == 1


def test_a_text_of_spaces_has_no_passage() -> None:
    assert passages(" \n ", Tokens()) == []
    assert passages(" " * 5_000, Tokens()) == []


def test_sentences_fill_passages_in_order() -> None:
    assert cut("One two. Three four. Five six.\nSeven.", Tokens(), 6) == [
        "One two. Three four.",
        "Five six.\nSeven.",
    ]


def test_a_long_sentence_is_cut_after_clauses_first() -> None:
    text = "one two three, four five six; seven eight nine ten"
    assert cut(text, Tokens(), 5) == ["one two three,", "four five six;", "seven eight nine ten"]


def test_then_at_spaces() -> None:
    pieces = cut("one two three four five six seven eight nine ten", Tokens(), 4)
    assert " ".join(pieces) == "one two three four five six seven eight nine ten"
    assert all(len(piece.split()) <= 4 for piece in pieces)


def test_a_word_is_cut_only_where_it_is_too_long_by_itself() -> None:
    text = "tiny " + "x" * 50 + " words"
    pieces = cut(text, Tokens(len), 12)
    assert pieces[0].startswith("tiny")
    assert pieces[-1].endswith("words")
    assert "".join(pieces).count("x") == 50
    assert max(map(len, pieces)) <= 12


def test_chinese_is_cut_between_characters() -> None:
    pieces = cut("茶" * 100, Tokens(len), 30)
    assert "".join(pieces) == "茶" * 100
    assert max(map(len, pieces)) <= 30


def test_letters_keep_their_marks() -> None:
    assert all(piece[0] == "x" for piece in cut("x\u0323\u0331" * 40, Tokens(len), 10))


def test_joined_emoji_stay_whole_where_they_fit() -> None:
    family = "👩\u200d👩\u200d👧"
    assert all(piece.startswith("👩") for piece in cut(family * 20, Tokens(len), 12))


def test_marks_without_end_are_cut_all_the_same() -> None:
    pieces = cut("x" + "\u0323" * 100, Tokens(len), 10)
    assert max(map(len, pieces)) <= 10


def test_a_character_that_costs_too_much_is_a_passage() -> None:
    text = "ab"
    assert [
        (s.extract(text), n) for s, n in passages(text, Tokens(lambda t: 5 * len(t)), max_tokens=3)
    ] == [
        ("a", 5),
        ("b", 5),
    ]


def test_the_true_count_holds_where_joining_costs_extra() -> None:
    counter = Tokens(lambda text: len(re.findall(r"\S+|\s", text)))  # spaces cost, too
    text = "One two. Three four. " * 500
    found = passages(text, counter, max_tokens=20)
    assert all(tokens == counter.cost(span.extract(text)) <= 20 for span, tokens in found)
    assert counter.calls <= 10


def test_a_megabyte_takes_a_handful_of_calls() -> None:
    counter = Tokens()
    found = passages("This is a sentence of some words. " * 30_000, counter)
    assert max(tokens for _, tokens in found) <= 112
    assert counter.calls <= 3


def test_too_many_passages_are_refused() -> None:
    with pytest.raises(InvalidInput, match="the limit is 65,535"):
        passages("a. " * 70_000, Tokens(), max_tokens=2)


def test_no_tokens_at_all_are_refused() -> None:
    with pytest.raises(InvalidInput, match="max_tokens"):
        passages("a", Tokens(), max_tokens=0)
