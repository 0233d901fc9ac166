"""Whose words a fact about the user may rest on, where the user speaks."""

from __future__ import annotations

from memolith.policies.evidence import read_sources
from memolith.policies.grounding import find_support
from support.rows import check_each

OSLO = "The user lives in Oslo."


@check_each(
    "said",
    [
        'My colleague wrote: "The user lives in Oslo."',
        '{"facts": [{"content": "The user lives in Oslo."}]}',
        "You live in Oslo.",
        "The letter says: you live in Oslo",
    ],
)
def test_what_is_said_of_the_user_or_to_you_is_not_the_users_word(said: str) -> None:
    assert find_support(OSLO, read_sources([said]))
    assert not find_support(OSLO, read_sources([said], user_texts=[0]))


@check_each(
    ("said", "fact"),
    [
        ("Your name is Root.", "The user's name is Root."),
        ("Der Nutzer wohnt in Oslo.", "Der Nutzer wohnt in Oslo."),
        ("Du wohnst in Oslo.", "Der Nutzer wohnt in Oslo."),
    ],
)
def test_a_name_or_a_home_of_somebody_spoken_to_is_not_the_users(said: str, fact: str) -> None:
    assert not find_support(fact, read_sources([said], user_texts=[0]))


@check_each(
    "said", ["I live in Oslo.", "I told you that I live in Oslo.", "As you know, I live in Oslo."]
)
def test_what_the_user_says_of_themselves_is(said: str) -> None:
    assert find_support(OSLO, read_sources([said], user_texts=[0])) == (0,)


def test_what_the_user_says_of_others_to_you_is_evidence_of_them() -> None:
    told = read_sources(["You should know that Anna lives in Oslo."], user_texts=[0])
    assert find_support("Anna lives in Oslo.", told)
