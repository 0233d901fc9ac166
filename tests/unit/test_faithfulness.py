from __future__ import annotations

from datetime import date

from hypothesis import given
from hypothesis import strategies as st

from corpora.grounding import SUPPORTED
from memolith.policies.summaries import (
    SummaryLimits,
    SummaryProblem,
    check_summary,
    has_repetition,
    word_overlap,
)
from support.rows import check_each

LIMITS = SummaryLimits(max_words=60, max_sentences=3)
SAID = (
    "I'm moving to Oslo with Anna on 12 May 2024, we pay 1,400 euros rent.",
    "Which flat did you take?",
    "The one in Frogner. It has 3 rooms. My dog Rex is not allowed there, sadly.",
    "Ask Kari from the agency, she knows the landlord.",
)
GOOD = (
    "The user was moving to Oslo with Anna on 12 May 2024 into a flat in Frogner with three rooms"
    " for 1,400 euros. Their dog Rex was not allowed there, and Kari from the agency was to be"
    " asked."
)


def problems(
    summary: str, *texts: str, limits: SummaryLimits = LIMITS
) -> tuple[SummaryProblem, ...]:
    said_on = [date(2024, 5, 1)] * len(texts or SAID)
    return check_summary(summary, texts or SAID, limits, dates=said_on).problems


def test_a_good_summary_has_no_problem() -> None:
    found = check_summary(GOOD, SAID, LIMITS)

    assert found.is_faithful
    assert found.kept >= found.expected > 0


@check_each("summary", ["", "  \n", "Preferences:"])
def test_one_that_says_nothing_is_empty(summary: str) -> None:
    assert problems(summary) == (SummaryProblem.EMPTY,)


def test_one_that_loses_most_names_and_numbers_is_told() -> None:
    assert problems("The user was moving with a partner to another city.") == (
        SummaryProblem.LOSES,
    )


@check_each(
    "summary",
    [
        GOOD.replace("Anna", "Eva"),
        GOOD.replace("1,400", "1,500"),
        GOOD.replace("12 May", "13 June"),
        GOOD.replace("three rooms", "four rooms"),
        GOOD.replace("the agency", "the agency Boligpartner"),
    ],
)
def test_one_invention_is_one_too_many(summary: str) -> None:
    assert SummaryProblem.INVENTS in problems(summary)


def test_a_day_that_was_meant_is_not_invented() -> None:
    said = "I saw Kari yesterday in Bergen."

    assert problems("The user saw Kari in Bergen on 2024-04-30.", said) == ()
    assert SummaryProblem.INVENTS in problems("The user saw Kari in Bergen on 2024-04-12.", said)


def test_who_spoke_may_be_named() -> None:
    said = ("I like tea.", "So do I.")

    assert check_summary(
        "Both Alex and Tom like tea.", said, LIMITS, names=["Alex", "Tom"]
    ).is_faithful
    assert not check_summary(
        "Both Alex and Tom like tea.", said, LIMITS, names=["Alex"]
    ).is_faithful


def test_one_that_is_too_long_is_told() -> None:
    assert SummaryProblem.TOO_LONG in problems(GOOD, limits=SummaryLimits(max_words=20))
    assert SummaryProblem.TOO_LONG in problems(
        GOOD, limits=SummaryLimits(max_words=90, max_sentences=1)
    )


@check_each(
    "text",
    [
        "The user lives in Oslo with Anna. With Anna the user lives in Oslo.",
        "The user asked for a flat and the user asked for a flat and the user asked for a flat.",
        "He likes tea a lot. It rains. He likes tea a lot.",
    ],
)
def test_one_that_says_a_thing_twice_repeats_itself(text: str) -> None:
    assert has_repetition(text)


def test_one_that_says_different_things_does_not() -> None:
    assert not has_repetition(GOOD)
    assert not has_repetition("Yes. Yes.")


def test_of_many_names_only_so_many_are_expected() -> None:
    crowd = " ".join(f"I met {chr(65 + n % 26)}{chr(97 + n // 26)}rno today." for n in range(100))

    found = check_summary("The user met Aarno and Barno.", [crowd], SummaryLimits(60, expected=4))
    assert (found.expected, found.is_faithful) == (2, True)


def test_headings_of_a_document_are_no_names() -> None:
    document = "User Profile:\n- Lives in Oslo with Anna\n\nKey History:\n- Moved on 12 May 2024"

    assert problems(document, limits=SummaryLimits(400, min_kept_share=0.2)) == ()


@given(st.sampled_from(SUPPORTED))
def test_a_fact_that_its_texts_support_invents_nothing(case: tuple[str, ...]) -> None:
    fact, *texts = case
    said = [text.removeprefix("A: ") for text in texts]
    found = check_summary(
        fact, said, SummaryLimits(400, min_kept_share=0.0), dates=[date(2024, 5, 1)] * len(said)
    )

    assert found.invented == 0


@given(st.text(max_size=200), st.lists(st.text(max_size=100), max_size=3))
def test_any_text_is_checked_and_the_numbers_are_in_range(summary: str, texts: list[str]) -> None:
    found = check_summary(summary, texts, LIMITS)

    assert found.kept >= 0
    assert found.expected <= LIMITS.expected
    assert found.is_faithful == (not found.problems)


@given(st.frozensets(st.text(max_size=3)), st.frozensets(st.text(max_size=3)))
def test_likeness_is_symmetrical_and_a_share(one: frozenset[str], other: frozenset[str]) -> None:
    assert 0.0 <= word_overlap(one, other) == word_overlap(other, one) <= 1.0
