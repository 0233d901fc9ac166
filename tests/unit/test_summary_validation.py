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
CONVERSATION = (
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


def get_problems(
    summary: str, *texts: str, limits: SummaryLimits = LIMITS
) -> tuple[SummaryProblem, ...]:
    said_on = [date(2024, 5, 1)] * len(texts or CONVERSATION)
    return check_summary(summary, texts or CONVERSATION, limits, dates=said_on).problems


def test_good_summary_has_no_problem() -> None:
    found = check_summary(GOOD, CONVERSATION, LIMITS)

    assert found.is_faithful
    assert found.kept >= found.expected > 0


@check_each("summary", ["", "  \n", "Preferences:"])
def test_summary_without_content_is_empty(summary: str) -> None:
    assert get_problems(summary) == (SummaryProblem.EMPTY,)


def test_loss_of_most_names_and_numbers_is_detected() -> None:
    assert get_problems("The user was moving with a partner to another city.") == (
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
def test_single_invention_is_detected(summary: str) -> None:
    assert SummaryProblem.INVENTS in get_problems(summary)


def test_resolved_relative_date_is_not_invention() -> None:
    sources = "I saw Kari yesterday in Bergen."

    assert get_problems("The user saw Kari in Bergen on 2024-04-30.", sources) == ()
    assert SummaryProblem.INVENTS in get_problems(
        "The user saw Kari in Bergen on 2024-04-12.", sources
    )


def test_speaker_names_are_not_inventions() -> None:
    sources = ("I like tea.", "So do I.")

    assert check_summary(
        "Both Alex and Tom like tea.", sources, LIMITS, names=["Alex", "Tom"]
    ).is_faithful
    assert not check_summary(
        "Both Alex and Tom like tea.", sources, LIMITS, names=["Alex"]
    ).is_faithful


def test_too_long_summary_is_detected() -> None:
    assert SummaryProblem.TOO_LONG in get_problems(GOOD, limits=SummaryLimits(max_words=20))
    assert SummaryProblem.TOO_LONG in get_problems(
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
def test_repetition_is_detected(text: str) -> None:
    assert has_repetition(text)


def test_different_sentences_are_not_repetition() -> None:
    assert not has_repetition(GOOD)
    assert not has_repetition("Yes. Yes.")


def test_number_of_expected_names_is_capped() -> None:
    crowd = " ".join(f"I met {chr(65 + n % 26)}{chr(97 + n // 26)}rno today." for n in range(100))

    found = check_summary("The user met Aarno and Barno.", [crowd], SummaryLimits(60, expected=4))
    assert (found.expected, found.is_faithful) == (2, True)


def test_headings_are_not_counted_as_names() -> None:
    document = "User Profile:\n- Lives in Oslo with Anna\n\nKey History:\n- Moved on 12 May 2024"

    assert get_problems(document, limits=SummaryLimits(400, min_kept_share=0.2)) == ()


@given(st.sampled_from(SUPPORTED))
def test_supported_fact_contains_no_invention(case: tuple[str, ...]) -> None:
    fact, *texts = case
    sources = [text.removeprefix("A: ") for text in texts]
    found = check_summary(
        fact,
        sources,
        SummaryLimits(400, min_kept_share=0.0),
        dates=[date(2024, 5, 1)] * len(sources),
    )

    assert found.invented == 0


@given(st.text(max_size=200), st.lists(st.text(max_size=100), max_size=3))
def test_any_summary_is_checked_with_counts_in_range(summary: str, texts: list[str]) -> None:
    found = check_summary(summary, texts, LIMITS)

    assert found.kept >= 0
    assert found.expected <= LIMITS.expected
    assert found.is_faithful == (not found.problems)


@given(st.frozensets(st.text(max_size=3)), st.frozensets(st.text(max_size=3)))
def test_word_overlap_is_symmetric_and_within_0_and_1(
    one: frozenset[str], other: frozenset[str]
) -> None:
    assert 0.0 <= word_overlap(one, other) == word_overlap(other, one) <= 1.0
