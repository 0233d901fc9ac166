"""Meaning edits of sentences from a small grammar, and of arbitrary text."""

import re
from collections.abc import Callable

from hypothesis import example, given
from hypothesis import strategies as st

from corpora.meaning_edits import KINDS, MARK_KINDS, swaps

Draw = Callable[[st.SearchStrategy[str]], str]

NAMES = st.sampled_from(["Anna", "Bob", "Priya", "Dr. Meyer", "Tom Smith", "my sister", "the dog"])
VERBS = st.sampled_from(["owes", "called", "lives with", "is older than", "can't see", "will pay"])
THINGS = st.sampled_from(
    ["20 euros", "3.5 km", "a few books", "all the keys", "1,250 €", "-5 °C", "two cats", "C++"]
)
TIMES = st.sampled_from(
    ["on Monday", "before lunch", "in May 2021", "at 6:15 am", "on 2024-03-04", "every day", "now"]
)
SUBJECTS = st.sampled_from(["Ich", "Sie", "Meine Mutter", "Der Hund", "Anna"])
GERMAN_VERBS = st.sampled_from(["hat", "mag", "kauft", "muss", "sucht", "war immer"])
OBJECTS = st.sampled_from(["ein Auto", "kein Brot", "zwei Katzen", "den Mann", "nichts", "5 kg"])
GERMAN_TIMES = st.sampled_from(
    ["am Montag", "vor dem Essen", "morgens", "im Juni", "um halb acht", "am 12.03.2025", "oft"]
)
ENDS = st.sampled_from([".", "?", "!", ""])


@st.composite
def english(draw: Draw) -> str:
    subject = draw(NAMES)
    rest = f"{draw(VERBS)} {draw(NAMES)} {draw(THINGS)} {draw(TIMES)}"
    return f"{subject[0].upper()}{subject[1:]} {rest}{draw(ENDS)}"


@st.composite
def german(draw: Draw) -> str:
    return f"{draw(SUBJECTS)} {draw(GERMAN_VERBS)} {draw(OBJECTS)} {draw(GERMAN_TIMES)}{draw(ENDS)}"


SENTENCES = english() | german()


def normalise(text: str) -> str:
    return " ".join(re.sub(r"[^\w\s]", "", text.casefold()).split())


@given(SENTENCES)
def test_swap_changes_more_than_case_and_punctuation(sentence: str) -> None:
    for swap in swaps(sentence):
        assert swap.changed != sentence
        if swap.kind not in MARK_KINDS:
            assert normalise(swap.changed) != normalise(sentence)


ARTICLES = {"a", "an", "the", "der", "die", "das", "ein", "eine"}


@given(SENTENCES)
def test_swap_changes_more_than_articles(sentence: str) -> None:
    def without(text: str) -> list[str]:
        return [word for word in normalise(text).split() if word not in ARTICLES]

    for swap in swaps(sentence):
        if swap.kind not in MARK_KINDS:
            assert without(swap.changed) != without(sentence)


@given(SENTENCES)
def test_every_grammar_sentence_has_several_swaps(sentence: str) -> None:
    assert len(swaps(sentence)) >= 3


@given(SENTENCES | st.text())
@example("İ İstanbul")
@example("A\x00B owes C")
@example("\ud800 is left")
@example("99.99.9999 and 2024-99-99 at 99:99")
@example("don't can't won't cannot n't not")
@example("٣ cats and ² dogs")
def test_swaps_of_any_text_are_well_formed_and_repeatable(sentence: str) -> None:
    found = swaps(sentence)
    assert found == swaps(sentence)
    assert len({swap.changed for swap in found}) == len(found)
    places = [KINDS.index(swap.kind) for swap in found]
    assert places == sorted(places)
    assert all(swap.original == sentence for swap in found)


@given(SENTENCES, st.sampled_from(["", " ", "\n"]))
def test_swap_changes_at_most_six_words(sentence: str, blank: str) -> None:
    for swap in swaps(sentence + blank):
        before, after = set(normalise(sentence).split()), set(normalise(swap.changed).split())
        assert len(before ^ after) <= 6
