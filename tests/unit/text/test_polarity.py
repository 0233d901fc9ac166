from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memolith.text.polarity import Clause, split_clauses
from support.rows import check_each


def get_clauses(text: str) -> list[Clause]:
    return [clause for sentence in split_clauses(text) for clause in sentence]


@check_each(
    ("text", "denied"),
    [
        ("I like tea but not coffee.", ["not coffee"]),
        ("I don't eat meat, I eat fish.", ["don't eat meat"]),
        ("I don't like tea, coffee or milk.", ["tea, coffee or milk"]),
        ("I don’t smoke.", ["smoke"]),
        ("I live here and don't drive.", ["don't drive"]),
        ("I hate tea.", ["tea"]),
        ("I don't hate tea.", []),
        ("I no longer smoke.", ["smoke"]),
        ("I used to smoke.", ["smoke"]),
        ("I can't wait to see Oslo!", []),
        ("No, I live in Oslo.", []),
        ("Coffee without sugar.", ["sugar"]),
        ("Ich mag Kaffee nicht, aber Tee.", ["Kaffee"]),
        ("Ich esse kein Fleisch.", ["Fleisch"]),
    ],
)
def test_negated_clauses_are_detected(text: str, denied: list[str]) -> None:
    found = [clause.text for clause in get_clauses(text) if clause.is_negated]

    assert len(found) == len(denied)
    assert all(part in clause for part, clause in zip(denied, found, strict=True))


@check_each(
    ("text", "supposes"),
    [
        ("I might move.", True),
        ("If I win, I'd buy a boat.", True),
        ("I want to learn Rust.", True),
        ("I'd like tea.", False),
        ("I live in Oslo.", False),
        ("Vielleicht ziehe ich um.", True),
    ],
)
def test_hypothetical_clauses_are_detected(text: str, supposes: bool) -> None:  # noqa: FBT001
    assert all(clause.is_hypothetical is supposes for clause in get_clauses(text))


def test_question_clauses_are_detected() -> None:
    assert [clause.is_question for clause in get_clauses("I live here. Do you?")] == [False, True]


@check_each(
    ("text", "of_other", "of_mine"),
    [
        ("Bob lives in Oslo.", True, ""),
        ("She lives in Oslo.", True, ""),
        ("My sister lives in Oslo.", False, "sister"),
        ("My older sister lives in Oslo.", False, "sister"),
        ("My sister and I live in Oslo.", False, ""),
        ("I live in Oslo.", False, ""),
        ("Moved to Oslo!", False, ""),
    ],
)
def test_subject_of_clause_is_detected(text: str, of_other: bool, of_mine: str) -> None:  # noqa: FBT001
    (clause,) = get_clauses(text)

    assert (clause.is_about_other, clause.possessed_noun) == (of_other, of_mine)


@given(st.text())
def test_any_text_has_only_clauses_with_words(text: str) -> None:
    assert all(any(map(str.isalnum, clause.text)) for clause in get_clauses(text))
