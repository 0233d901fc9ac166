"""Pieces: blocks, and parts of those that are too long, on their way to be chunks."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from memolith.domain.items import Span
from memolith.text.chunking.blocks import Block, BlockKind
from memolith.text.chunking.model import Sizes
from memolith.text.chunking.seams import SEAMS
from memolith.text.cutting import Counted, Counter, Room, counted, cut_to_fit
from memolith.text.sentences import stripped

_WHOLE_KINDS = (BlockKind.CODE, BlockKind.LIST, BlockKind.TABLE)


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of the whole text that may become a chunk.

    Attributes:
        start: Where it begins in the whole text.
        text: The stretch, with the white space after it.
        units: What it is made of, by stretches of the whole text, and their tokens.
        tokens: The sum of these.
        room: What it may cost.
        kind: Of the block that it ends with.
    """

    start: int
    text: str
    units: tuple[Counted, ...]
    tokens: int
    room: Room
    kind: BlockKind

    @property
    def end(self) -> int:
        """Where it ends, the white space after it aside."""
        return self.units[-1][0].end


def pieces(batch: Sequence[Block], counter: Counter, sizes: Sizes) -> list[Piece]:
    """Return the pieces of blocks that follow each other, in order, counted together."""
    text = "".join(block.text for block in batch)
    starts = [block.start - batch[0].start for block in batch]
    kinds = [block.kind for block in batch]
    groups: list[tuple[BlockKind, list[Counted]]] = []
    for kind, units in zip(kinds, _units(text, starts, kinds, counter, sizes), strict=True):
        packed = _packed(units, room_of(kind, sizes), sizes.min_tokens)
        groups += ((kind, group) for group in packed)
    return list(_placed(text, batch[0].start, groups, sizes))


def room_of(kind: BlockKind, sizes: Sizes) -> Room:
    """Return what a piece of a block of that kind may cost."""
    tokens = sizes.hard_max_tokens if kind in _WHOLE_KINDS else sizes.max_tokens
    return Room(tokens, sizes.max_chars)


def _units(
    text: str,
    starts: Sequence[int],
    kinds: Sequence[BlockKind],
    counter: Counter,
    sizes: Sizes,
) -> list[list[Counted]]:
    """Return each block's units: itself, or its parts where it is too long."""
    ends = [*starts[1:], len(text)]
    wholes = [span for at in zip(starts, ends, strict=True) for span in stripped(text, *at)]
    units: list[list[Counted]] = [[] for _ in starts]
    long: dict[BlockKind, list[Counted]] = {}
    for span, tokens in counted(
        text, wholes, counter, Room(sizes.hard_max_tokens, sizes.max_chars)
    ):
        at = bisect_right(starts, span.start) - 1
        if room_of(kinds[at], sizes).holds(span, tokens):
            units[at].append((span, tokens))
        else:
            long.setdefault(kinds[at], []).append((span, tokens))
    for kind, blocks in long.items():
        for unit in cut_to_fit(text, blocks, counter, room_of(kind, sizes), SEAMS[kind]):
            units[bisect_right(starts, unit[0].start) - 1].append(unit)
    return units


def _packed(units: list[Counted], room: Room, least: int) -> list[list[Counted]]:
    """Group units greedily, in order; where the last group has too little, it takes some."""
    groups: list[list[Counted]] = []
    tokens = 0
    for span, cost in units:
        if groups and room.holds(Span(groups[-1][0][0].start, span.end), tokens + cost):
            groups[-1].append((span, cost))
            tokens += cost
        else:
            groups.append([(span, cost)])
            tokens = cost
    if len(groups) > 1 and tokens < least:
        groups[-2:] = _evened([*groups[-2], *groups[-1]], room)
    return groups


def _evened(units: list[Counted], room: Room) -> list[list[Counted]]:
    """Return units that are too many for one group as two, as even as they can be."""
    total = sum(tokens for _, tokens in units)
    best: tuple[int, int] | None = None
    left = 0
    for at, (before, after) in enumerate(pairwise(units), start=1):
        left += before[1]
        fits = room.holds(Span(units[0][0].start, before[0].end), left) and room.holds(
            Span(after[0].start, units[-1][0].end), total - left
        )
        if fits and (best is None or abs(total - 2 * left) < best[0]):
            best = (abs(total - 2 * left), at)
    at = best[1] if best is not None else len(units) - 1
    return [units[:at], units[at:]]


def _placed(
    text: str, offset: int, groups: Sequence[tuple[BlockKind, list[Counted]]], sizes: Sizes
) -> Iterator[Piece]:
    """Yield the groups as pieces of the whole text."""
    starts = [group[0][0].start for _, group in groups]
    for (kind, group), (start, end) in zip(groups, pairwise([*starts, len(text)]), strict=True):
        units = tuple(
            (Span(offset + span.start, offset + span.end), tokens) for span, tokens in group
        )
        tokens = sum(cost for _, cost in units)
        yield Piece(offset + start, text[start:end], units, tokens, room_of(kind, sizes), kind)
