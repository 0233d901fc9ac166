"""The labelled texts: facts, what says the same, what does not, and questions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import msgspec


@dataclass(frozen=True, slots=True)
class Case:
    """One fact, and texts that stand in a known relation to it.

    Attributes:
        fact: As somebody, or an assistant's note, says it.
        restated: The same in other words.
        changed: The same thing, said otherwise: another day, value or name.
        different: A fact about something or somebody else, worded like it.
        related: On the same subject, and no such fact.
        question: The fact answers it.
        other_question: On the same subject; the fact does not answer it.
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
