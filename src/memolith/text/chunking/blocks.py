"""Split a stream of text into lines and blocks: paragraphs, headings, code, lists and tables.

The result does not depend on how the stream is cut into pieces.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum, auto
from typing import NamedTuple

from memolith.text.passages import is_letter_boundary
from memolith.text.segmentation import get_opening_fence, is_closing_fence

# Oversized lines are cut after these characters.
_CUT_CHARS = " \t。！？"
# Maximum distance that a cut moves back, to keep letters with their marks. A guess.
_MAX_MARKS = 16


class Line(NamedTuple):
    """A line with its end, or a part of an oversized line.

    Attributes:
        text: The original text.
        is_line_start: Whether it begins a line.
    """

    text: str
    is_line_start: bool


def split_lines(pieces: Iterable[str], longest: int) -> Iterator[Line]:
    """Yield the lines of the joined pieces; together they are the whole text.

    A line of more than `longest` characters is split into several parts. Buffers at most that many
    characters in addition to a piece.
    """
    buffer: list[str] = []
    size = 0
    is_line_start = True
    for piece in pieces:
        buffer.append(piece)
        size += len(piece)
        if "\n" in piece or size >= longest:
            text = "".join(buffer)
            at = 0
            while (end := _find_line_end(text, at, longest)) is not None:
                yield Line(text[at:end], is_line_start)
                is_line_start = text[end - 1] == "\n"
                at = end
            buffer = [text[at:]]
            size = len(text) - at
    if size:
        yield Line("".join(buffer), is_line_start)


def _find_line_end(text: str, at: int, longest: int) -> int | None:
    """Return the end of the line that begins at this position, or None if more text is needed."""
    end = text.find("\n", at, at + longest)
    if end >= 0:
        return end + 1
    if len(text) - at < longest:
        return None
    seam = max(text.rfind(mark, at, at + longest) for mark in _CUT_CHARS)
    return seam + 1 if seam >= 0 else _find_letter_boundary(text, at, at + longest)


def _find_letter_boundary(text: str, at: int, end: int) -> int:
    """Return the last letter boundary before the end, if one is near, or else the end.

    Excludes the end itself: the next character may not have arrived yet.
    """
    for place in range(end - 1, max(at, end - _MAX_MARKS), -1):
        if is_letter_boundary(text, place):
            return place
    return end


# --- Blocks


# In a list with blank lines between its items, a longer item is a numbered paragraph, and a block
# of its own. About 50 tokens, the minimum of a chunk.
_LONG_ITEM_CHARS = 200

_HEADING = re.compile(r" {0,3}#{1,6}(?:\s|$)")
LIST_ITEM = re.compile(
    r"[ \t]*(?!(?:[-*_][ \t]*){3,}$)"  # no thematic break
    r"(?:(?P<bullet>[-*+•‣◦▪·])|(?P<number>\d{1,3}|[a-z])[.)])[ \t]+\S",
    re.MULTILINE,
)
"""The beginning of a list item, at the beginning of a line."""
_ROW = re.compile(r"[ \t]*\|")
# The row under a table header: GitHub Flavored Markdown, "Tables".
_RULE_ROW = re.compile(r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$")
# A line that does not begin with one of these, and has no pipe, is prose.
_SPECIAL = re.compile(r"[ \t]*(?:[`~#|+•‣◦▪·*-]|\w{1,3}[.)])")


class BlockKind(Enum):
    """Kinds of blocks."""

    PROSE = auto()
    HEADING = auto()
    CODE = auto()
    LIST = auto()
    TABLE = auto()


@dataclass(frozen=True, slots=True)
class Block:
    """A range of lines that belong together, with the white space after it.

    Attributes:
        kind: The kind of block.
        start: Its position in the whole text.
        text: The text. It is only white space at the start of the text, or if the white space
            exceeds the look-ahead.
    """

    kind: BlockKind
    start: int
    text: str


def blocks(pieces: Iterable[str], look_ahead_chars: int) -> Iterator[Block]:
    """Yield the blocks of a text that arrives in pieces; together they are the whole text.

    A block of more than `look_ahead_chars` characters is split into several of the same kind.
    """
    builder = _BlockBuilder(look_ahead_chars)
    for line in split_lines(pieces, look_ahead_chars):
        yield from builder.add(line)
    yield from builder.take_block(BlockKind.PROSE)


class _BlockBuilder:
    """Collects the lines of the current block, with the state needed to find its end."""

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._kind = BlockKind.PROSE
        self._lines: list[str] = []
        self._start = 0
        self._size = 0
        self._item_size = 0
        self._opening: str | None = None  # marks of the open fence
        self._after_blank = False

    def add(self, line: Line) -> Iterator[Block]:
        """Add a line; yield the block that it ends, if any."""
        text = line.text
        if line.is_line_start and self._is_under_table_head(text):
            head = self._lines.pop()
            self._size -= len(head)
            yield from self.take_block(BlockKind.TABLE)
            self._append(head)
        elif line.is_line_start and (kind := self._get_started_kind(text)) is not None:
            yield from self.take_block(kind)
        elif self._size + len(text) > self._longest:
            yield from self.take_block(self._kind)
        if line.is_line_start:
            self._update_state(text)
        self._append(text)

    def take_block(self, kind: BlockKind) -> Iterator[Block]:
        """Yield the current block, if any, and start a block of the given kind."""
        if self._lines:
            yield Block(self._kind, self._start, "".join(self._lines))
        self._lines = []
        self._start += self._size
        self._size = 0
        self._kind = kind

    def _append(self, text: str) -> None:
        self._lines.append(text)
        self._size += len(text)
        self._item_size += len(text)

    def _update_state(self, text: str) -> None:
        """Update the state that later lines depend on."""
        if self._opening is not None:
            if is_closing_fence(text.rstrip("\n"), self._opening):
                self._opening = None
        elif text[:4].lstrip(" ")[:1] in ("`", "~"):
            self._opening = get_opening_fence(text.rstrip("\n"))
        elif self._kind is BlockKind.LIST and LIST_ITEM.match(text):
            self._item_size = 0
        self._after_blank = not text.strip()

    def _is_under_table_head(self, text: str) -> bool:
        return (
            self._kind is BlockKind.PROSE
            and self._opening is None
            and not self._after_blank
            and "|" in text
            and bool(self._lines)
            and "|" in self._lines[-1]
            and len(self._lines[-1]) + len(text) <= self._longest
            and _RULE_ROW.match(text) is not None
        )

    def _get_started_kind(self, text: str) -> BlockKind | None:
        """Return the kind of block that a line starts; None if it continues the current one."""
        if self._opening is not None or not text.strip():
            return None
        special = _SPECIAL.match(text) is not None
        if special and (kind := self._get_special_kind(text)) is not None:
            return None if self._is_continuation(kind, text) else kind
        return None if self._is_continuation(BlockKind.PROSE, text) else BlockKind.PROSE

    def _get_special_kind(self, text: str) -> BlockKind | None:
        if get_opening_fence(text.rstrip("\n")) is not None:
            return BlockKind.CODE
        if _HEADING.match(text):
            return BlockKind.HEADING
        if _ROW.match(text):
            return BlockKind.TABLE
        return BlockKind.LIST if self._is_item(text) else None

    def _is_item(self, text: str) -> bool:
        """Return whether a line is a list item; "1984." at the start of a wrapped line is not."""
        item = LIST_ITEM.match(text)
        if item is None:
            return False
        is_in_paragraph = (
            self._kind is BlockKind.PROSE and not self._after_blank and bool(self._lines)
        )
        return not is_in_paragraph or item["number"] in (None, "1", "a")

    def _is_continuation(self, kind: BlockKind, text: str) -> bool:
        """Return whether a line of that kind continues the current block."""
        if self._kind is BlockKind.LIST:
            return self._is_list_continuation(kind, text)
        if self._after_blank or kind in (BlockKind.CODE, BlockKind.HEADING):
            return False
        if self._kind is BlockKind.TABLE:
            return "|" in text
        return self._kind is kind is not BlockKind.LIST

    def _is_list_continuation(self, kind: BlockKind, text: str) -> bool:
        if text.startswith(("  ", "\t")):
            return True
        if kind is BlockKind.LIST:
            return not self._after_blank or self._item_size <= _LONG_ITEM_CHARS
        return kind is BlockKind.PROSE and not self._after_blank
