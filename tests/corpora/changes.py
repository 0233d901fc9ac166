"""Pairs of sentences, one said before the other, and what the second makes of the first.

Written by hand. They hold the arbiter of the profile `standard` to its rule: what it calls changed
has changed. A memory that retires a fact that still holds has lost it; a change that is missed
leaves two memories, of which the newer is shown as the newer.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import msgspec

from memolith.errors import InvalidInput


class Label(StrEnum):
    """What a sentence makes of one that was said before it."""

    RESTATED = "restated"
    """It says the same."""
    CHANGED = "changed"
    """What was said before does not hold any more."""
    BOTH_TRUE = "both true"
    """Both are about the same, and hold."""
    UNRELATED = "unrelated"
    """They are about different things."""


@dataclass(frozen=True, slots=True)
class Change:
    """Two sentences of one speaker, and what the second makes of the first.

    Attributes:
        old: What was said first.
        new: What was said later.
        label: How the two stand to each other.
        why: What differs, in a few words.
    """

    old: str
    new: str
    label: Label
    why: str = ""


def load_changes(file: Path | None = None) -> tuple[Change, ...]:
    """Read pairs from a file of JSON lines, or those of the package, in their order.

    Raises:
        InvalidInput: A line is no pair, or there is none.
    """
    source = Path(__file__).with_name("changes.jsonl") if file is None else file
    lines = enumerate(source.read_bytes().splitlines(), 1)
    pairs = tuple(_change(line, f"{source}, line {at}") for at, line in lines if line.strip())
    if not pairs:
        raise InvalidInput(str(source), "holds no pairs")
    return pairs


def _change(line: bytes, where: str) -> Change:
    try:
        return msgspec.json.decode(line, type=Change)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(where, str(error)) from error
