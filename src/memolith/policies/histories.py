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

from memolith.policies.rendering.defusing import told_lines

Entry = Mapping[str, Any]

SUMMARY = "[Context Summary]"
"""What the message begins with that stands for what was made shorter."""

KEEP = 4
"""How many of the newest messages stay as they are."""

SUMMARY_SHARE = 0.25
"""The share of the context window that all summaries of a history together may take: half of
what it may take as a whole before it is made shorter. A guess."""

CALL_CHARS = 200
"""How much of what a tool is called with is told. A guess."""

_ASIDE = ("system", "developer")
_ENTRY = "ctx_"
_DIGEST_BYTES, _UUID_BYTES = 6, 16


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


def unique_of(new_id: str, last: str) -> str:
    """Return what tells an entry from others: a UUID whose end is made of what it ends with.

    By `mark_of` it is known again, in a history that comes whole, where the entry ends.

    Args:
        new_id: An id that nothing else has.
        last: The last message that the entry stands for, as `told_of` tells it, without secrets.
    """
    size = _UUID_BYTES - _DIGEST_BYTES
    made = blake2b(new_id.encode(), digest_size=size).digest() + bytes.fromhex(mark(last))
    return str(UUID(bytes=made, version=4))


def mark(told: str) -> str:
    """Return the mark of a message: twelve hexadecimal digits."""
    return blake2b(told.encode(), digest_size=_DIGEST_BYTES).hexdigest()


def mark_of(key: str) -> str:
    """Return the mark of the last message that the entry with this key stands for."""
    return key[-2 * _DIGEST_BYTES :]


@dataclass(frozen=True, slots=True)
class Done:
    """How much of a history was made shorter before.

    Attributes:
        messages: So many of its first, after what its caller says to the model.
        entries: So many of the conversation's entries stand for these.
    """

    messages: int = 0
    entries: int = 0


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

    @property
    def since(self) -> tuple[Entry, ...]:
        """What was said since it was made shorter last, when the newest messages were kept."""
        is_first = not (self.summary or self.done)
        return (*self.new, *self.kept)[0 if is_first else KEEP :]


def done_of(
    history: Sequence[Entry], consolidated: int, marks: Sequence[str], read: Callable[[Entry], str]
) -> Done:
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
    start = _first_said(history)
    said = history[start:]
    if not marks or any(_is_summary(each) for each in history[:start]):
        return Done()
    if 0 < consolidated <= len(said) and mark(read(said[consolidated - 1])) == marks[-1]:
        return Done(consolidated, len(marks))
    places: dict[str, int] = {}
    for place, entry in enumerate(said):
        places.setdefault(mark(read(entry)), place)
    for count in range(len(marks), 0, -1):
        if marks[count - 1] in places:
            return Done(places[marks[count - 1]] + 1, count)
    return Done()


def apart(history: Sequence[Entry], done: int, keep: int = KEEP) -> Parts:
    """Take a history apart.

    Kept are at least the last message of the user and what follows; a call of a tool is never
    parted from its results.

    Args:
        history: In order.
        done: How many of its messages were made shorter before (`done_of`).
        keep: How many of the newest stay.
    """
    start = _first_said(history)
    head = tuple(each for each in history[:start] if not _is_summary(each))
    summary = "\n".join(_after_mark(each) for each in history[:start] if _is_summary(each))
    said = history[start:]
    cut = _cut(said, keep)
    done = min(done, cut)
    return Parts(head, summary, done, tuple(said[done:cut]), tuple(said[cut:]))


def shortened(parts: Parts, summary: str) -> list[Entry]:
    """Return a history that says a summary in the place of all that it stands for.

    It stands in a turn of the system's, where what tools and users said has no say: it is made
    harmless, and what of it tries to instruct a model is a quotation.
    """
    said = "\n".join(told_lines(summary))
    told: list[Entry] = [{"role": "system", "content": f"{SUMMARY} {said}"}] if said else []
    return [*parts.head, *told, *parts.kept]


def fitting(lines: Sequence[str], costs: Sequence[int], room: float) -> list[str]:
    """Return the newest lines that fit a room together, in order; the newest in any case."""
    if not lines:
        return []
    held = list(accumulate(reversed(costs)))
    count = max(1, sum(cost <= room for cost in held))
    return list(lines[len(lines) - count :])


def text_of(entry: object) -> str:
    """Return what a message says; of parts, those that are text, in results of tools too."""
    content = _of(entry, "content")
    if isinstance(content, str):
        return content
    texts = (
        text_of(part) if _of(part, "type") == "tool_result" else _text(part)
        for part in _parts(entry)
    )
    return "\n".join(filter(None, texts))


def told_of(entry: Entry) -> str:
    """Return what a message says, which tools it calls and how, and what it holds besides."""
    besides = (
        f"[{_of(part, 'type')}]"
        for part in _parts(entry)
        if not _text(part) and _of(part, "type") not in (None, "text", "tool_use", "tool_result")
    )
    return "\n".join(filter(None, (text_of(entry), *besides, *map(_call, _calls(entry)))))


def turns_of(entries: Sequence[Entry]) -> int:
    """Return how many turns these are: how often the user speaks."""
    return sum(map(speaks, entries))


def speaks(entry: Entry) -> bool:
    """Tell whether a message is the user's own, and not a tool's result in the user's name."""
    return entry.get("role") == "user" and (not _is_result(entry) or any(map(_text, _parts(entry))))


def raw(texts: Sequence[str], max_chars: int) -> list[str]:
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


def _first_said(history: Sequence[Entry]) -> int:
    for place, entry in enumerate(history):
        if entry.get("role") not in _ASIDE:
            return place
    return len(history)


def _cut(said: Sequence[Entry], keep: int) -> int:
    """Return how many of the messages may go."""
    last = next((place for place in range(len(said) - 1, -1, -1) if speaks(said[place])), None)
    cut = max(0, len(said) - keep)
    cut = cut if last is None else min(cut, last)
    while 0 < cut < len(said) and (_is_result(said[cut]) or _calls(said[cut - 1])):
        cut -= 1
    return cut


def _is_result(entry: Entry) -> bool:
    if entry.get("role") in ("tool", "function"):
        return True
    return any(_of(part, "type") == "tool_result" for part in _parts(entry))


def _calls(entry: Entry) -> list[object]:
    """Return the calls of tools in a message, in the manner of OpenAI or of Anthropic."""
    called = entry.get("tool_calls")
    uses = [part for part in _parts(entry) if _of(part, "type") == "tool_use"]
    found = [*(called if isinstance(called, list | tuple) else [called]), *uses]
    return [each for each in (*found, entry.get("function_call")) if each]


def _call(call: object) -> str:
    named = _of(call, "function") or call
    given = _of(named, "arguments") or _of(named, "input") or ""
    return f"[calls {_of(named, 'name')}: {given}"[:CALL_CHARS] + "]"


def _parts(entry: object) -> list[object]:
    """Return the parts of a message's content; a client's own objects are parts too."""
    content = _of(entry, "content")
    return list(content) if isinstance(content, list | tuple) else []


def _text(part: object) -> str:
    text = part if isinstance(part, str) else _of(part, "text")
    return text if isinstance(text, str) else ""


def _of(value: object, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


def _is_summary(entry: Entry) -> bool:
    return entry.get("role") in _ASIDE and text_of(entry).startswith(SUMMARY)


def _after_mark(entry: Entry) -> str:
    return text_of(entry).removeprefix(SUMMARY).strip()
