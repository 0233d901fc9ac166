"""Detect echoes: rendered memory context, and assistant text that repeats it.

Echoes are not learned. A memory that learned its own output would grow without end.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from memolith.policies.evidence import Sources, read_sources
from memolith.policies.grounding import find_support
from memolith.policies.rendering.formats import (
    BASE_MEMORY_HEADING,
    CHUNKS_CLOSING,
    CHUNKS_OPENING,
    COMPANION_PREAMBLE,
    FACTS_HEADINGS,
    MEMORIES_HEADING,
)
from memolith.policies.rendering.formats import TIMELINE_OPENING as KEYED
from memolith.text.canonical_form import content_key
from memolith.text.polarity import FIRST_PERSON_PATTERN

_OPENING_TAG, _CLOSING_TAG, _TIMELINE_HEADING = (
    CHUNKS_OPENING.strip(),
    CHUNKS_CLOSING.strip(),
    KEYED.strip(),
)
_FACTS_HEADING_LINES = frozenset(FACTS_HEADINGS.values())
_STATE_PREFIX = "[Current "


def strip_context(text: str) -> str:
    """Return a text without the blocks that Memolith renders for prompts, for all profiles.

    A single section of `facts` ("Preferences:" and a list) in the first person is the user's own
    text and stays. Of a `tiers` base memory, only the first paragraph and the lists after it are
    removed: free text further down is indistinguishable from the text that follows. Runs in linear
    time.
    """
    lines = text.split("\n")
    remaining: list[str] = []
    at = 0
    last_close = max((i for i, line in enumerate(lines) if _CLOSING_TAG in line), default=-1)
    while at < len(lines):
        end, rest = _find_block(lines, at, last_close)
        remaining += rest if end > at else [lines[at]]
        at = max(end, at + 1)
    return text if len(remaining) == len(lines) else "\n".join(remaining).strip()


def is_echo(fact: str, user_sources: Sources, known: Iterable[str]) -> bool:
    """Return whether a fact repeats known memories and is unsupported by the user's words.

    Args:
        fact: Extracted by a model from a conversation.
        user_sources: The user's messages, without rendered context (see `strip_context`).
        known: Contents of memories, such as those recalled for the conversation.
    """
    if find_support(fact, user_sources):
        return False
    key = content_key(fact)
    return any(
        content_key(content) == key
        or find_support(fact, read_sources([content], names=user_sources.names))
        for content in known
    )


def _find_block(lines: Sequence[str], at: int, last_close: int) -> tuple[int, list[str]]:
    """Return the end of a block that begins at a line, and its lines that do not belong to it."""
    line = lines[at].strip()
    if line.endswith(_OPENING_TAG) and at < last_close:
        end = next(i for i in range(at + 1, len(lines)) if _CLOSING_TAG in lines[i])
        before, after = (
            lines[at].rstrip()[: -len(_OPENING_TAG)],
            lines[end].partition(_CLOSING_TAG)[2],
        )
        return end + 1, [one for one in (before, after) if one.strip()]
    if line.endswith(COMPANION_PREAMBLE):
        before = lines[at].rstrip()[: -len(COMPANION_PREAMBLE)]
        return _find_items_end(lines, at + 1), [before] if before.strip() else []
    if line == _TIMELINE_HEADING:
        return _find_items_end(lines, _skip_blank(lines, at + 1)), []
    if line == MEMORIES_HEADING:
        return _find_state_end(lines, _find_items_end(lines, at + 1)), []
    if line == BASE_MEMORY_HEADING:
        return _find_state_end(lines, _find_document_end(lines, at + 1)), []
    return _find_sections_end(lines, at), []


def _find_items_end(lines: Sequence[str], at: int) -> int:
    """Return the end of the list that begins at a line: "- " items and indented lines."""
    end = at
    while end < len(lines) and (
        lines[end].lstrip(" ").startswith("- ") or (end > at and lines[end].startswith("  "))
    ):
        end += 1
    return end


def _skip_blank(lines: Sequence[str], at: int) -> int:
    while at < len(lines) and not lines[at].strip():
        at += 1
    return at


def _find_state_end(lines: Sequence[str], end: int) -> int:
    """Return the end of the state line after a block, if there is one."""
    after = _skip_blank(lines, end)
    is_state = after < len(lines) and lines[after].startswith(_STATE_PREFIX)
    return after + 1 if is_state else end


def _find_document_end(lines: Sequence[str], at: int) -> int:
    end = at
    while end < len(lines) and lines[end].strip() and not lines[end].startswith("["):
        end += 1
    while True:
        start = _skip_blank(lines, end)
        is_heading = start < len(lines) and lines[start].rstrip().endswith(":")
        after = _find_items_end(lines, start + is_heading)
        if after <= start + is_heading:
            return end
        end = after


def _find_sections_end(lines: Sequence[str], at: int) -> int:
    """Return the end of `facts` sections that begin at a line; the line itself if there is none."""
    end, count = at, 0
    while end < len(lines) and lines[end].strip() in _FACTS_HEADING_LINES:
        after = _find_items_end(lines, end + 1)
        if after == end + 1:
            break
        end, count = after, count + 1
    is_own = count == 1 and FIRST_PERSON_PATTERN.search("\n".join(lines[at + 1 : end])) is not None
    return at if is_own else end
