"""A question contains a date only with a digit or the name of a month."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memolith.text import dates

TYPICAL = [
    "did I say",
    "what was the price",
    "who were",
    "how many",
    "wie viele",
    "haben wir",
    "in may",
    "3 May 2023",
    "2023-05-08",
    "8.5.2023",
    "june 2021",
    "during märz",
    "1999",
    "seit dezember",
    "ſo far",
]
WORDS = st.sampled_from([*TYPICAL, *dates.MONTHS])
CASES = st.sampled_from(["lower", "upper", "title", "swapcase"])
WRITTEN = st.builds(lambda word, case: str(getattr(word, case)()), WORDS, CASES)
QUESTIONS = st.lists(
    st.one_of(WRITTEN, st.sampled_from([",", "'", "’", ".", "?", "\n", "x"]), st.text(max_size=3)),
    max_size=12,
).flatmap(lambda said: st.sampled_from([" ", " ", ""]).map(lambda space: space.join(said)))


@given(QUESTIONS)
def test_text_without_digit_or_month_contains_no_date(text: str) -> None:
    found = any(form.search(text) for form in dates._DATE_PATTERNS)
    assert found == any(dates.find_dates(text, [2024]))
