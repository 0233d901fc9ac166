"""Hand-written memories with the expected result of an audit.

English and German, in the words of people, of models and of agents. Many of the good ones look like
junk, such as "Hello Kitty collector". Held-back memories were written when the rules were complete.
The docs quote the figures of the first run; the rules were corrected afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec


@dataclass(frozen=True, slots=True)
class Labelled:
    """A labelled memory.

    Attributes:
        text: The memory.
        label: Expected result; "good" if it is worth keeping.
        held_back: Whether it was written after the rules.
    """

    text: str
    label: Literal["good", "fragment", "filler", "echo"]
    held_back: bool


def load_audited() -> tuple[Labelled, ...]:
    """Return all memories."""
    data = Path(__file__).with_name("audited.jsonl").read_bytes()
    return tuple(msgspec.json.decode(line, type=Labelled) for line in data.splitlines())
