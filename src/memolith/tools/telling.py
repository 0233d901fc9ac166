"""What was stored, told to a model: harmless by itself, and fenced from what is around."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memolith.domain.memories import Memory, Origin
from memolith.policies.rendering.defusing import defuse, fenced, shown_name
from memolith.policies.rendering.lines import CLAIMS, said
from memolith.policies.trust import is_claim
from memolith.text.injection import is_suspicious
from memolith.tools.answered import Change, Found, Past, PastVersion

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memolith.domain.memories import History
    from memolith.domain.recall import Recalled

_OPENING, _CLOSING = "<memory>", "</memory>"


def framed(lines: Sequence[str]) -> str:
    """Return lines between marks that none of them can close."""
    return "\n".join([_OPENING, *lines, _CLOSING])


def told(text: str) -> str:
    """Return a stored text as it may be shown: what instructs a model as a quotation."""
    return fenced(text) if is_suspicious(text) else defuse(text)


def told_memory(memory: Memory) -> str:
    """Return what a memory says, and whose claim it is where it is one."""
    return told(memory.content) + (CLAIMS.get(memory.origin, "") if is_claim(memory) else "")


def plain_key(record: object) -> str | None:
    """Return a memory's key, where it can be shown as it is."""
    key = getattr(record, "key", None)
    return key if key is not None and shown_name(key) == key else None


def is_withheld(memory: Memory) -> bool:
    """Tell whether a memory waits for a review before it is recalled."""
    return memory.origin is not Origin.USER and is_suspicious(memory.content)


def found(result: Recalled) -> Found:
    """Return a result as data."""
    record = result.record
    happened = record.happened_at or record.created_at if isinstance(record, Memory) else record.at
    return Found(
        id=result.id,
        key=plain_key(record),
        kind=result.kind,
        text=_text(result),
        at=happened.isoformat() if happened else "",
        score=round(result.score.total, 6),
    )


def line(each: Found) -> str:
    """Return one thing that was found, on a line."""
    name = f"{each.key}: " if each.key else ""
    return f"- {name}{each.text} ({each.kind}, {each.at[:10]}, id {each.id})"


def past(history: History) -> Past:
    """Return a memory's history as data."""
    return Past(
        id=history.versions[-1].memory.id,
        versions=[
            PastVersion(
                version=each.memory.version,
                kind=each.memory.kind,
                text=told_memory(each.memory),
                since=each.valid_from.isoformat(),
                until=each.valid_to.isoformat() if each.valid_to else None,
            )
            for each in history.versions
        ],
        changes=[
            Change(
                action=str(each.action), at=each.at.isoformat(), by=each.by, version=each.version
            )
            for each in history.events
        ],
    )


def past_lines(history: Past) -> list[str]:
    """Return a memory's history, a line each."""
    versions = [
        f"- version {each.version}, from {each.since[:19]}"
        f"{f' to {each.until[:19]}' if each.until else ''}: {each.text}"
        for each in history.versions
    ]
    changes = [f"- {each.at[:19]}: {each.action} by {each.by}" for each in history.changes]
    return [*versions, *changes]


def _text(result: Recalled) -> str:
    """Return what a result says, of a message with who said it."""
    later = " (later changed)" if result.changed_later else ""
    record = result.record
    who = "" if isinstance(record, Memory) else f"{_speaker(record.speaker, record.role)}: "
    return f"{who}{said(result)}{later}"


def _speaker(name: str | None, role: object) -> str:
    return shown_name(name) if name else str(role or "user")
