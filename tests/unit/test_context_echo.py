from __future__ import annotations

from collections.abc import Mapping
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.hostile import HOSTILE
from memolith.policies.context_echo import is_echo, strip_context
from memolith.policies.evidence import read_sources
from memolith.policies.rendering.layout import Rendering, RenderInput
from memolith.profiles.chunks import chunks
from memolith.profiles.companion import companion
from memolith.profiles.facts import facts
from memolith.profiles.standard import standard
from memolith.profiles.tiers import tiers
from memolith.profiles.timeline import timeline
from support.profile_cases import recalled, words
from support.rows import check_each

PROFILES = {
    one.name: one for one in (standard(), companion(), facts(), chunks(), tiers(), timeline())
}
RENDERINGS: Mapping[str, Rendering] = {name: one.rendering for name, one in PROFILES.items()}
DOCUMENT = "User Profile:\n- Name: Alex, works at NASA\n\nKey History:\n- Moved to Oslo in 2019"
BEFORE, AFTER = "Here is what I know.", "What is my name?\n\n- one\n- two"

contents = st.lists(
    st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=40).filter(str.strip)
    | st.sampled_from(HOSTILE)
    | st.sampled_from(["The user likes tea.\nAnd milk.\n\nAnd more.", "- a\n- b", "x:\n\n\n- y"]),
    min_size=1,
    max_size=4,
)


def get_lines(text: str) -> list[str]:
    """Return the lines that are not blank."""
    return [line for line in text.split("\n") if line.strip()]


def render_context(name: str, *texts: str, base: str = "", state: str = "") -> str:
    kinds = PROFILES[name].kinds
    results = [recalled(text, kinds[at % len(kinds)]) for at, text in enumerate(texts)]
    return RENDERINGS[name].render(RenderInput(results, base, state), 100_000, words)[0]


@pytest.mark.parametrize("name", PROFILES)
@given(texts=contents)
def test_rendered_context_is_stripped_and_nothing_else(name: str, texts: list[str]) -> None:
    block = render_context(name, "The user lives in Oslo.", *texts)

    assert strip_context(block) == ""
    assert get_lines(strip_context(f"{BEFORE}\n\n{block}\n\n{AFTER}")) == get_lines(
        BEFORE + "\n" + AFTER
    )


@check_each("name", ["standard", "tiers"])
@check_each("base", [DOCUMENT, "Alex works at NASA.\nMoved to Oslo."])
@check_each("state", ["", "face up"])
@check_each("texts", [(), ("The user lives in Oslo.",)])
def test_base_memory_is_stripped_too(
    name: str, base: str, state: str, texts: tuple[str, ...]
) -> None:
    block = render_context(name, *texts, base=base, state=state)

    assert get_lines(strip_context(f"{BEFORE}\n{block}\n\n{AFTER}")) == get_lines(
        BEFORE + "\n" + AFTER
    )


@check_each(
    "text",
    [
        "",
        "I like tea.",
        "Preferences:\n- I like tea\n- I hate coffee",
        "Preferences: none",
        "Context:\n\nwe talked",
        "What does <memory> mean?",
        "<memory>\nis never closed",
        "## Memory\n- a list",
        "- one\n- two\n\n  indented",
        "line one\r\nline two\n\n\n",
    ],
)
def test_users_own_text_is_unchanged(text: str) -> None:
    assert strip_context(text) == text


@given(st.text())
def test_strip_never_adds_text_and_is_idempotent(text: str) -> None:
    rest = strip_context(text)

    assert len(rest) <= len(text)
    assert strip_context(rest) == rest or "<memory>" in text


@pytest.mark.parametrize(
    "mark",
    ["<memory>\n", "</memory>\n", "- a\n", "Preferences:\n- a\n", "\n", "[Long-term memory]\n"],
)
def test_page_of_marks_is_stripped_in_linear_time(mark: str) -> None:
    assert len(strip_context(mark * 20_000)) <= len(mark) * 20_000


def is_echo_of_known(
    fact: str, *known: str, user: tuple[str, ...] = ("What do you know about me?",)
) -> bool:
    return is_echo(fact, read_sources(user, [date(2024, 5, 1)] * len(user)), known)


def test_repeated_known_memory_is_echo() -> None:
    assert is_echo_of_known("The user lives in Oslo.", "Likes tea.", "The user lives in Oslo")
    assert is_echo_of_known("The user likes tea.", "The user likes green tea since 2019.")
    assert is_echo_of_known(
        "The user has a sister named Maria.", "The user's sister Maria, named so, is a nurse."
    )


def test_fact_repeated_by_user_is_not_echo() -> None:
    assert not is_echo_of_known(
        "The user lives in Oslo.", "The user lives in Oslo.", user=("I live in Oslo.",)
    )


def test_new_or_contradicting_fact_is_not_echo() -> None:
    assert not is_echo_of_known("The user lives in Bergen.", "The user lives in Oslo.")
    assert not is_echo_of_known("The user does not like tea.", "The user likes tea.")
    assert not is_echo_of_known("The user has 3 cats.", "The user has 2 cats.")
    assert not is_echo_of_known("The user lives in Oslo.")


def test_first_person_section_is_not_stripped() -> None:
    theirs = "Preferences:\n- I like tea"

    assert strip_context(f"{theirs}\n\nok?") == f"{theirs}\n\nok?"
    assert strip_context("Preferences:\n- The user likes tea\n\nok?") == "ok?"
