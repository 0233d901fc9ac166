"""Pieces: blocks, and parts of those that are too long, on their way to be chunks."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from memolith.domain.items import Span
from memolith.text.chunking.blocks import Block, BlockKind
from memolith.text.chunking.model import ChunkSizes
from memolith.text.chunking.seams import CUTS_BY_KIND
from memolith.text.cutting import CountedSpan, Counter, SizeLimit, count_span_tokens, cut_to_fit
from memolith.text.sentences import strip_span

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
    units: tuple[CountedSpan, ...]
    tokens: int
    limit: SizeLimit
    kind: BlockKind

    @property
    def end(self) -> int:
        """Where it ends, the white space after it aside."""
        return self.units[-1][0].end


def build_pieces(batch: Sequence[Block], counter: Counter, sizes: ChunkSizes) -> list[Piece]:
    """Return the pieces of blocks that follow each other, in order, counted together."""
    text = "".join(block.text for block in batch)
    starts = [block.start - batch[0].start for block in batch]
    kinds = [block.kind for block in batch]
    groups: list[tuple[BlockKind, list[CountedSpan]]] = []
    for kind, units in zip(kinds, _split_blocks(text, starts, kinds, counter, sizes), strict=True):
        packed = _pack_units(units, get_size_limit(kind, sizes), sizes.min_tokens)
        groups += ((kind, group) for group in packed)
    return list(_place_groups(text, batch[0].start, groups, sizes))


def get_size_limit(kind: BlockKind, sizes: ChunkSizes) -> SizeLimit:
    """Return what a piece of a block of that kind may cost."""
    tokens = sizes.hard_max_tokens if kind in _WHOLE_KINDS else sizes.max_tokens
    return SizeLimit(tokens, sizes.max_chars)


def _split_blocks(
    text: str,
    starts: Sequence[int],
    kinds: Sequence[BlockKind],
    counter: Counter,
    sizes: ChunkSizes,
) -> list[list[CountedSpan]]:
    """Return each block's units: itself, or its parts where it is too long."""
    ends = [*starts[1:], len(text)]
    wholes = [span for at in zip(starts, ends, strict=True) for span in strip_span(text, *at)]
    units: list[list[CountedSpan]] = [[] for _ in starts]
    long: dict[BlockKind, list[CountedSpan]] = {}
    for span, tokens in count_span_tokens(
        text, wholes, counter, SizeLimit(sizes.hard_max_tokens, sizes.max_chars)
    ):
        at = bisect_right(starts, span.start) - 1
        if get_size_limit(kinds[at], sizes).can_hold(span, tokens):
            units[at].append((span, tokens))
        else:
            long.setdefault(kinds[at], []).append((span, tokens))
    for kind, blocks in long.items():
        for unit in cut_to_fit(
            text, blocks, counter, get_size_limit(kind, sizes), CUTS_BY_KIND[kind]
        ):
            units[bisect_right(starts, unit[0].start) - 1].append(unit)
    return units


def _pack_units(
    units: list[CountedSpan], limit: SizeLimit, minimum: int
) -> list[list[CountedSpan]]:
    """Group units greedily, in order; where the last group has too little, it takes some."""
    groups: list[list[CountedSpan]] = []
    tokens = 0
    for span, cost in units:
        if groups and limit.can_hold(Span(groups[-1][0][0].start, span.end), tokens + cost):
            groups[-1].append((span, cost))
            tokens += cost
        else:
            groups.append([(span, cost)])
            tokens = cost
    if len(groups) > 1 and tokens < minimum:
        groups[-2:] = _balance_units([*groups[-2], *groups[-1]], limit)
    return groups


def _balance_units(units: list[CountedSpan], limit: SizeLimit) -> list[list[CountedSpan]]:
    """Return units that are too many for one group as two, as even as they can be."""
    total = sum(tokens for _, tokens in units)
    best: tuple[int, int] | None = None
    left = 0
    for at, (before, after) in enumerate(pairwise(units), start=1):
        left += before[1]
        fits = limit.can_hold(Span(units[0][0].start, before[0].end), left) and limit.can_hold(
            Span(after[0].start, units[-1][0].end), total - left
        )
        if fits and (best is None or abs(total - 2 * left) < best[0]):
            best = (abs(total - 2 * left), at)
    at = best[1] if best is not None else len(units) - 1
    return [units[:at], units[at:]]


def _place_groups(
    text: str, offset: int, groups: Sequence[tuple[BlockKind, list[CountedSpan]]], sizes: ChunkSizes
) -> Iterator[Piece]:
    """Yield the groups as pieces of the whole text."""
    starts = [group[0][0].start for _, group in groups]
    for (kind, group), (start, end) in zip(groups, pairwise([*starts, len(text)]), strict=True):
        units = tuple(
            (Span(offset + span.start, offset + span.end), tokens) for span, tokens in group
        )
        tokens = sum(cost for _, cost in units)
        yield Piece(
            offset + start, text[start:end], units, tokens, get_size_limit(kind, sizes), kind
        )
