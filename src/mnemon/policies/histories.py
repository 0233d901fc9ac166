"""Histories that a caller holds: what of one may be made shorter, and how it reads then.

A history is what chat services take: mappings with `role`, `content` and, where tools are used,
`tool_calls` and `tool_call_id`. What stays of it stays untouched.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mnemon.policies.rendering.defusing import told_lines

Entry = Mapping[str, Any]

SUMMARY = "[Context Summary]"
"""What the message begins with that stands for what was made shorter."""

KEEP = 4
"""How many of the newest messages stay as they are."""

_ASIDE = ("system", "developer")


_ENTRY = "ctx_"


def entry_key(session_id: str, unique: str = "") -> str:
    """Return the key of an entry that stands for a part of a history; or what all of them share.

    Args:
        session_id: The conversation.
        unique: Tells it from the others of that conversation; empty: what theirs begin with.
    """
    return f"{_ENTRY}{session_id}_{unique}"


def is_entry(key: str | None) -> bool:
    """Tell whether a memory with that key stands for a part of a history."""
    return key is not None and key.startswith(_ENTRY)


@dataclass(frozen=True, slots=True)
class Parts:
    """A history, taken apart.

    Attributes:
        head: What its caller says to the model, before all.
        summary: What an earlier shortening left; empty where there is none.
        done: How many of the messages after that were made shorter already, and come again.
        new: Messages to make shorter.
        kept: The newest messages, that stay.
    """

    head: tuple[Entry, ...]
    summary: str
    done: int
    new: tuple[Entry, ...]
    kept: tuple[Entry, ...]


def apart(history: Sequence[Entry], consolidated: int, keep: int = KEEP) -> Parts:
    """Take a history apart.

    Kept are at least the last message of the user and what follows; a call of a tool is never
    parted from its results.

    Args:
        history: In order.
        consolidated: How many messages of the conversation were made shorter before. A history
            that bears the summary holds none of them any more; one that does not holds them
            all, for its caller sends everything again each time.
        keep: How many of the newest stay.
    """
    start = _first_said(history)
    head = tuple(each for each in history[:start] if not _is_summary(each))
    summary = "\n".join(_after_mark(each) for each in history[:start] if _is_summary(each))
    said = history[start:]
    done = 0 if summary else min(consolidated, len(said))
    cut = max(done, _cut(said, keep))
    return Parts(head, summary, done, tuple(said[done:cut]), tuple(said[cut:]))


def shortened(parts: Parts, summary: str) -> list[Entry]:
    """Return a history that says a summary in the place of all that it stands for.

    It stands in a turn of the system's, where what tools and users said has no say: it is made
    harmless, and what of it tries to instruct a model is a quotation.
    """
    said = "\n".join(told_lines(summary))
    told: list[Entry] = [{"role": "system", "content": f"{SUMMARY} {said}"}] if said else []
    return [*parts.head, *told, *parts.kept]


def text_of(entry: Entry) -> str:
    """Return what a message says; of parts, those that are text."""
    content = entry.get("content")
    if isinstance(content, str):
        return content
    if not isinstance(content, Sequence):
        return ""
    texts = (each.get("text") for each in content if isinstance(each, Mapping))
    return "\n".join(text for text in texts if isinstance(text, str))


def turns_of(entries: Sequence[Entry]) -> int:
    """Return how many turns these are: how often the user speaks."""
    return sum(entry.get("role") == "user" for entry in entries)


def _first_said(history: Sequence[Entry]) -> int:
    for place, entry in enumerate(history):
        if entry.get("role") not in _ASIDE:
            return place
    return len(history)


def _cut(said: Sequence[Entry], keep: int) -> int:
    """Return how many of the messages may go."""
    users = [place for place, entry in enumerate(said) if entry.get("role") == "user"]
    cut = max(0, len(said) - keep)
    cut = min(cut, users[-1]) if users else 0
    while cut > 0 and (_is_result(said[cut]) or _calls(said[cut - 1])):
        cut -= 1
    return cut


def _is_result(entry: Entry) -> bool:
    if entry.get("role") in ("tool", "function"):
        return True
    return any(part.get("type") == "tool_result" for part in _parts(entry))


def _calls(entry: Entry) -> bool:
    """Tell whether a message calls tools, in the manner of OpenAI or of Anthropic."""
    called = entry.get("tool_calls") or entry.get("function_call")
    return bool(called) or any(part.get("type") == "tool_use" for part in _parts(entry))


def _parts(entry: Entry) -> list[Mapping[str, Any]]:
    content = entry.get("content")
    if isinstance(content, str) or not isinstance(content, Sequence):
        return []
    return [part for part in content if isinstance(part, Mapping)]


def _is_summary(entry: Entry) -> bool:
    return entry.get("role") in _ASIDE and text_of(entry).startswith(SUMMARY)


def _after_mark(entry: Entry) -> str:
    return text_of(entry).removeprefix(SUMMARY).strip()


def raw(entries: Sequence[Entry], max_chars: int) -> list[str]:
    """Return messages as texts of at most so many characters, a line or more for each message."""
    texts = [""]
    for entry in entries:
        line = f"{entry.get('role', '')}: {text_of(entry)}".strip()
        for start in range(0, len(line), max_chars):
            piece = line[start : start + max_chars]
            if len(texts[-1]) + len(piece) >= max_chars:
                texts.append("")
            texts[-1] = f"{texts[-1]}\n{piece}" if texts[-1] else piece
    return [text for text in texts if text]
