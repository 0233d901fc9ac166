"""Where blocks that are too long are cut: for each kind, its seams from the best to the worst."""

from __future__ import annotations

import re
from itertools import pairwise

from memolith.domain.items import Span
from memolith.text.chunking.blocks import LIST_ITEM, BlockKind
from memolith.text.cutting import CutStrategy
from memolith.text.sentences import sentence_ends

_LINE_END = re.compile(r"\n|[\u2028\u2029]")
_BLANK_LINE = re.compile(r"\n[ \t]*\n")
_FIRST_WORD = re.compile(r"\s*\S*")
# The width of running text is what this many of a hundred lines keep to; the rest have something
# in them that can't be parted. A guess.
_MOST_LINES = 90
_STRONG_MARK = re.compile(r"[;:](?=\s)|[；：]")
_WEAK_MARK = re.compile(r",(?=\s)|[–—]|[，、،]")
# Words before which a clause may be cut, English and German; from general knowledge.
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
    """Return where sentences end: at their marks, and where a line ends on purpose."""
    ends = sentence_ends(text, span.start, span.end)
    return sorted({*ends, *_find_deliberate_line_ends(text, span)})


def _find_deliberate_line_ends(text: str, span: Span) -> list[int]:
    """Return where lines end that had room for the next word: in a poem, a log, a chat.

    Lines of running text end where the next word would have been too long for the width of most.
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
    found = _FIRST_WORD.match(line)
    return found[0] if found else ""


def _cut_before_items(text: str, span: Span, _parts: int) -> list[int]:
    """Return where the items of a list begin, those within items aside."""
    found = [
        (item.start(), _get_indent(item[0]))
        for item in LIST_ITEM.finditer(text, span.start, span.end)
        if item.start() == 0 or text[item.start() - 1] == "\n"
    ]
    least = min((indent for _, indent in found), default=0)
    return [start for start, indent in found if indent == least and start > span.start]


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
"""Ways to cut each kind, to be tried in turn; after them come spaces."""
