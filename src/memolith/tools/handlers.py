"""Times as agents write them."""

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
    """Return the instant that a Unix time in seconds, or a text of ISO 8601, names.

    A text without a zone is UTC; one that is a number is a Unix time, unless it has the eight
    digits of a date.

    Raises:
        InvalidInput: It names none.
    """
    if value is None:
        return None
    try:
        return _parse_seconds(float(value)) if _is_number(value) else _parse_iso(str(value))
    except (ValueError, OverflowError, OSError) as error:
        problem = "must be Unix seconds, or ISO 8601 such as 2026-03-01T12:00:00Z"
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


# --- What a tool's category is in the owner's profile


KNOWLEDGE, TIMELINE = "knowledge", "timeline"

_FACT, _SUMMARY = "fact", "summary"

_EPISODE_PROFILE = "standard"
"""The profile that recalls messages as they were said."""


class StorageTarget(NamedTuple):
    """Where a new memory goes: its kind, and its tags."""

    kind: str
    tags: tuple[str, ...] = ()


class SearchTarget(NamedTuple):
    """Where memories are looked for: of which kinds (None: all), with which tags."""

    kinds: frozenset[str] | None = None
    tags: tuple[str, ...] = ()


def get_storage_target(memory: OwnerMemory, category: str) -> StorageTarget:
    """Return where an assistant's memory of a category goes."""
    name = _normalise_category(category)
    own = _find_kind(memory, name)
    if own is not None and can_have_kind(Origin.ASSISTANT, own):
        return StorageTarget(own)
    ordinary = memory.equivalent_kind(_FACT)
    if own is not None:  # what only the user may say is kept as what it is, with a label
        return StorageTarget(ordinary, (name,))
    if name == KNOWLEDGE:
        return StorageTarget(ordinary)
    return (
        StorageTarget(memory.equivalent_kind(_SUMMARY))
        if name == TIMELINE
        else StorageTarget(ordinary, (name,))
    )


def get_search_target(memory: OwnerMemory, category: str) -> SearchTarget:
    """Return where memories of a category are."""
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


# --- What was stored, told to a model: harmless by itself, and fenced from what is around


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


# --- What each tool does with an owner's memory


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
    """Store a memory under a key, as what the assistant says."""
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
    """Find what is relevant."""
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
    """Take a memory out of every door."""
    gone = _find_by_key_or_id(arguments.key, lambda key: memory.forget(key=key), memory.forget)
    text = f"Forgotten. Memories: {len(gone.memories)}; messages changed: {len(gone.messages)}."
    return text, schemas.ForgetOutput(memories=list(gone.memories), messages=list(gone.messages))


def context(
    memory: OwnerMemory, arguments: schemas.MemoryContext
) -> tuple[str, schemas.ContextOutput]:
    """Put together what is known that matters to a question."""
    made = memory.context_with_results(arguments.query, token_budget=arguments.token_budget)
    data = schemas.ContextOutput(
        text=made.text, tokens=made.tokens, memories=[each.id for each in made.results]
    )
    return made.text or NO_RESULTS, data


def history(
    memory: OwnerMemory, arguments: schemas.MemoryHistory
) -> tuple[str, schemas.HistoryOutput]:
    """Tell how a memory came to be what it is."""
    known = _find_by_key_or_id(arguments.key, lambda key: memory.history(key=key), memory.history)
    past = build_history(known)
    return frame_lines(format_history(past)), past


def _find_by_key_or_id(name: str, by_key: Callable[[str], T], by_id: Callable[[str], T]) -> T:
    """Return what is of that key, or else of that id.

    Raises:
        NotFound: There is nothing of either.
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
