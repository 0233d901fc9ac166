"""Dates in questions: the quick test for digits and months misses nothing."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from memolith.policies.ranking import query_breadth, query_phrasing
from memolith.text import dates


def words_of(*modules: object) -> list[str]:
    """Return the words that stand in the modules' expressions, by which most of them find."""
    patterns = " ".join(
        each for one in modules for each in vars(one).values() if isinstance(each, str)
    )
    return sorted({word for word in re.findall(r"\w{2,}|\bI\b", patterns) if len(word) < 20})


ASKED = [
    "how old",
    "what was the price",
    "what city",
    "which",
    "where",
    "wohin",
    "welche stadt",
    "who",
    "what good books",
    "names of",
    "called",
    "wie heißt",
    "wem",
    "did you",
    "you said",
    "hast du",
    "würdest du",
    "how many",
    "wie teuer",
]
TYPICAL = [
    "did I say",
    "have I ever mentioned",
    "as we discussed",
    "what would you recommend",
    "can you tell me",
    "summary of",
    "summarize how",
    "in order",
    "mention only and only five items",
    "the order in which",
    "different aspects of",
    "throughout our past conversations",
    "was mentioned that",
    "so far",
    "answer yes or no",
    "could we go through",
    "remind me about",
    "do you still remember if",
    "I've said",
    "we've talked about",
    "you previously told me",
    "kannst du mir bitte sagen",
    "habe ich dir",
    "gesagt",
    "haben wir",
    "besprochen",
    "weißt du noch ob",
    "fasse zusammen",
    "in den letzten gesprächen",
    "hast du mir",
    "empfohlen",
    "zusammenfassung von",
    "how has my",
    "progressed",
    "which kinds of",
    "books",
    "who were",
    "how many",
    "in what ways",
    "all of",
    "each of",
    "welche farben",
    "haben",
    "wie viele",
    "überblick",
    "walk me through",
    "in may",
    "3 May 2023",
    "2023-05-08",
    "8.5.2023",
    "june 2021",
    "during märz",
    "1999",
    "seit dezember",
    "ſo far",
    "ſummary of",
]
WORDS = st.sampled_from([*TYPICAL, *words_of(query_phrasing, query_breadth), *ASKED, *dates.MONTHS])
CASES = st.sampled_from(["lower", "upper", "title", "swapcase"])
WRITTEN = st.builds(lambda word, case: str(getattr(word, case)()), WORDS, CASES)
QUESTIONS = st.lists(
    st.one_of(WRITTEN, st.sampled_from([",", "'", "’", ".", "?", "\n", "x"]), st.text(max_size=3)),
    max_size=12,
).flatmap(lambda said: st.sampled_from([" ", " ", ""]).map(lambda space: space.join(said)))


@given(QUESTIONS)
def test_a_text_without_a_digit_or_a_month_names_no_date(text: str) -> None:
    found = any(form.search(text) for form in dates._FORMS)
    assert found == any(dates.named_dates(text, [2024]))
