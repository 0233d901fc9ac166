"""Code in a text: fenced blocks, and stretches in backticks."""

from __future__ import annotations

import re

from memolith.domain.items import Span

# CommonMark, "Fenced code blocks": at most three spaces, three or more of one mark, and no
# backtick in what follows a fence of backticks.
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})([^\n]*)$", re.MULTILINE)
_INLINE = re.compile(r"`[^`\n]+`")
_VISIBLE = re.compile(r"[^\n]")


def code_blocks(text: str) -> list[Span]:
    """Return the fenced blocks in order, fences included; one never closed runs to the end.

    The line end after a block is not part of it.
    """
    blocks: list[Span] = []
    opened: re.Match[str] | None = None
    for fence in _FENCE.finditer(text):
        if opened is None:
            opened = fence if _is_opening_fence(fence) else None
        elif _is_matching_fence(fence, opened[1]):
            blocks.append(Span(opened.start(), fence.end()))
            opened = None
    if opened is not None:
        blocks.append(Span(opened.start(), len(text)))
    return blocks


def get_opening_fence(line: str) -> str | None:
    """Return the marks of a line that opens a fenced block; None: it opens none."""
    fence = _FENCE.match(line)
    return fence[1] if fence is not None and _is_opening_fence(fence) else None


def is_closing_fence(line: str, opening: str) -> bool:
    """Tell whether a line closes a block that these marks opened."""
    fence = _FENCE.match(line)
    return fence is not None and _is_matching_fence(fence, opening)


def _is_opening_fence(fence: re.Match[str]) -> bool:
    return fence[1][0] == "~" or "`" not in fence[2]


def _is_matching_fence(fence: re.Match[str], opening: str) -> bool:
    return fence[1].startswith(opening) and not fence[2].strip(" \t")


def mask_code(text: str) -> str:
    """Return the text with code blanked out: every other character stays where it was."""
    if "`" not in text and "~~~" not in text:
        return text
    pieces: list[str] = []
    end = 0
    for block in code_blocks(text):
        pieces += [
            _INLINE.sub(_blank_out, text[end : block.start]),
            _VISIBLE.sub(" ", block.extract(text)),
        ]
        end = block.end
    pieces.append(_INLINE.sub(_blank_out, text[end:]))
    return "".join(pieces)


def _blank_out(match: re.Match[str]) -> str:
    return " " * len(match[0])
