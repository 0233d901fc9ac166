"""Implementation of the memory tools: arguments, results as text and as data."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import NamedTuple, TypeVar

from memolith.api.owner import OwnerMemory
from memolith.domain.memories import EPISODE, History, Memory, Origin
from memolith.domain.recall import RecalledItem
from memolith.errors import InvalidInput, NotFound
from memolith.policies.rendering.layout import (
    CLAIM_NOTES,
    escape_name,
    escape_text,
    quote_text,
    render_result,
)
from memolith.policies.trust import can_have_kind, is_claim
from memolith.profiles.standard import HEADINGS
from memolith.text.injection import is_suspicious
from memolith.text.secrets import REDACTED
from memolith.tools import schemas
from memolith.tools.schemas import HistoryChange, HistoryOutput, HistoryVersion, MemoryMatch

_DATE_DIGITS = 8


def parse_instant(value: float | str | None, field: str) -> datetime | None:
    """Return the datetime of a Unix time in seconds or an ISO 8601 string.

    A string without a time zone is UTC. A numeric string is a Unix time, unless it has eight
    digits, which are a date.

    Raises:
        InvalidInput: The value is neither.
    """
    if value is None:
        return None
    try:
        return _parse_seconds(float(value)) if _is_number(value) else _parse_iso(str(value))
    except (ValueError, OverflowError, OSError) as error:
        problem = "must be a Unix time in seconds or ISO 8601, such as 2026-03-01T12:00:00Z"
        raise InvalidInput(field, problem) from error


def _is_number(value: float | str) -> bool:
    if not isinstance(value, str):
        return True
    if len(value.strip()) == _DATE_DIGITS:
        return False
    try:
        float(value)
    except ValueError:
        return False
    return True


def _parse_seconds(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _parse_iso(text: str) -> datetime:
    found = datetime.fromisoformat(text.strip())
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)


# --- Categories


KNOWLEDGE, TIMELINE = "knowledge", "timeline"

_FACT, _SUMMARY = "fact", "summary"

_EPISODE_PROFILE = "standard"
"""The profile that recalls messages verbatim."""


class StorageTarget(NamedTuple):
    """Kind and tags of a new memory."""

    kind: str
    tags: tuple[str, ...] = ()


class SearchTarget(NamedTuple):
    """Kinds (None for all) and tags to search."""

    kinds: frozenset[str] | None = None
    tags: tuple[str, ...] = ()


def get_storage_target(memory: OwnerMemory, category: str) -> StorageTarget:
    """Return kind and tags of an assistant's memory in a category."""
    name = _normalise_category(category)
    own = _find_kind(memory, name)
    if own is not None and can_have_kind(Origin.ASSISTANT, own):
        return StorageTarget(own)
    ordinary = memory.equivalent_kind(_FACT)
    if own is not None:  # only users may store this kind
        return StorageTarget(ordinary, (name,))
    if name == KNOWLEDGE:
        return StorageTarget(ordinary)
    return (
        StorageTarget(memory.equivalent_kind(_SUMMARY))
        if name == TIMELINE
        else StorageTarget(ordinary, (name,))
    )


def get_search_target(memory: OwnerMemory, category: str) -> SearchTarget:
    """Return kinds and tags of the memories in a category."""
    name = _normalise_category(category)
    own = _find_kind(memory, name)
    if own is not None and can_have_kind(Origin.ASSISTANT, own):
        return SearchTarget(frozenset({own}))
    if own is not None:
        return SearchTarget(frozenset({own, memory.equivalent_kind(_FACT)}))
    if name == KNOWLEDGE:
        known = (memory.equivalent_kind(kind) for kind in HEADINGS if kind != _SUMMARY)
        return SearchTarget(frozenset(known))
    if name == TIMELINE:
        messages = {EPISODE} if memory.profile() == _EPISODE_PROFILE else set()
        return SearchTarget(frozenset({memory.equivalent_kind(_SUMMARY)} | messages))
    return SearchTarget(tags=(name,))


def _normalise_category(category: str) -> str:
    return category.strip().casefold()


def _find_kind(memory: OwnerMemory, name: str) -> str | None:
    try:
        return memory.equivalent_kind(name)
    except InvalidInput:
        return None


# --- Text for models: neutralised and fenced


_OPENING, _CLOSING = "<memory>", "</memory>"


def frame_lines(lines: Sequence[str]) -> str:
    """Return lines between delimiters that none of them can close."""
    return "\n".join([_OPENING, *lines, _CLOSING])


def neutralise(text: str) -> str:
    """Return a stored text with instructions to a model shown as quotations."""
    return quote_text(text) if is_suspicious(text) else escape_text(text)


def format_memory(memory: Memory) -> str:
    """Return a memory's text, with its source if it is not the user."""
    return neutralise(memory.content) + (
        CLAIM_NOTES.get(memory.origin, "") if is_claim(memory) else ""
    )


def get_displayable_key(record: object) -> str | None:
    """Return a memory's key if it can be shown unchanged."""
    key = getattr(record, "key", None)
    return key if key is not None and escape_name(key) == key else None


def is_quarantined(memory: Memory) -> bool:
    """Return whether a memory is quarantined as a suspected prompt injection."""
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
    """Return a result as a line of text."""
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
    """Return a memory's history, one line per version and event."""
    versions = [
        f"- version {each.version}, from {each.since[:19]}"
        f"{f' to {each.until[:19]}' if each.until else ''}: {each.text}"
        for each in history.versions
    ]
    changes = [f"- {each.at[:19]}: {each.action} by {each.by}" for each in history.changes]
    return [*versions, *changes]


def _format_result(result: RecalledItem) -> str:
    """Return a result's text, with the speaker of a message."""
    later = " (later changed)" if result.changed_later else ""
    record = result.record
    who = "" if isinstance(record, Memory) else f"{_format_speaker(record.speaker, record.role)}: "
    return f"{who}{render_result(result)}{later}"


def _format_speaker(name: str | None, role: object) -> str:
    return escape_name(name) if name else str(role or "user")


# --- Tools


T = TypeVar("T")

NO_RESULTS = "Nothing is remembered about that."
LIKELY_UNANSWERABLE_NOTE = (
    "It may be that nothing of this answers the query: it is what came nearest."
)

_QUARANTINE_NOTE = (
    " It reads like an instruction to a model: it is not recalled until somebody reviews it."
)
_REDACTION_NOTE = " A secret in it was not kept."


def store(memory: OwnerMemory, arguments: schemas.StoreMemory) -> tuple[str, schemas.StoreOutput]:
    """Store a memory under a key, with the assistant as its source."""
    place = get_storage_target(memory, arguments.category)
    kept = memory.remember(
        arguments.content,
        key=arguments.key,
        kind=place.kind,
        tags=place.tags,
        importance=arguments.importance,
        origin=Origin.ASSISTANT,
    )
    withheld = is_quarantined(kept)
    key = get_displayable_key(kept)
    lost = REDACTED in kept.content and REDACTED not in arguments.content
    text = (
        f"Stored as version {kept.version} of {key or kept.id} ({kept.kind})."
        f"{_QUARANTINE_NOTE if withheld else ''}{_REDACTION_NOTE if lost else ''}"
    )
    return text, schemas.StoreOutput(
        id=kept.id, key=key, kind=kept.kind, version=kept.version, quarantined=withheld
    )


def recall(
    memory: OwnerMemory, arguments: schemas.RecallMemories
) -> tuple[str, schemas.RecallOutput]:
    """Recall relevant memories."""
    places = (
        get_search_target(memory, arguments.category) if arguments.category is not None else None
    )
    result = memory.recall(
        arguments.query,
        top_k=arguments.limit,
        kinds=places.kinds if places else None,
        tags=places.tags or None if places else None,
        since=parse_instant(arguments.since, "since"),
        until=parse_instant(arguments.until, "until"),
    )
    memories = [build_match(each) for each in result.memories]
    text = frame_lines([format_match(each) for each in memories]) if memories else NO_RESULTS
    if memories and result.likely_unanswerable:
        text = f"{LIKELY_UNANSWERABLE_NOTE}\n{text}"
    return text, schemas.RecallOutput(
        memories=memories,
        relevance=result.relevance,
        likely_unanswerable=result.likely_unanswerable,
    )


def forget(
    memory: OwnerMemory, arguments: schemas.ForgetMemory
) -> tuple[str, schemas.ForgetOutput]:
    """Forget a memory."""
    gone = _find_by_key_or_id(arguments.key, lambda key: memory.forget(key=key), memory.forget)
    text = f"Forgotten. Memories: {len(gone.memories)}; messages changed: {len(gone.messages)}."
    return text, schemas.ForgetOutput(memories=list(gone.memories), messages=list(gone.messages))


def context(
    memory: OwnerMemory, arguments: schemas.MemoryContext
) -> tuple[str, schemas.ContextOutput]:
    """Return relevant memories as text for a prompt."""
    made = memory.context_with_results(arguments.query, token_budget=arguments.token_budget)
    data = schemas.ContextOutput(
        text=made.text, tokens=made.tokens, memories=[each.id for each in made.results]
    )
    return made.text or NO_RESULTS, data


def history(
    memory: OwnerMemory, arguments: schemas.MemoryHistory
) -> tuple[str, schemas.HistoryOutput]:
    """Return a memory's history."""
    known = _find_by_key_or_id(arguments.key, lambda key: memory.history(key=key), memory.history)
    past = build_history(known)
    return frame_lines(format_history(past)), past


def _find_by_key_or_id(name: str, by_key: Callable[[str], T], by_id: Callable[[str], T]) -> T:
    """Return the record with a key, otherwise with an id.

    Raises:
        NotFound: No record has this key or id.
    """
    try:
        return by_key(name)
    except NotFound:
        if not _is_id(name):
            raise
    return by_id(name)


def _is_id(name: str) -> bool:
    try:
        uuid.UUID(name)
    except ValueError:
        return False
    return True
