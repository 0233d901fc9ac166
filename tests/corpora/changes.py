"""Hand-written pairs of sentences of one speaker, labelled by their relation.

They test the arbiter of the profile `standard`, which must report a change only if the fact has
changed. A falsely reported change loses a true fact. A missed change leaves two memories, and the
newer one is shown as such.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import msgspec

from memolith.errors import InvalidInput


class Label(StrEnum):
    """Relation of a sentence to an earlier one."""

    RESTATED = "restated"
    """Both say the same."""
    CHANGED = "changed"
    """The earlier sentence is no longer true."""
    BOTH_TRUE = "both true"
    """Both are about the same subject, and true."""
    UNRELATED = "unrelated"
    """The sentences are about different subjects."""


@dataclass(frozen=True, slots=True)
class Change:
    """Two sentences of one speaker, with their relation.

    Attributes:
        old: The earlier sentence.
        new: The later sentence.
        label: Their relation.
        why: The difference, in a few words.
    """

    old: str
    new: str
    label: Label
    why: str = ""


def load_changes(file: Path | None = None) -> tuple[Change, ...]:
    """Read pairs from a file of JSON lines, by default the bundled one, in order.

    Raises:
        InvalidInput: The file is empty, or a line is not a pair.
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
