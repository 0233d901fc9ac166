"""Chunks: a long text cut where its meaning is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from memolith.domain.items import Span
from memolith.text.chunking.blocks import Block, blocks
from memolith.text.chunking.merging import merge_pieces
from memolith.text.chunking.model import Chunk, ChunkSizes
from memolith.text.chunking.pieces import Piece, build_pieces
from memolith.text.cutting import CountedSpan, Counter

# Blocks are counted together up to so many characters, and chunks up to so many. Guesses: enough
# that a call costs little beside what it counts, and little memory.
_BATCH_CHARS = 200_000
_BATCH_CHUNKS = 200

DEFAULT_SIZES = ChunkSizes()


def split_chunks(text: str, counter: Counter, *, sizes: ChunkSizes = DEFAULT_SIZES) -> list[Chunk]:
    """Cut a cleaned text into chunks where its meaning is, in order.

    First at blank lines, headings, and around fenced code, lists and tables. A paragraph of more
    than `max_tokens` is cut at its sentences; of a longer sentence its lines, then its clauses
    (after ";" and ":", then after commas and dashes, then before conjunctions), then words are
    parted. Code, lists and tables stay whole up to `hard_max_tokens`; a longer one is cut at its
    seams (code at blank lines, then lines; lists at items, then lines; tables at rows) to parts
    of at most as many. A word is cut only where it has by itself more than a chunk may have, or
    in writing without spaces.

    Chunks under `min_tokens` are merged with a neighbour, never over `max_tokens`; a heading, or
    what ends in a colon, rather with what follows. One that fits to neither stays.

    Chunks hold all that is not white space, each the true count of its text. Linear in the length
    of the text. A single character that costs more than `max_tokens` is a chunk nevertheless.

    Args:
        text: As `memolith.text.cleaning.clean` returns it.
        counter: Called a few times for each 200,000 characters, with many texts each.
        sizes: How large chunks are.
    """
    return list(stream_chunks([text], counter, sizes=sizes))


def stream_chunks(
    texts: Iterable[str], counter: Counter, *, sizes: ChunkSizes = DEFAULT_SIZES
) -> Iterator[Chunk]:
    """Yield the chunks of a cleaned text that comes in pieces, as `chunks` would of all of it.

    They do not depend on how it was cut into pieces. Holds some 200,000 characters beside a
    piece; to that end both forms take a block of more than `look_ahead_chars` as several, so that
    a paragraph that long may be cut within a sentence where a better place lies further on.

    Args:
        texts: The text's pieces, in order; empty ones do no harm.
        counter: As for `chunks`.
        sizes: As for `chunks`.
    """
    batches = _batch_blocks(blocks(texts, sizes.look_ahead_chars))
    drafts = merge_pieces(
        (piece for batch in batches for piece in build_pieces(batch, counter, sizes)), sizes
    )
    while batch := list(islice(drafts, _BATCH_CHUNKS)):
        yield from _verify_chunks(batch, counter)


def _batch_blocks(found: Iterable[Block]) -> Iterator[list[Block]]:
    batch: list[Block] = []
    size = 0
    for block in found:
        batch.append(block)
        size += len(block.text)
        if size >= _BATCH_CHARS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _verify_chunks(drafts: Sequence[Piece], counter: Counter) -> list[Chunk]:
    """Return each draft as a chunk, halving those whose joined text counts too much.

    A joined stretch may cost more than its units: a counter may count the space between them.
    """
    joined = [draft for draft in drafts if len(draft.units) > 1]
    costs = iter(counter.count([_get_text(draft) for draft in joined]) if joined else [])
    found: list[Chunk] = []
    halves: list[Piece] = []
    for draft in drafts:
        tokens = next(costs) if len(draft.units) > 1 else draft.units[0][1]
        if len(draft.units) == 1 or tokens <= draft.limit.tokens:
            found.append(Chunk(Span(draft.start, draft.end), _get_text(draft), tokens))
        else:
            half = len(draft.units) // 2
            halves += [
                _take_units(draft, draft.units[:half]),
                _take_units(draft, draft.units[half:]),
            ]
    if not halves:
        return found
    return sorted([*found, *_verify_chunks(halves, counter)], key=lambda chunk: chunk.span.start)


def _get_text(draft: Piece) -> str:
    return draft.text[: draft.end - draft.start]


def _take_units(draft: Piece, units: tuple[CountedSpan, ...]) -> Piece:
    start = units[0][0].start
    text = draft.text[start - draft.start : units[-1][0].end - draft.start]
    tokens = sum(cost for _, cost in units)
    return Piece(start, text, units, tokens, draft.limit, draft.kind)
