"""Labelled texts: facts, restatements, different facts and questions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import msgspec


@dataclass(frozen=True, slots=True)
class Case:
    """A fact, and texts with a known relation to it.

    Attributes:
        fact: The fact in the words of a person or an assistant.
        restated: The same in other words.
        changed: The same subject with another day, value or name.
        different: A fact about another subject, in similar words.
        related: A text about the same subject without the fact.
        question: A question that the fact answers.
        other_question: A question about the same subject that the fact does not answer.
    """

    fact: str
    restated: str
    changed: str
    different: str
    related: str
    question: str
    other_question: str


@lru_cache(maxsize=1)
def cases() -> tuple[Case, ...]:
    """Return all cases, in the order of the file. They were written for this project."""
    text = Path(__file__).with_name("cases.jsonl").read_text(encoding="utf-8")
    return tuple(msgspec.json.decode(line, type=Case) for line in text.splitlines())
