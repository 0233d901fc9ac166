"""Lines of a text that comes in pieces; the same ones however it is cut into pieces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from memolith.text.cutting import is_letter_boundary

# After these a line that is too long is cut, where they stand in it.
_CUT_CHARS = " \t。！？"
# How far a cut moves back, to not part a letter from its marks. A guess.
_MAX_MARKS = 16


class Line(NamedTuple):
    """A line with its end, or a stretch of one that is too long.

    Attributes:
        text: As it stands there.
        fresh: It is a line's beginning.
    """

    text: str
    is_line_start: bool


def split_lines(pieces: Iterable[str], longest: int) -> Iterator[Line]:
    """Yield the lines of the pieces, joined; together they are the whole text.

    A line of more than `longest` characters comes in several stretches. Holds at most that much
    beside a piece.
    """
    held: list[str] = []
    size = 0
    fresh = True
    for piece in pieces:
        held.append(piece)
        size += len(piece)
        if "\n" in piece or size >= longest:
            text = "".join(held)
            at = 0
            while (end := _find_line_end(text, at, longest)) is not None:
                yield Line(text[at:end], fresh)
                fresh = text[end - 1] == "\n"
                at = end
            held = [text[at:]]
            size = len(text) - at
    if size:
        yield Line("".join(held), fresh)


def _find_line_end(text: str, at: int, longest: int) -> int | None:
    """Return where the line that begins there ends, or None where more must be seen."""
    end = text.find("\n", at, at + longest)
    if end >= 0:
        return end + 1
    if len(text) - at < longest:
        return None
    seam = max(text.rfind(mark, at, at + longest) for mark in _CUT_CHARS)
    return seam + 1 if seam >= 0 else _find_letter_boundary(text, at, at + longest)


def _find_letter_boundary(text: str, at: int, end: int) -> int:
    """Return the last place before the end that parts no letter from its marks, if one is near.

    Not the end itself: what stands there may not have come yet.
    """
    for place in range(end - 1, max(at, end - _MAX_MARKS), -1):
        if is_letter_boundary(text, place):
            return place
    return end
