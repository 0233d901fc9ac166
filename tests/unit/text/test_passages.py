"""Passages, by example. Tokens are words and punctuation marks unless a test states otherwise."""

import re
from collections.abc import Callable, Sequence

import pytest

from memolith.errors import InvalidInput
from memolith.text.passages import passages


class FakeCounter:
    """Count tokens by the given function, and the calls."""

    def __init__(self, cost: Callable[[str], int] | None = None) -> None:
        self.cost = cost or (lambda text: len(re.findall(r"\w+|[^\w\s]", text)))
        self.calls = 0

    def count(self, texts: Sequence[str]) -> list[int]:
        self.calls += 1
        return [self.cost(text) for text in texts]


def get_passages(text: str, counter: FakeCounter, max_tokens: int) -> list[str]:
    return [span.extract(text) for span, _ in passages(text, counter, max_tokens=max_tokens)]


def test_short_text_is_one_passage_counted_once() -> None:
    counter = FakeCounter()
    text = "  I like tea. You too?  "
    assert [(s.extract(text), n) for s, n in passages(text, counter)] == [
        ("I like tea. You too?", 7)
    ]
    assert counter.calls == 1


def test_blank_text_has_no_passages() -> None:
    assert passages(" \n ", FakeCounter()) == []
    assert passages(" " * 5_000, FakeCounter()) == []


def test_sentences_fill_passages_in_order() -> None:
    assert get_passages("One two. Three four. Five six.\nSeven.", FakeCounter(), 6) == [
        "One two. Three four.",
        "Five six.\nSeven.",
    ]


def test_long_sentence_is_split_after_clauses_first() -> None:
    text = "one two three, four five six; seven eight nine ten"
    assert get_passages(text, FakeCounter(), 5) == [
        "one two three,",
        "four five six;",
        "seven eight nine ten",
    ]


def test_long_clause_is_split_at_spaces() -> None:
    pieces = get_passages("one two three four five six seven eight nine ten", FakeCounter(), 4)
    assert " ".join(pieces) == "one two three four five six seven eight nine ten"
    assert all(len(piece.split()) <= 4 for piece in pieces)


def test_only_overlong_word_is_split() -> None:
    text = "tiny " + "x" * 50 + " words"
    pieces = get_passages(text, FakeCounter(len), 12)
    assert pieces[0].startswith("tiny")
    assert pieces[-1].endswith("words")
    assert "".join(pieces).count("x") == 50
    assert max(map(len, pieces)) <= 12


def test_chinese_is_split_between_characters() -> None:
    pieces = get_passages("茶" * 100, FakeCounter(len), 30)
    assert "".join(pieces) == "茶" * 100
    assert max(map(len, pieces)) <= 30


def test_letters_are_not_separated_from_combining_marks() -> None:
    assert all(
        piece[0] == "x" for piece in get_passages("x\u0323\u0331" * 40, FakeCounter(len), 10)
    )


def test_joined_emoji_are_not_split_when_they_fit() -> None:
    family = "👩\u200d👩\u200d👧"
    assert all(piece.startswith("👩") for piece in get_passages(family * 20, FakeCounter(len), 12))


def test_endless_combining_marks_are_split() -> None:
    pieces = get_passages("x" + "\u0323" * 100, FakeCounter(len), 10)
    assert max(map(len, pieces)) <= 10


def test_character_over_token_limit_is_own_passage() -> None:
    text = "ab"
    assert [
        (s.extract(text), n)
        for s, n in passages(text, FakeCounter(lambda t: 5 * len(t)), max_tokens=3)
    ] == [
        ("a", 5),
        ("b", 5),
    ]


def test_exact_count_is_used_when_joining_adds_tokens() -> None:
    # Spaces also count as tokens.
    counter = FakeCounter(lambda text: len(re.findall(r"\S+|\s", text)))
    text = "One two. Three four. " * 500
    found = passages(text, counter, max_tokens=20)
    assert all(tokens == counter.cost(span.extract(text)) <= 20 for span, tokens in found)
    assert counter.calls <= 10


def test_megabyte_is_split_with_few_counter_calls() -> None:
    counter = FakeCounter()
    found = passages("This is a sentence of some words. " * 30_000, counter)
    assert max(tokens for _, tokens in found) <= 112
    assert counter.calls <= 3


def test_too_many_passages_are_rejected() -> None:
    with pytest.raises(InvalidInput, match="the limit is 65,535"):
        passages("a. " * 70_000, FakeCounter(), max_tokens=2)


def test_token_limit_of_zero_is_rejected() -> None:
    with pytest.raises(InvalidInput, match="max_tokens"):
        passages("a", FakeCounter(), max_tokens=0)
