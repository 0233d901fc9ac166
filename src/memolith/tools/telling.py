"""What was stored, told to a model: harmless by itself, and fenced from what is around."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memolith.domain.memories import Memory, Origin
from memolith.policies.rendering.defusing import escape_name, escape_text, quote_text
from memolith.policies.rendering.lines import CLAIM_NOTES, render_result
from memolith.policies.trust import is_claim
from memolith.text.injection import is_suspicious
from memolith.tools.answered import HistoryChange, HistoryOutput, HistoryVersion, MemoryMatch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memolith.domain.memories import History
    from memolith.domain.recall import RecalledItem

_OPENING, _CLOSING = "<memory>", "</memory>"


def frame_lines(lines: Sequence[str]) -> str:
    """Return lines between marks that none of them can close."""
    return "\n".join([_OPENING, *lines, _CLOSING])


def neutralise(text: str) -> str:
    """Return a stored text as it may be shown: what instructs a model as a quotation."""
    return quote_text(text) if is_suspicious(text) else escape_text(text)


def format_memory(memory: Memory) -> str:
    """Return what a memory says, and whose claim it is where it is one."""
    return neutralise(memory.content) + (
        CLAIM_NOTES.get(memory.origin, "") if is_claim(memory) else ""
    )


def get_displayable_key(record: object) -> str | None:
    """Return a memory's key, where it can be shown as it is."""
    key = getattr(record, "key", None)
    return key if key is not None and escape_name(key) == key else None


def is_quarantined(memory: Memory) -> bool:
    """Tell whether a memory waits for a review before it is recalled."""
    return memory.origin is not Origin.USER and is_suspicious(memory.content)


def build_match(result: RecalledItem) -> MemoryMatch:
    """Return a result as data."""
    record = result.record
    happened = record.happened_at or record.created_at if isinstance(record, Memory) else record.at
    return MemoryMatch(
        id=result.id,
        key=get_displayable_key(record),
        kind=result.kind,
        text=_format_result(result),
        at=happened.isoformat() if happened else "",
        score=round(result.score.total, 6),
    )


def format_match(match: MemoryMatch) -> str:
    """Return one thing that was found, on a line."""
    name = f"{match.key}: " if match.key else ""
    return f"- {name}{match.text} ({match.kind}, {match.at[:10]}, id {match.id})"


def build_history(history: History) -> HistoryOutput:
    """Return a memory's history as data."""
    return HistoryOutput(
        id=history.versions[-1].memory.id,
        versions=[
            HistoryVersion(
                version=each.memory.version,
                kind=each.memory.kind,
                text=format_memory(each.memory),
                since=each.valid_from.isoformat(),
                until=each.valid_to.isoformat() if each.valid_to else None,
            )
            for each in history.versions
        ],
        changes=[
            HistoryChange(
                action=str(each.action), at=each.at.isoformat(), by=each.actor, version=each.version
            )
            for each in history.events
        ],
    )


def format_history(history: HistoryOutput) -> list[str]:
    """Return a memory's history, a line each."""
    versions = [
        f"- version {each.version}, from {each.since[:19]}"
        f"{f' to {each.until[:19]}' if each.until else ''}: {each.text}"
        for each in history.versions
    ]
    changes = [f"- {each.at[:19]}: {each.action} by {each.by}" for each in history.changes]
    return [*versions, *changes]


def _format_result(result: RecalledItem) -> str:
    """Return what a result says, of a message with who said it."""
    later = " (later changed)" if result.changed_later else ""
    record = result.record
    who = "" if isinstance(record, Memory) else f"{_format_speaker(record.speaker, record.role)}: "
    return f"{who}{render_result(result)}{later}"


def _format_speaker(name: str | None, role: object) -> str:
    return escape_name(name) if name else str(role or "user")
