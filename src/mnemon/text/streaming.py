"""Cleaning a text that comes in pieces, in bounded memory."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from mnemon.errors import InvalidInput
from mnemon.text.cleaning import cleaned
from mnemon.text.code import code_blocks

SEGMENT_CHARS = 256_000
"""About how much is cleaned at a time: a guess, enough that the cuts cost nothing."""

LONGEST_CHARS = 1_000_000
"""A stretch this long without a blank line outside code is cut all the same: as long as the
longest text that is taken whole."""

_BLANK_LINE = re.compile(r"\n[ \t\r]*\n")
_ANY_SPACE = re.compile(r"\s(?=\S*$)")


def cleaned_pieces(
    pieces: Iterable[str],
    *,
    segment_chars: int = SEGMENT_CHARS,
    longest_chars: int = LONGEST_CHARS,
) -> Iterator[str]:
    """Yield a cleaned text in pieces that joined are the cleaned text, but for white space.

    They end at blank lines outside fenced code, so that each can be screened by itself.

    Args:
        pieces: The text as it comes.
        segment_chars: How much is cleaned at a time, about.
        longest_chars: What is cut where there is no such blank line.

    Raises:
        InvalidInput: A piece is no text.
    """
    held = ""
    begun = False
    for piece in pieces:
        if not isinstance(piece, str):
            raise InvalidInput("text", f"must be text, not {type(piece).__name__}")
        held += piece
        while len(held) >= segment_chars and (cut := _place_to_cut(held, longest_chars)):
            segment, held = cleaned(held[:cut]), held[cut:]
            if segment:
                yield f"\n\n{segment}" if begun else segment
                begun = True
    if last := cleaned(held):
        yield f"\n\n{last}" if begun else last


def _place_to_cut(held: str, longest_chars: int) -> int:
    """Return where to cut what is held, the later the better; 0: not yet."""
    within = code_blocks(held)
    for blank in reversed(list(_BLANK_LINE.finditer(held, 1))):
        if not any(block.start <= blank.start() < block.end for block in within):
            return blank.end()
    if len(held) < longest_chars:
        return 0
    space = _ANY_SPACE.search(held, longest_chars // 2, longest_chars)
    return space.end() if space else longest_chars
