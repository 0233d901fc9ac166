"""Cleaning a text that comes in pieces, in bounded memory."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from memolith.errors import InvalidInput
from memolith.text.cleaning import clean_text
from memolith.text.code import code_blocks

SEGMENT_CHARS = 256_000
"""About how much is cleaned at a time: a guess, enough that the cuts cost nothing."""

MAX_SEGMENT_CHARS = 1_000_000
"""A stretch this long without a blank line outside code is cut all the same: as long as the
longest text that is taken whole."""

_BLANK_LINE = re.compile(r"\n[ \t\r]*\n")
_ANY_SPACE = re.compile(r"\s(?=\S*$)")


def clean_stream(
    pieces: Iterable[str],
    *,
    segment_chars: int = SEGMENT_CHARS,
    longest_chars: int = MAX_SEGMENT_CHARS,
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
    begun = False
    for raw in _split_segments(pieces, segment_chars, longest_chars):
        if segment := clean_text(raw):
            yield f"\n\n{segment}" if begun else segment
            begun = True


def _split_segments(pieces: Iterable[str], segment_chars: int, longest_chars: int) -> Iterator[str]:
    """Yield what came, in stretches to be cleaned.

    What has no place to be cut is looked at again only once so much more has come, else many
    small pieces would have it read through for each of them.
    """
    held: list[str] = []
    size, enough = 0, segment_chars
    for piece in _split_slices(pieces, longest_chars):
        held.append(piece)
        size += len(piece)
        if size < enough:
            continue
        text = "".join(held)
        while len(text) >= segment_chars and (cut := _find_cut(text, longest_chars)):
            yield text[:cut]
            text = text[cut:]
        held, size = [text], len(text)
        enough = segment_chars if size < segment_chars else size + segment_chars
    yield "".join(held)


def _split_slices(pieces: Iterable[str], longest_chars: int) -> Iterator[str]:
    for piece in pieces:
        if not isinstance(piece, str):
            raise InvalidInput("text", f"must be text, not {type(piece).__name__}")
        yield from (piece[at : at + longest_chars] for at in range(0, len(piece), longest_chars))


def _find_cut(text: str, longest_chars: int) -> int:
    """Return where to cut what is held, the later the better; 0: not yet."""
    within = code_blocks(text)
    for blank in reversed(list(_BLANK_LINE.finditer(text, 1))):
        if not any(block.start <= blank.start() < block.end for block in within):
            return blank.end()
    if len(text) < longest_chars:
        return 0
    space = _ANY_SPACE.search(text, longest_chars // 2, longest_chars)
    return space.end() if space else longest_chars
