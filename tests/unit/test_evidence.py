"""Statements that count as evidence of a fact about the user."""

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
def test_statement_addressed_to_user_is_not_users_evidence(said: str) -> None:
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
def test_name_or_home_of_addressee_is_not_users(said: str, fact: str) -> None:
    assert not find_support(fact, read_sources([said], user_texts=[0]))


@check_each(
    "said", ["I live in Oslo.", "I told you that I live in Oslo.", "As you know, I live in Oslo."]
)
def test_users_own_statement_is_evidence(said: str) -> None:
    assert find_support(OSLO, read_sources([said], user_texts=[0])) == (0,)


def test_users_statement_about_others_is_evidence_about_them() -> None:
    sources = read_sources(["You should know that Anna lives in Oslo."], user_texts=[0])
    assert find_support("Anna lives in Oslo.", sources)
