"""Hand-written pairs of sentences: different facts that look alike, and restatements.

They test the merging rule of the profile `standard`: the same sequence of words is the same fact,
ignoring case, punctuation, contractions and articles. Keeping different facts apart matters more
than merging every restatement. Pairs that differ only in a mark, an article or the case of an
acronym therefore count as different ("a few", "few"; "C", "C++"; "US", "us"; "in Maßen", "in
Massen").
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import msgspec


@dataclass(frozen=True, slots=True)
class Pair:
    """Two texts and whether they state one fact.

    Attributes:
        a: One text.
        b: The other one, never identical.
        same: Whether both say the same, so that one may replace the other.
        why: The difference, in a few words.
    """

    a: str
    b: str
    same: bool
    why: str


def load_pairs() -> tuple[Pair, ...]:
    """Read the pairs: the different facts first, then the restatements."""
    data = Path(__file__).with_name("pairs.jsonl").read_bytes()
    return tuple(msgspec.json.decode(line, type=Pair) for line in data.splitlines())
