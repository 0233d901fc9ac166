"""Split chat histories that callers hold, for compression, and insert summaries.

A history is a list of chat messages: mappings with `role`, `content` and, for tools, `tool_calls`
and `tool_call_id`. Messages that remain are unchanged.
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
"""Prefix of the message that replaces compressed messages."""

KEPT_MESSAGES = 4
"""Number of newest messages that are never compressed."""

SUMMARY_SHARE = 0.25
"""Maximum share of the context window for all summaries of a history: half of the share at which it
is compressed. A guess.
"""

MAX_CALL_CHARS = 200
"""Maximum length of the description of a tool call, in characters. A guess."""

_INSTRUCTION_ROLES = ("system", "developer")
_ENTRY_PREFIX = "ctx_"
_DIGEST_BYTES, _UUID_BYTES = 6, 16


def build_entry_key(session_id: str, unique: str = "") -> str:
    """Return the key of an entry that replaces a part of a history.

    Args:
        session_id: The conversation.
        unique: Distinguishes the entries of the conversation; empty: return their common prefix.
    """
    return f"{_ENTRY_PREFIX}{session_id}_{unique}"


def is_entry(key: str | None) -> bool:
    """Return whether a key belongs to an entry that replaces a part of a history."""
    return key is not None and key.startswith(_ENTRY_PREFIX)


def build_unique_suffix(new_id: str, last_message: str) -> str:
    """Return a unique suffix for an entry key: a UUID that ends with a message digest.

    `find_compressed_prefix` uses the digest to find the end of the entry in a complete history.

    Args:
        new_id: An unused id.
        last_message: The last message of the entry, as `describe_message` returns it, redacted.
    """
    size = _UUID_BYTES - _DIGEST_BYTES
    digest = blake2b(new_id.encode(), digest_size=size).digest() + bytes.fromhex(
        digest_message(last_message)
    )
    return str(UUID(bytes=digest, version=4))


def digest_message(message: str) -> str:
    """Return the digest of a message: twelve hexadecimal digits."""
    return blake2b(message.encode(), digest_size=_DIGEST_BYTES).hexdigest()


def get_entry_digest(key: str) -> str:
    """Return the digest of the last message of the entry with this key."""
    return key[-2 * _DIGEST_BYTES :]


@dataclass(frozen=True, slots=True)
class CompressedPrefix:
    """The part of a history that is already compressed.

    Attributes:
        messages: Number of leading messages, after the caller's instructions.
        entries: Number of entries that replace them.
    """

    messages: int = 0
    entries: int = 0


@dataclass(frozen=True, slots=True)
class HistoryParts:
    """The parts of a history.

    Attributes:
        head: The caller's instructions at the beginning.
        summary: Summary of an earlier compression, or "".
        compressed_count: Number of following messages that are already compressed.
        new: Messages to compress.
        kept: The newest messages, which remain.
    """

    head: tuple[HistoryMessage, ...]
    summary: str
    compressed_count: int
    new: tuple[HistoryMessage, ...]
    kept: tuple[HistoryMessage, ...]

    @property
    def messages_since(self) -> tuple[HistoryMessage, ...]:
        """The messages since the last compression, which kept the newest messages."""
        is_first = not (self.summary or self.compressed_count)
        return (*self.new, *self.kept)[0 if is_first else KEPT_MESSAGES :]


def find_compressed_prefix(
    history: Sequence[HistoryMessage],
    consolidated: int,
    digests: Sequence[str],
    describe: Callable[[HistoryMessage], str],
) -> CompressedPrefix:
    """Return the part of a history that is already compressed.

    A history with a summary no longer contains it. A complete history is matched by the digest of
    an entry's last message: a mere count would be wrong for another history under the same session
    id, or for one that the caller has truncated.

    Args:
        history: Messages in order.
        consolidated: Stored number of compressed messages of the conversation.
        digests: Digests of the conversation's entries, oldest first.
        describe: Returns the text of a message from which its digest was computed.
    """
    start = _find_first_message(history)
    entries = history[start:]
    if not digests or any(_is_summary(each) for each in history[:start]):
        return CompressedPrefix()
    if (
        0 < consolidated <= len(entries)
        and digest_message(describe(entries[consolidated - 1])) == digests[-1]
    ):
        return CompressedPrefix(consolidated, len(digests))
    places: dict[str, int] = {}
    for place, entry in enumerate(entries):
        places.setdefault(digest_message(describe(entry)), place)
    for count in range(len(digests), 0, -1):
        if digests[count - 1] in places:
            return CompressedPrefix(places[digests[count - 1]] + 1, count)
    return CompressedPrefix()


def split_history(
    history: Sequence[HistoryMessage], compressed_count: int, kept_count: int = KEPT_MESSAGES
) -> HistoryParts:
    """Split a history into its parts.

    The last user message and everything after it is kept. A tool call is never separated from its
    results.

    Args:
        history: Messages in order.
        compressed_count: Number of messages already compressed; see `find_compressed_prefix`.
        kept_count: Number of newest messages to keep.
    """
    start = _find_first_message(history)
    head = tuple(each for each in history[:start] if not _is_summary(each))
    summary = "\n".join(_strip_mark(each) for each in history[:start] if _is_summary(each))
    entries = history[start:]
    cut = _find_cut(entries, kept_count)
    compressed_count = min(compressed_count, cut)
    return HistoryParts(
        head, summary, compressed_count, tuple(entries[compressed_count:cut]), tuple(entries[cut:])
    )


def replace_with_summary(parts: HistoryParts, summary: str) -> list[HistoryMessage]:
    """Return a history with a summary in place of the messages that it replaces.

    The summary is part of a system message, so it is escaped: text from tools and users that tries
    to instruct the model becomes a quotation.
    """
    text = "\n".join(render_document_lines(summary))
    summary_messages: list[HistoryMessage] = (
        [{"role": "system", "content": f"{SUMMARY_MARK} {text}"}] if text else []
    )
    return [*parts.head, *summary_messages, *parts.kept]


def select_newest(lines: Sequence[str], costs: Sequence[int], budget: float) -> list[str]:
    """Return the newest lines that fit the budget, in order; at least the newest."""
    if not lines:
        return []
    totals = list(accumulate(reversed(costs)))
    count = max(1, sum(cost <= budget for cost in totals))
    return list(lines[len(lines) - count :])


def get_text(entry: object) -> str:
    """Return the text of a message; of a list of parts, its text parts, including tool results."""
    content = _get_field(entry, "content")
    if isinstance(content, str):
        return content
    texts = (
        get_text(part) if _get_field(part, "type") == "tool_result" else _get_part_text(part)
        for part in _get_parts(entry)
    )
    return "\n".join(filter(None, texts))


def describe_message(entry: HistoryMessage) -> str:
    """Return the text of a message, its tool calls, and placeholders for its other parts."""
    fields = (
        f"[{_get_field(part, 'type')}]"
        for part in _get_parts(entry)
        if not _get_part_text(part)
        and _get_field(part, "type") not in (None, "text", "tool_use", "tool_result")
    )
    return "\n".join(
        filter(None, (get_text(entry), *fields, *map(_describe_call, _get_calls(entry))))
    )


def count_turns(entries: Sequence[HistoryMessage]) -> int:
    """Return the number of turns, which is that of user messages."""
    return sum(map(is_user_message, entries))


def is_user_message(entry: HistoryMessage) -> bool:
    """Return whether a message is the user's own, not a tool result with the user role."""
    return entry.get("role") == "user" and (
        not _is_tool_result(entry) or any(map(_get_part_text, _get_parts(entry)))
    )


def pack_texts(texts: Sequence[str], max_chars: int) -> list[str]:
    """Join texts, one per line, into as few texts of at most `max_chars` characters as possible."""
    packed = [""]
    for text in texts:
        line = text.strip()
        for start in range(0, len(line), max_chars):
            piece = line[start : start + max_chars]
            if len(packed[-1]) + len(piece) >= max_chars:
                packed.append("")
            packed[-1] = f"{packed[-1]}\n{piece}" if packed[-1] else piece
    return [text for text in packed if text]


def _find_first_message(history_messages: Sequence[HistoryMessage]) -> int:
    for place, entry in enumerate(history_messages):
        if entry.get("role") not in _INSTRUCTION_ROLES:
            return place
    return len(history_messages)


def _find_cut(messages: Sequence[HistoryMessage], keep: int) -> int:
    """Return the number of messages that may be compressed."""
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
    """Return the tool calls of a message, in the format of OpenAI or Anthropic."""
    called = entry.get("tool_calls")
    uses = [part for part in _get_parts(entry) if _get_field(part, "type") == "tool_use"]
    calls = [*(called if isinstance(called, list | tuple) else [called]), *uses]
    return [each for each in (*calls, entry.get("function_call")) if each]


def _describe_call(call: object) -> str:
    function = _get_field(call, "function") or call
    arguments = _get_field(function, "arguments") or _get_field(function, "input") or ""
    return f"[calls {_get_field(function, 'name')}: {arguments}"[:MAX_CALL_CHARS] + "]"


def _get_parts(entry: object) -> list[object]:
    """Return the parts of a message's content; a client library's own objects are parts too."""
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
