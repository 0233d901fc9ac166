"""Memories written by hand, with what an audit is to say of each.

English and German, worded as people say things, as models note them, and as agents write for
themselves. Among the good ones are many that look like junk: "Hello Kitty collector". Those held
back were written when the rules stood, and the figures in the docs are those of their first
reading; the rules were mended by them afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec


@dataclass(frozen=True, slots=True)
class Labelled:
    """A memory and what it is.

    Attributes:
        text: The memory.
        label: What it is; "good": worth keeping.
        held_back: Whether it was written when the rules stood.
    """

    text: str
    label: Literal["good", "fragment", "filler", "echo"]
    held_back: bool


def load_audited() -> tuple[Labelled, ...]:
    """Read them from the package."""
    data = Path(__file__).with_name("audited.jsonl").read_bytes()
    return tuple(msgspec.json.decode(line, type=Labelled) for line in data.splitlines())
