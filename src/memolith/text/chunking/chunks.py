"""Cut long texts into chunks of limited size, each about one topic."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise

from memolith.domain.memories import Span
from memolith.errors import InvalidInput
from memolith.text.chunking.blocks import LIST_ITEM, Block, BlockKind, blocks
from memolith.text.passages import (
    CountedSpan,
    Counter,
    CutStrategy,
    SizeLimit,
    count_span_tokens,
    cut_to_fit,
)
from memolith.text.segmentation import sentence_ends, strip_span


@dataclass(frozen=True, slots=True)
class ChunkSizes:
    """Size limits of chunks.

    Attributes:
        min_tokens: Smaller neighbouring chunks are merged if they fit.
        max_tokens: Maximum size of a chunk, except for a single code block, list or table.
        hard_max_tokens: Maximum size of a code block, list or table that stays whole. The default
            is a guess: four times the maximum. It is well below the default recall budget of 2,000
            tokens, so that such chunks can still be recalled.
        max_chars: Maximum number of characters of any chunk, equal to that of a memory. A word
            piece can be long, so that a token limit alone is no bound.
        look_ahead_chars: Maximum size of a block that is analysed as a whole; longer blocks are
            split. A guess: a dozen of the longest chunks.
    """

    min_tokens: int = 50
    max_tokens: int = 300
    hard_max_tokens: int = 1_200
    max_chars: int = 8_000
    look_ahead_chars: int = 100_000

    def __post_init__(self) -> None:
        """Validate the sizes.

        Raises:
            InvalidInput: The sizes contradict each other.
        """
        if not 0 <= self.min_tokens <= self.max_tokens <= self.hard_max_tokens:
            raise InvalidInput(
                "sizes", "must satisfy 0 <= min_tokens <= max_tokens <= hard_max_tokens"
            )
        if not 1 <= self.max_chars <= self.look_ahead_chars or self.max_tokens < 1:
            raise InvalidInput(
                "sizes", "must satisfy 1 <= max_tokens and 1 <= max_chars <= look_ahead_chars"
            )


@dataclass(frozen=True, slots=True)
class Chunk:
    """A part of a text about one topic, without surrounding white space.

    Attributes:
        span: Its location in the whole text, in characters.
        text: The text.
        tokens: Number of tokens.
    """

    span: Span
    text: str
    tokens: int


# --- Cuts by kind of block


_LINE_END = re.compile(r"\n|[\u2028\u2029]")
_BLANK_LINE = re.compile(r"\n[ \t]*\n")
_FIRST_WORD = re.compile(r"\s*\S*")
# The width of wrapped text is the length that this percentage of lines does not exceed. Longer
# lines contain unbreakable text. A guess.
_MOST_LINES = 90
_STRONG_MARK = re.compile(r"[;:](?=\s)|[；：]")
_WEAK_MARK = re.compile(r",(?=\s)|[–—]|[，、،]")
# A clause may be cut before these words. English and German, from general knowledge.
_CONJUNCTION = re.compile(
    r"\s(?=(?:and|but|or|nor|because|although|though|while|whereas|which|who|that|if|when|where"
    r"|unless|until|so|und|aber|oder|sondern|denn|weil|obwohl|während|dass|wenn|wobei|sodass"
    r"|damit|bevor|nachdem|bis|sowie)\s)",
    re.IGNORECASE,
)


def _cut_after(pattern: re.Pattern[str]) -> CutStrategy:
    def cut(text: str, span: Span, _parts: int) -> list[int]:
        return [mark.end() for mark in pattern.finditer(text, span.start, span.end)]

    return cut


def _cut_after_sentences(text: str, span: Span, _parts: int) -> list[int]:
    """Return the ends of sentences: at their marks, and at deliberate line ends."""
    ends = sentence_ends(text, span.start, span.end)
    return sorted({*ends, *_find_deliberate_line_ends(text, span)})


def _find_deliberate_line_ends(text: str, span: Span) -> list[int]:
    """Return the ends of lines with room for the next word: in a poem, a log, a chat.

    Lines of wrapped text end because the next word would exceed the width.
    """
    ends = [mark.end() for mark in _LINE_END.finditer(text, span.start, span.end)]
    lines = [text[start:end].rstrip() for start, end in pairwise([span.start, *ends, span.end])]
    widths = sorted(map(len, lines))
    width = widths[len(widths) * _MOST_LINES // 100]
    return [
        end
        for end, (line, following) in zip(ends, pairwise(lines), strict=True)
        if len(line) + 1 + len(_get_first_word(following)) <= width
    ]


def _get_first_word(line: str) -> str:
    match = _FIRST_WORD.match(line)
    return match[0] if match else ""


def _cut_before_items(text: str, span: Span, _parts: int) -> list[int]:
    """Return the starts of list items, except for nested ones."""
    items = [
        (item.start(), _get_indent(item[0]))
        for item in LIST_ITEM.finditer(text, span.start, span.end)
        if item.start() == 0 or text[item.start() - 1] == "\n"
    ]
    least = min((indent for _, indent in items), default=0)
    return [start for start, indent in items if indent == least and start > span.start]


def _get_indent(item: str) -> int:
    return len(item) - len(item.lstrip())


_CLAUSE_CUTS = (_cut_after(_STRONG_MARK), _cut_after(_WEAK_MARK), _cut_after(_CONJUNCTION))
_PROSE_CUTS = (_cut_after_sentences, _cut_after(_LINE_END), *_CLAUSE_CUTS)
_LINE_CUT = _cut_after(_LINE_END)
CUTS_BY_KIND = {
    BlockKind.PROSE: _PROSE_CUTS,
    BlockKind.HEADING: _PROSE_CUTS,
    BlockKind.CODE: (_cut_after(_BLANK_LINE), _LINE_CUT),
    BlockKind.LIST: (_cut_before_items, _LINE_CUT, *_PROSE_CUTS),
    BlockKind.TABLE: (_LINE_CUT,),
}
"""Cut strategies of each kind of block, in the order to try. Spaces come last."""


# --- Pieces: blocks, or parts of oversized blocks


_WHOLE_KINDS = (BlockKind.CODE, BlockKind.LIST, BlockKind.TABLE)


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of the text that may become a chunk.

    Attributes:
        start: Its position in the whole text.
        text: The text, with the white space after it.
        units: Its indivisible parts, as spans of the whole text with their tokens.
        tokens: Sum of the tokens of its units.
        limit: Its maximum size.
        kind: The kind of its last block.
    """

    start: int
    text: str
    units: tuple[CountedSpan, ...]
    tokens: int
    limit: SizeLimit
    kind: BlockKind

    @property
    def end(self) -> int:
        """The end position, without the white space after it."""
        return self.units[-1][0].end


def build_pieces(batch: Sequence[Block], counter: Counter, sizes: ChunkSizes) -> list[Piece]:
    """Return the pieces of consecutive blocks, in order, with tokens counted in one batch."""
    text = "".join(block.text for block in batch)
    starts = [block.start - batch[0].start for block in batch]
    kinds = [block.kind for block in batch]
    groups: list[tuple[BlockKind, list[CountedSpan]]] = []
    for kind, units in zip(kinds, _split_blocks(text, starts, kinds, counter, sizes), strict=True):
        packed = _pack_units(units, get_size_limit(kind, sizes), sizes.min_tokens)
        groups += ((kind, group) for group in packed)
    return list(_place_groups(text, batch[0].start, groups, sizes))


def get_size_limit(kind: BlockKind, sizes: ChunkSizes) -> SizeLimit:
    """Return the maximum size of a piece from a block of that kind."""
    tokens = sizes.hard_max_tokens if kind in _WHOLE_KINDS else sizes.max_tokens
    return SizeLimit(tokens, sizes.max_chars)


def _split_blocks(
    text: str,
    starts: Sequence[int],
    kinds: Sequence[BlockKind],
    counter: Counter,
    sizes: ChunkSizes,
) -> list[list[CountedSpan]]:
    """Return the units of each block: the block itself, or its parts if it is oversized."""
    ends = [*starts[1:], len(text)]
    stripped = [span for at in zip(starts, ends, strict=True) for span in strip_span(text, *at)]
    units: list[list[CountedSpan]] = [[] for _ in starts]
    long: dict[BlockKind, list[CountedSpan]] = {}
    for span, tokens in count_span_tokens(
        text, stripped, counter, SizeLimit(sizes.hard_max_tokens, sizes.max_chars)
    ):
        at = bisect_right(starts, span.start) - 1
        if get_size_limit(kinds[at], sizes).can_hold(span, tokens):
            units[at].append((span, tokens))
        else:
            long.setdefault(kinds[at], []).append((span, tokens))
    for kind, too_long in long.items():
        for unit in cut_to_fit(
            text, too_long, counter, get_size_limit(kind, sizes), CUTS_BY_KIND[kind]
        ):
            units[bisect_right(starts, unit[0].start) - 1].append(unit)
    return units


def _pack_units(
    units: list[CountedSpan], limit: SizeLimit, minimum: int
) -> list[list[CountedSpan]]:
    """Group units greedily, in order; a small last group is balanced with the previous one."""
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
    """Return units that exceed one group as two groups, as even as possible."""
    total = sum(tokens for _, tokens in units)
    best: tuple[int, int] | None = None
    tokens_left = 0
    for at, (before, after) in enumerate(pairwise(units), start=1):
        tokens_left += before[1]
        fits = limit.can_hold(
            Span(units[0][0].start, before[0].end), tokens_left
        ) and limit.can_hold(Span(after[0].start, units[-1][0].end), total - tokens_left)
        if fits and (best is None or abs(total - 2 * tokens_left) < best[0]):
            best = (abs(total - 2 * tokens_left), at)
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


# --- Merging short pieces


# A line this short without a final mark is a title. A guess.
_TITLE_CHARS = 80
_TAIL = 100
_LEAD_IN = re.compile(r"[:：]\W*$|\n {0,3}(?:=+|-+)[ \t]*$")
_SENTENCE_MARK = re.compile(r"[.!?…。！？,;|)\]}\"'”’“‘»]\W*$")


def merge_pieces(pieces: Iterable[Piece], sizes: ChunkSizes) -> Iterator[Piece]:
    """Yield the pieces, with those below the minimum merged into a neighbour if both fit.

    A lead-in (a heading, a title, text ending in a colon) joins the next piece; other pieces join
    the smaller neighbour. Buffers three pieces.
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
    """Return whether two consecutive pieces fit in one chunk.

    Never true if blocks of white space separate them. Such blocks only occur for more white space
    than the look-ahead, which exceeds the size of a chunk.
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
    """Return whether a piece introduces the next one."""
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


# --- Chunks


# Batch sizes for counting tokens. Guesses: large enough to make the overhead of calls negligible,
# and small enough for memory.
_BATCH_CHARS = 200_000
_BATCH_CHUNKS = 200

DEFAULT_SIZES = ChunkSizes()


def split_chunks(text: str, counter: Counter, *, sizes: ChunkSizes = DEFAULT_SIZES) -> list[Chunk]:
    """Cut a cleaned text into chunks at its structure, in order.

    Cuts first at blank lines, headings, and around fenced code, lists and tables. A paragraph of
    more than `max_tokens` is cut at sentences. A longer sentence is cut at lines, then at clauses,
    then at words. Clauses end after ";" and ":", then after commas and dashes, then before
    conjunctions.

    Code, lists and tables stay whole up to `hard_max_tokens`. Larger ones are cut into parts of at
    most that size: code at blank lines, then lines; lists at items, then lines; tables at rows. A
    word is cut only if it exceeds a chunk by itself, or in scripts without spaces.

    Chunks below `min_tokens` are merged with a neighbour, up to `max_tokens`. Headings, and text
    ending in a colon, prefer the next chunk. A chunk that fits neither neighbour stays small.

    The chunks cover all text except white space, and each has the exact count of its text. Linear
    in the length of the text. A single character that exceeds `max_tokens` is still a chunk.

    Args:
        text: As returned by `memolith.text.cleaning.clean`.
        counter: Called a few times per 200,000 characters, with many texts each.
        sizes: Size limits of chunks.
    """
    return list(stream_chunks([text], counter, sizes=sizes))


def stream_chunks(
    texts: Iterable[str], counter: Counter, *, sizes: ChunkSizes = DEFAULT_SIZES
) -> Iterator[Chunk]:
    """Yield the chunks of a cleaned text that arrives in pieces, as `split_chunks` would.

    The chunks do not depend on how the text is cut into pieces. Buffers about 200,000 characters in
    addition to a piece. Both functions split a block of more than `look_ahead_chars` characters,
    and may then cut inside a sentence.

    Args:
        texts: The pieces of the text, in order; empty ones are allowed.
        counter: As for `split_chunks`.
        sizes: As for `split_chunks`.
    """
    batches = _batch_blocks(blocks(texts, sizes.look_ahead_chars))
    pieces = merge_pieces(
        (piece for batch in batches for piece in build_pieces(batch, counter, sizes)), sizes
    )
    while batch := list(islice(pieces, _BATCH_CHUNKS)):
        yield from _verify_chunks(batch, counter)


def _batch_blocks(blocks: Iterable[Block]) -> Iterator[list[Block]]:
    batch: list[Block] = []
    size = 0
    for block in blocks:
        batch.append(block)
        size += len(block.text)
        if size >= _BATCH_CHARS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _verify_chunks(pieces: Sequence[Piece], counter: Counter) -> list[Chunk]:
    """Return each piece as a chunk; halve pieces whose joined text is too large.

    Joined text may have more tokens than its units: a counter may count the spaces between them.
    """
    merged = [piece for piece in pieces if len(piece.units) > 1]
    costs = iter(counter.count([_get_text(piece) for piece in merged]) if merged else [])
    chunks: list[Chunk] = []
    halves: list[Piece] = []
    for piece in pieces:
        tokens = next(costs) if len(piece.units) > 1 else piece.units[0][1]
        if len(piece.units) == 1 or tokens <= piece.limit.tokens:
            chunks.append(Chunk(Span(piece.start, piece.end), _get_text(piece), tokens))
        else:
            half = len(piece.units) // 2
            halves += [
                _take_units(piece, piece.units[:half]),
                _take_units(piece, piece.units[half:]),
            ]
    if not halves:
        return chunks
    return sorted([*chunks, *_verify_chunks(halves, counter)], key=lambda chunk: chunk.span.start)


def _get_text(piece: Piece) -> str:
    return piece.text[: piece.end - piece.start]


def _take_units(piece: Piece, units: tuple[CountedSpan, ...]) -> Piece:
    start = units[0][0].start
    text = piece.text[start - piece.start : units[-1][0].end - piece.start]
    tokens = sum(cost for _, cost in units)
    return Piece(start, text, units, tokens, piece.limit, piece.kind)
