from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from corpora.hostile import HOSTILE
from memolith.policies.summaries import (
    EXTRACT_MARK,
    SentenceCandidate,
    SummaryLimits,
    SummaryProblem,
    check_summary,
    extract_summary,
    find_candidates,
)
from support.rows import check_each

CONVERSATION = (
    (
        "user",
        "Hi! I'm moving to Oslo in May. Which flat in Oslo is best? My flat costs 1,400 euros.",
    ),
    ("assistant", "Congratulations! A flat in Oslo for 1,400 euros is a fair price."),
    ("user", "The flat in Oslo has three rooms. I like purple turtles. Ok."),
    ("user", "The flat in Oslo has three rooms!"),
)
lines = st.lists(
    st.tuples(st.sampled_from(["user", "assistant", ""]), st.text(max_size=60)), max_size=6
)


def test_questions_and_interjections_are_not_candidates() -> None:
    found = [one.text for one in find_candidates(CONVERSATION)]

    assert "I'm moving to Oslo in May." in found
    assert not any(text.endswith("?") or text in {"Hi!", "Ok."} for text in found)


@check_each("text", HOSTILE[:40])
def test_prompt_injection_is_not_candidate(text: str) -> None:
    assert find_candidates([("tool", " ".join(text.split()))]) == ()


def test_extract_has_central_sentences_in_order_without_duplicates() -> None:
    text = extract_summary(find_candidates(CONVERSATION), max_sentences=3)

    assert text.startswith(f"{EXTRACT_MARK} ")
    assert text.count("three rooms") == 1
    assert "turtles" not in text
    assert text.index("1,400") < text.index("three rooms")
    assert "assistant: A flat in Oslo for 1,400 euros is a fair price." in text


def test_vectors_decide_when_available() -> None:
    among = [
        SentenceCandidate(text)
        for text in ("Anna sings well.", "Bob cooks soup.", "Eva sails boats.")
    ]
    vectors = np.array([[1.0, 0.0], [0.0, 1.0], [0.1, 0.9]])

    assert extract_summary(among, vectors, max_sentences=1) == f"{EXTRACT_MARK} Eva sails boats."


def test_sentence_similar_to_selected_one_is_skipped() -> None:
    among = [SentenceCandidate("Anna sings well."), SentenceCandidate("Anna's singing is good.")]
    vectors = np.array([[1.0, 0.01], [1.0, 0.0]])

    assert len(extract_summary(among, vectors).split(".")) == 2


def test_extract_without_candidates_is_empty() -> None:
    assert extract_summary(()) == ""
    assert extract_summary((), np.zeros((0, 4))) == ""
    assert extract_summary(find_candidates(CONVERSATION), max_words=2) == ""


def test_zero_vectors_select_first_sentence() -> None:
    among = find_candidates(CONVERSATION)

    assert (
        extract_summary(among, np.zeros((len(among), 4)), max_sentences=1)
        == f"{EXTRACT_MARK} user: {among[0].text}"
    )


@given(lines, st.integers(0, 4), st.integers(0, 30))
def test_extract_respects_sentence_and_word_limits(
    conversation: list[tuple[str, str]], sentences: int, words: int
) -> None:
    among = find_candidates(conversation)
    text = extract_summary(among, max_sentences=sentences, max_words=words)

    taken = [one for one in among if one.text in text]
    assert text == extract_summary(among, max_sentences=sentences, max_words=words)
    assert (text == "") or len(text.split()) <= words + 1 + 2 * sentences
    assert bool(text) <= bool(taken)


@given(lines)
def test_extract_invents_nothing(conversation: list[tuple[str, str]]) -> None:
    text = extract_summary(find_candidates(conversation))
    found = check_summary(
        text.removeprefix(EXTRACT_MARK),
        [content for _, content in conversation],
        SummaryLimits(10_000),
        names=["user", "assistant"],
    )

    assert SummaryProblem.INVENTS not in found.problems
