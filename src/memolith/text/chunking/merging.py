"""Merging: short pieces join a neighbour."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from memolith.domain.items import Span
from memolith.text.chunking.blocks import BlockKind
from memolith.text.chunking.model import ChunkSizes
from memolith.text.chunking.pieces import Piece
from memolith.text.cutting import SizeLimit

# A line this short that ends in no mark is a title. A guess.
_TITLE_CHARS = 80
_TAIL = 100
_LEAD_IN = re.compile(r"[:：]\W*$|\n {0,3}(?:=+|-+)[ \t]*$")
_SENTENCE_MARK = re.compile(r"[.!?…。！？,;|)\]}\"'”’“‘»]\W*$")


def merge_pieces(pieces: Iterable[Piece], sizes: ChunkSizes) -> Iterator[Piece]:
    """Yield the pieces, those under the minimum joined to a neighbour where both fit in a chunk.

    What introduces something (a heading, a title, what ends in a colon) joins what follows, all
    else the smaller neighbour. Holds three pieces.
    """
    before: Piece | None = None
    current: Piece | None = None
    for after in pieces:
        if current is None:
            current = after
        elif current.tokens >= sizes.min_tokens:
            if before is not None:
                yield before
            before, current = current, after
        elif _should_join_next(before, current, after, sizes):
            current = _join_pieces(current, after, sizes)
        elif before is not None and _can_join(before, current, sizes):
            before, current = _join_pieces(before, current, sizes), after
        else:
            if before is not None:
                yield before
            before, current = current, after
    yield from _flush_last(before, current, sizes)


def _flush_last(before: Piece | None, current: Piece | None, sizes: ChunkSizes) -> Iterator[Piece]:
    if before is None or current is None:
        yield from (piece for piece in (before, current) if piece is not None)
    elif current.tokens < sizes.min_tokens and _can_join(before, current, sizes):
        yield _join_pieces(before, current, sizes)
    else:
        yield from (before, current)


def _should_join_next(before: Piece | None, short: Piece, after: Piece, sizes: ChunkSizes) -> bool:
    if not _can_join(short, after, sizes):
        return False
    if before is None or not _can_join(before, short, sizes):
        return True
    return _is_lead_in(short) or (not _is_lead_in(after) and after.tokens <= before.tokens)


def _can_join(first: Piece, second: Piece, sizes: ChunkSizes) -> bool:
    """Tell whether two pieces that follow each other fit in one chunk.

    Two with blocks of white space between them never do: these come only where there is more of it
    than is looked at, which is no less than a chunk may have.
    """
    room = SizeLimit(sizes.max_tokens, sizes.max_chars)
    return room.can_hold(Span(first.start, second.end), first.tokens + second.tokens)


def _join_pieces(first: Piece, second: Piece, sizes: ChunkSizes) -> Piece:
    return Piece(
        first.start,
        first.text + second.text,
        first.units + second.units,
        first.tokens + second.tokens,
        SizeLimit(sizes.max_tokens, sizes.max_chars),
        second.kind,
    )


def _is_lead_in(piece: Piece) -> bool:
    """Tell whether a piece introduces what follows it."""
    if piece.kind is BlockKind.HEADING:
        return True
    text = piece.text.rstrip()
    if _LEAD_IN.search(text[-_TAIL:]):
        return True
    return (
        piece.kind is BlockKind.PROSE
        and len(text) <= _TITLE_CHARS
        and "\n" not in text
        and _SENTENCE_MARK.search(text[-_TAIL:]) is None
    )
