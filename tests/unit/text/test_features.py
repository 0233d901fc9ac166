"""Features, by example."""

import pytest

from memolith.domain.memories import Trait
from memolith.text.features import count_words, extract_features
from support.rows import check_each

HAVE: dict[Trait, list[str]] = {
    Trait.QUESTION: [
        "Do you like tea?",
        "“Really?”",
        "Really?! 😀",
        "Ok? ",
        "你好吗？",
        "هل أنت بخير؟",
    ],
    Trait.TIME_EXPRESSION: [
        "I went yesterday.",
        "See you on Friday",
        "in June",
        "We met in May.",
        "on May 5",
        "5th of May",
        "Since March it works",
        "last week",
        "next summer",
        "two days ago",
        "a couple of weeks",
        "3 years",
        "in 2019",
        "the 90s",
        "the 1990's",
        "at 3 pm",
        "14:30",
        "at 5 o'clock",
        "2023-05-07",
        "7/8/2023",
        "Sep 5",
        "this morning",
        "at night",
        "gestern",
        "am Montag",
        "am 3.5.",
        "am 3.5.2024",
        "letzten Sommer",
        "vor drei Tagen",
        "um 15 Uhr",
        "bis morgen",
        "morgen früh",
        "im Winter",
    ],
    Trait.FIRST_PERSON: [
        "I know",
        "i'm here",
        "I’ve been",
        "It is mine.",
        "Tell me",
        "our dog",
        "Das ist meins, ich weiß",
        "unser Hund",
        "mit uns",
    ],
    Trait.NUMBER: ["I have 2", "two dogs", "zwanzig Leute", "a dozen", "٣ كتب"],
    Trait.PLACE: [
        "I live in Oslo",
        "from the Netherlands",
        "at the beach",
        "im Hotel",
        "near Köln",
    ],
    Trait.PROPER_NOUN: ["We met Anna", "I like Python", "He said, Bob came", "Ask Ödön"],
    Trait.PREFERENCE: [
        "I prefer tea",
        "I really like it",
        "I don't like it",
        "I can’t stand noise",
        "I'd rather stay",
        "My favorite color is red",
        "Please always use metric units.",
        "Never use emojis.",
        "From now on call me Al",
        "Make sure it's short",
        "I want you to answer in German",
        "Please don't shout",
        "Don't use tables.",
        "Ich mag Tee",
        "Tee mag ich",
        "am liebsten Tee",
        "Bitte immer kurz antworten",
        "Ich bevorzuge Tee",
        "I'm a big fan of jazz",
    ],
}

LACK: dict[Trait, list[str]] = {
    Trait.QUESTION: ["Who knows? I do.", "No.", "a ? b", ""],
    Trait.TIME_EXPRESSION: [
        "She may march on.",
        "version 2.0.1",
        "I like tea",
        "second to none is he",
        "$2000",
        "Das ist ein See",
        "5 apples",
    ],
    Trait.FIRST_PERSON: ["i.e. this", "You know", "`my` code", "```\nI = 1\n```\nend", "mystery"],
    Trait.NUMBER: ["one of them", "ein Hund", "tea", "often"],
    Trait.PLACE: ["I live well", "in May", "on Monday", "at noon", "from I to you"],
    Trait.PROPER_NOUN: ["The dog. It barks", "Anna left", "so I went", "plan A"],
    Trait.PREFERENCE: [
        "It looks like rain",
        "He likes tea",
        "the always-on lamp",
        "`i like` code",
        "",
    ],
}


@check_each(("trait", "text"), [(t, text) for t, texts in HAVE.items() for text in texts])
def test_text_has_trait(trait: Trait, text: str) -> None:
    assert trait in extract_features(text, tokens=1).traits


@check_each(("trait", "text"), [(t, text) for t, texts in LACK.items() for text in texts])
def test_text_lacks_trait(trait: Trait, text: str) -> None:
    assert trait not in extract_features(text, tokens=1).traits


@check_each(
    ("text", "words"),
    [("", 0), ("one two  three", 3), ("don't", 1), ("我喜欢茶", 2), ("我喜欢 tea", 3), ("é à", 2)],
)
def test_words_are_counted(text: str, words: int) -> None:
    assert count_words(text) == words


def test_token_count_is_passed_through() -> None:
    assert extract_features("tea", tokens=42).tokens == 42


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "unit", ["?", "I really ", "please ", "two days", "don't\n", "1:", ".\n\n"]
)
def test_hostile_megabyte_is_scanned_in_linear_time(unit: str) -> None:
    assert extract_features(unit * (1_000_000 // len(unit)), tokens=1).words
