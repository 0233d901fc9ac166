"""Cues, by example."""

import pytest

from memolith.text import cues
from memolith.text.cues import CueKind, Cues, find_cue_kinds, find_cue_sentences, load_cues
from support.rows import check_each

NAMING, IDENTITY = CueKind.NAMING, CueKind.IDENTITY
CORRECTION, PREFERENCE = CueKind.CORRECTION, CueKind.PREFERENCE


@check_each(
    ("kind", "text"),
    [
        (NAMING, "Nenn dich Max."),
        (NAMING, "Your name is Max from today."),
        (NAMING, "Du heißt Max."),
        (IDENTITY, "My name is Alice and I live in Oslo"),
        (IDENTITY, "i live in oslo"),
        (IDENTITY, "Ich heiße Otto."),
        (IDENTITY, "ICH HEISSE OTTO"),
        (IDENTITY, "I am 34 years old"),
        (IDENTITY, "I’m from Ghana"),
        (IDENTITY, "Ich bin Vegetarierin"),
        (CORRECTION, "That's wrong."),
        (CORRECTION, "THAT’S WRONG"),
        (CORRECTION, "Please remember this"),
        (CORRECTION, "Eigentlich ist es Dienstag."),
        (CORRECTION, "Actually, the meeting is Tuesday not Monday"),
        (PREFERENCE, "Always use metric units"),
        (PREFERENCE, "Ok. Never shout"),
        (PREFERENCE, "I'm a big fan of jazz"),
        (PREFERENCE, "I prefer metric units"),
        (PREFERENCE, "I like tea"),
        (PREFERENCE, "I  really\ndon't like tea"),
        (PREFERENCE, "Ich mag Tee"),
        (PREFERENCE, "Mein Lieblingsessen ist Suppe"),
    ],
)
def test_cue_is_found(kind: CueKind, text: str) -> None:
    assert kind in find_cue_kinds(text)


@check_each(
    "text",
    [
        "",
        "The weather is fine.",
        "Unlike I likened it",
        "I'm a bit tired",
        "I'm a fan, too",
        "He is always late",
        "It was actually good",
        "Never mind",
        "I really love it!",
        "Ich bin der Meinung",
        "semi live in",
        "`I like` is code",
        "```\nmy name is x\n```",
        "I like_this",
    ],
)
def test_text_without_cue_has_none(text: str) -> None:
    assert not find_cue_kinds(text)


def test_text_may_have_several_kinds_of_cues() -> None:
    assert find_cue_kinds("My name is Al. Actually I like tea, and your name is Bo.") == frozenset(
        CueKind
    )


def test_sentences_with_cues_are_returned_with_their_kinds() -> None:
    text = "Hi! My name is Anna. It rains.\nActually, I like `rain`."
    assert [(span.extract(text), kinds) for span, kinds in find_cue_sentences(text)] == [
        ("My name is Anna.", frozenset({IDENTITY})),
        ("Actually, I like `rain`.", frozenset({CORRECTION, PREFERENCE})),
    ]


def test_sentences_without_cues_are_not_returned() -> None:
    assert find_cue_sentences("It rains. It pours.") == []


@check_each(
    "text",
    [
        "Do you know what I like?",
        "Is my name really Bob? 😀",
        "Hey, do you remember what I like, Max?",
        "Weißt du, was ich mag, Max?",
        "I like tea?",
    ],
)
def test_question_has_no_cue(text: str) -> None:
    assert find_cue_sentences(text) == []


@check_each(
    "text",
    [
        "I prefer tea, can you help me choose?",
        "Since I prefer tea, what should I buy?",
        "Ich mag Tee, was soll ich kaufen?",
    ],
)
def test_clause_beside_question_has_cue(text: str) -> None:
    [(_, kinds)] = find_cue_sentences(text)
    assert kinds == {PREFERENCE}


def test_correction_may_be_requested_as_question() -> None:
    [(_, kinds)] = find_cue_sentences("Could you please remember that I like tea?")
    assert kinds == {CORRECTION}


def test_english_and_german_cues_are_available() -> None:
    assert [cues.language for cues in load_cues()] == ["de", "en"]


def make_sentence(phrase: str) -> str:
    words = (word for word in phrase.split() if not word.startswith("!"))
    return " ".join(words).replace("#", "7").strip("^*").upper()


@pytest.mark.parametrize("cues", load_cues(), ids=lambda cues: cues.language)
def test_each_phrase_of_each_language_is_found(cues: Cues) -> None:
    missed = [
        phrase
        for kind in CueKind
        for phrase in cues.phrases(kind)
        if kind not in find_cue_kinds(make_sentence(phrase))
    ]
    assert missed == []


@pytest.mark.parametrize("cues", load_cues(), ids=lambda cues: cues.language)
def test_exceptions_are_not_cues(cues: Cues) -> None:
    assert [phrase for phrase in cues.exceptions if find_cue_kinds(phrase)] == []


@check_each(
    ("text", "languages"),
    [
        ("The green bicycle is in the garage and it needs a new chain.", ["en"]),
        ("Das grüne Fahrrad steht in der Garage und braucht eine neue Kette.", ["de"]),
        ("Ok", ["de", "en"]),
    ],
)
def test_discourse_markers_are_those_of_the_texts_language(text: str, languages: list[str]) -> None:
    assert [each.language for each in cues._get_markers(text)] == languages
