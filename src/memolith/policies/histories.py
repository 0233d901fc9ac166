"""Histories that a caller holds: what of one may be made shorter, and how it reads then.

A history is what chat services take: mappings with `role`, `content` and, where tools are used,
`tool_calls` and `tool_call_id`. What stays of it stays untouched.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import accumulate
from typing import Any
from uuid import UUID

from memolith.policies.rendering.layout import render_document_lines

HistoryMessage = Mapping[str, Any]

SUMMARY_MARK = "[Context Summary]"
"""What the message begins with that stands for what was made shorter."""

KEPT_MESSAGES = 4
"""How many of the newest messages stay as they are."""

SUMMARY_SHARE = 0.25
"""The share of the context window that all summaries of a history together may take: half of
what it may take as a whole before it is made shorter. A guess."""

MAX_CALL_CHARS = 200
"""How much of what a tool is called with is told. A guess."""

_INSTRUCTION_ROLES = ("system", "developer")
_ENTRY_PREFIX = "ctx_"
_DIGEST_BYTES, _UUID_BYTES = 6, 16


def build_entry_key(session_id: str, unique: str = "") -> str:
    """Return the key of an entry that stands for a part of a history; or what all of them share.

    Args:
        session_id: The conversation.
        unique: Tells it from the others of that conversation; empty: what theirs begin with.
    """
    return f"{_ENTRY_PREFIX}{session_id}_{unique}"


def is_entry(key: str | None) -> bool:
    """Tell whether a memory with that key stands for a part of a history."""
    return key is not None and key.startswith(_ENTRY_PREFIX)


def build_unique_suffix(new_id: str, last_message: str) -> str:
    """Return what tells an entry from others: a UUID whose end is made of what it ends with.

    By `mark_of` it is known again, in a history that comes whole, where the entry ends.

    Args:
        new_id: An id that nothing else has.
        last: The last message that the entry stands for, as `told_of` tells it, without secrets.
    """
    size = _UUID_BYTES - _DIGEST_BYTES
    made = blake2b(new_id.encode(), digest_size=size).digest() + bytes.fromhex(
        digest_message(last_message)
    )
    return str(UUID(bytes=made, version=4))


def digest_message(message: str) -> str:
    """Return the mark of a message: twelve hexadecimal digits."""
    return blake2b(message.encode(), digest_size=_DIGEST_BYTES).hexdigest()


def get_entry_digest(key: str) -> str:
    """Return the mark of the last message that the entry with this key stands for."""
    return key[-2 * _DIGEST_BYTES :]


@dataclass(frozen=True, slots=True)
class CompressedPrefix:
    """How much of a history was made shorter before.

    Attributes:
        messages: So many of its first, after what its caller says to the model.
        entries: So many of the conversation's entries stand for these.
    """

    messages: int = 0
    entries: int = 0


@dataclass(frozen=True, slots=True)
class HistoryParts:
    """A history, taken apart.

    Attributes:
        head: What its caller says to the model, before all.
        summary: What an earlier shortening left; empty where there is none.
        done: How many of the messages after that were made shorter already, and come again.
        new: Messages to make shorter.
        kept: The newest messages, that stay.
    """

    head: tuple[HistoryMessage, ...]
    summary: str
    compressed_count: int
    new: tuple[HistoryMessage, ...]
    kept: tuple[HistoryMessage, ...]

    @property
    def messages_since(self) -> tuple[HistoryMessage, ...]:
        """What was said since it was made shorter last, when the newest messages were kept."""
        is_first = not (self.summary or self.compressed_count)
        return (*self.new, *self.kept)[0 if is_first else KEPT_MESSAGES :]


def find_compressed_prefix(
    history: Sequence[HistoryMessage],
    consolidated: int,
    digests: Sequence[str],
    describe: Callable[[HistoryMessage], str],
) -> CompressedPrefix:
    """Return how much of a history was made shorter before.

    One that bears a summary holds none of it any more. Of one that comes whole each time it is
    told by the message that an entry ends with: in another history of the same conversation's
    name, and in one that its caller has cut, a mere number would name other messages.

    Args:
        history: In order.
        consolidated: How many messages of the conversation were made shorter, as it was kept.
        marks: Of the conversation's entries, oldest first.
        read: Returns a message as it was marked.
    """
    start = _find_first_message(history)
    said = history[start:]
    if not digests or any(_is_summary(each) for each in history[:start]):
        return CompressedPrefix()
    if (
        0 < consolidated <= len(said)
        and digest_message(describe(said[consolidated - 1])) == digests[-1]
    ):
        return CompressedPrefix(consolidated, len(digests))
    places: dict[str, int] = {}
    for place, entry in enumerate(said):
        places.setdefault(digest_message(describe(entry)), place)
    for count in range(len(digests), 0, -1):
        if digests[count - 1] in places:
            return CompressedPrefix(places[digests[count - 1]] + 1, count)
    return CompressedPrefix()


def split_history(
    history: Sequence[HistoryMessage], compressed_count: int, kept_count: int = KEPT_MESSAGES
) -> HistoryParts:
    """Take a history apart.

    Kept are at least the last message of the user and what follows; a call of a tool is never
    parted from its results.

    Args:
        history: In order.
        done: How many of its messages were made shorter before (`done_of`).
        keep: How many of the newest stay.
    """
    start = _find_first_message(history)
    head = tuple(each for each in history[:start] if not _is_summary(each))
    summary = "\n".join(_strip_mark(each) for each in history[:start] if _is_summary(each))
    said = history[start:]
    cut = _find_cut(said, kept_count)
    compressed_count = min(compressed_count, cut)
    return HistoryParts(
        head, summary, compressed_count, tuple(said[compressed_count:cut]), tuple(said[cut:])
    )


def replace_with_summary(parts: HistoryParts, summary: str) -> list[HistoryMessage]:
    """Return a history that says a summary in the place of all that it stands for.

    It stands in a turn of the system's, where what tools and users said has no say: it is made
    harmless, and what of it tries to instruct a model is a quotation.
    """
    said = "\n".join(render_document_lines(summary))
    told: list[HistoryMessage] = (
        [{"role": "system", "content": f"{SUMMARY_MARK} {said}"}] if said else []
    )
    return [*parts.head, *told, *parts.kept]


def select_newest(lines: Sequence[str], costs: Sequence[int], budget: float) -> list[str]:
    """Return the newest lines that fit a room together, in order; the newest in any case."""
    if not lines:
        return []
    held = list(accumulate(reversed(costs)))
    count = max(1, sum(cost <= budget for cost in held))
    return list(lines[len(lines) - count :])


def get_text(entry: object) -> str:
    """Return what a message says; of parts, those that are text, in results of tools too."""
    content = _get_field(entry, "content")
    if isinstance(content, str):
        return content
    texts = (
        get_text(part) if _get_field(part, "type") == "tool_result" else _get_part_text(part)
        for part in _get_parts(entry)
    )
    return "\n".join(filter(None, texts))


def describe_message(entry: HistoryMessage) -> str:
    """Return what a message says, which tools it calls and how, and what it holds besides."""
    besides = (
        f"[{_get_field(part, 'type')}]"
        for part in _get_parts(entry)
        if not _get_part_text(part)
        and _get_field(part, "type") not in (None, "text", "tool_use", "tool_result")
    )
    return "\n".join(
        filter(None, (get_text(entry), *besides, *map(_describe_call, _get_calls(entry))))
    )


def count_turns(entries: Sequence[HistoryMessage]) -> int:
    """Return how many turns these are: how often the user speaks."""
    return sum(map(is_user_message, entries))


def is_user_message(entry: HistoryMessage) -> bool:
    """Tell whether a message is the user's own, and not a tool's result in the user's name."""
    return entry.get("role") == "user" and (
        not _is_tool_result(entry) or any(map(_get_part_text, _get_parts(entry)))
    )


def pack_texts(texts: Sequence[str], max_chars: int) -> list[str]:
    """Return texts together in as few as they fit in, each of at most so many characters.

    Each begins a line of its own.
    """
    made = [""]
    for text in texts:
        line = text.strip()
        for start in range(0, len(line), max_chars):
            piece = line[start : start + max_chars]
            if len(made[-1]) + len(piece) >= max_chars:
                made.append("")
            made[-1] = f"{made[-1]}\n{piece}" if made[-1] else piece
    return [text for text in made if text]


def _find_first_message(history_messages: Sequence[HistoryMessage]) -> int:
    for place, entry in enumerate(history_messages):
        if entry.get("role") not in _INSTRUCTION_ROLES:
            return place
    return len(history_messages)


def _find_cut(messages: Sequence[HistoryMessage], keep: int) -> int:
    """Return how many of the messages may go."""
    last = next(
        (place for place in range(len(messages) - 1, -1, -1) if is_user_message(messages[place])),
        None,
    )
    cut = max(0, len(messages) - keep)
    cut = cut if last is None else min(cut, last)
    while 0 < cut < len(messages) and (
        _is_tool_result(messages[cut]) or _get_calls(messages[cut - 1])
    ):
        cut -= 1
    return cut


def _is_tool_result(entry: HistoryMessage) -> bool:
    if entry.get("role") in ("tool", "function"):
        return True
    return any(_get_field(part, "type") == "tool_result" for part in _get_parts(entry))


def _get_calls(entry: HistoryMessage) -> list[object]:
    """Return the calls of tools in a message, in the manner of OpenAI or of Anthropic."""
    called = entry.get("tool_calls")
    uses = [part for part in _get_parts(entry) if _get_field(part, "type") == "tool_use"]
    found = [*(called if isinstance(called, list | tuple) else [called]), *uses]
    return [each for each in (*found, entry.get("function_call")) if each]


def _describe_call(call: object) -> str:
    named = _get_field(call, "function") or call
    given = _get_field(named, "arguments") or _get_field(named, "input") or ""
    return f"[calls {_get_field(named, 'name')}: {given}"[:MAX_CALL_CHARS] + "]"


def _get_parts(entry: object) -> list[object]:
    """Return the parts of a message's content; a client's own objects are parts too."""
    content = _get_field(entry, "content")
    return list(content) if isinstance(content, list | tuple) else []


def _get_part_text(part: object) -> str:
    text = part if isinstance(part, str) else _get_field(part, "text")
    return text if isinstance(text, str) else ""


def _get_field(value: object, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


def _is_summary(entry: HistoryMessage) -> bool:
    return entry.get("role") in _INSTRUCTION_ROLES and get_text(entry).startswith(SUMMARY_MARK)


def _strip_mark(entry: HistoryMessage) -> str:
    return get_text(entry).removeprefix(SUMMARY_MARK).strip()
