"""Pairs of sentences written by hand: different facts that look alike, and restatements.

What they hold to is the merging rule of the profile `standard`: the same sequence of words is the
same fact, with case, punctuation, contractions and articles aside. Two different facts must never
become one; that is worth more than merging every restatement, so a pair stands with the different
facts also where only a mark, an article or the case of an acronym makes the difference ("a few",
"few"; "C", "C++"; "US", "us"; "in Maßen", "in Massen").
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import msgspec


@dataclass(frozen=True, slots=True)
class Pair:
    """Two texts and whether they are one fact.

    Attributes:
        a: One text.
        b: The other; never the same characters.
        same: Whether the two say the same, so that one may stand for both.
        why: What differs, in a few words.
    """

    a: str
    b: str
    same: bool
    why: str


def load_pairs() -> tuple[Pair, ...]:
    """Read the pairs from the package: the different facts first, then the restatements."""
    data = Path(__file__).with_name("pairs.jsonl").read_bytes()
    return tuple(msgspec.json.decode(line, type=Pair) for line in data.splitlines())
