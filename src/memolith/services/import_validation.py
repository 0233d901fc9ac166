"""Validates the records of an import by the rules for new records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from memolith.domain.memories import Event, History, Memory, Version
from memolith.domain.messages import Message, Role
from memolith.errors import InvalidInput
from memolith.import_export.records import BaseMemoryRecord, MemoryRecord, Record, SessionEnd
from memolith.policies import arguments
from memolith.services.base_memory import MAX_BASE_MEMORY_CHARS
from memolith.services.validation import clean_and_redact, validate_name, validate_tags
from memolith.text.screening import REDACTED, redact

_MAX_COUNT = (1 << 31) - 1
"""The maximum version and access count: far above real ones, far below integer overflow."""


def validate_records(records: object, *, max_memory_chars: int) -> list[Record]:
    """Return records as they are stored: ids normalised, times in UTC, secrets redacted.

    Raises:
        InvalidInput: A record is not valid; the field contains its position.
    """
    if not isinstance(records, Iterable):
        raise InvalidInput("records", f"must be a list, not {type(records).__name__}")
    return [
        _validate_record(record, f"records[{place}]", max_memory_chars)
        for place, record in enumerate(records)
    ]


def count_redactions(originals: Sequence[object], records: Sequence[Record]) -> dict[str, int]:
    """Return the number of secrets that `validate_records` redacted in each record, by id."""
    pairs = zip(originals, records, strict=True)
    return {
        after.memory.id if isinstance(after, MemoryRecord) else after.id: (
            _count_record_redactions(after) - _count_record_redactions(before)
        )
        for before, after in pairs
        if isinstance(after, (Message, MemoryRecord))
    }


def _count_record_redactions(record: object) -> int:
    if isinstance(record, Message):
        return record.content.count(REDACTED)
    if isinstance(record, MemoryRecord):
        return sum(each.memory.content.count(REDACTED) for each in record.history.versions)
    return 0


def _validate_record(record: object, field: str, limit: int) -> Record:
    if isinstance(record, Message):
        return _validate_message(record, field)
    if isinstance(record, SessionEnd):
        session = validate_name(record.session_id, f"{field}.session")
        return SessionEnd(session, arguments.check_instant(record.at, f"{field}.at"))
    if isinstance(record, BaseMemoryRecord):
        return BaseMemoryRecord(
            tuple(
                (
                    _validate_text(content, field, MAX_BASE_MEMORY_CHARS),
                    arguments.check_instant(since, f"{field}.valid_from"),
                )
                for content, since in record.versions
            )
        )
    if isinstance(record, MemoryRecord):
        return _validate_history(record, field, limit)
    raise InvalidInput(field, f"must be a record of an export, not {type(record).__name__}")


def _validate_message(message: Message, field: str) -> Message:
    return replace(
        message,
        id=arguments.parse_id(message.id, f"{field}.id"),
        session_id=validate_name(message.session_id, f"{field}.session"),
        speaker=_validate_optional_name(message.speaker, f"{field}.speaker"),
        content=_validate_text(message.content, field, arguments.MAX_MESSAGE_CHARS),
        role=_validate_role(message.role, f"{field}.role"),
        at=arguments.check_instant(message.at, f"{field}.at"),
        external_id=_validate_optional_name(message.external_id, f"{field}.external_id"),
    )


def _validate_role(role: object, field: str) -> Role:
    if not isinstance(role, Role):
        raise InvalidInput(field, f"must be one of {', '.join(Role)}")
    return role


def _validate_history(chronicle: MemoryRecord, field: str, limit: int) -> MemoryRecord:
    memory = _validate_memory(chronicle.memory, field, limit)
    versions = tuple(
        Version(
            replace(_validate_memory(each.memory, field, limit), id=memory.id),
            arguments.check_instant(each.valid_from, f"{field}.valid_from"),
            _validate_optional_instant(each.valid_to, f"{field}.valid_to"),
        )
        for each in chronicle.history.versions
    )
    if not versions:
        raise InvalidInput(field, "must have at least one version")
    events = tuple(_validate_event(each, memory.id, field) for each in chronicle.history.events)
    return MemoryRecord(memory, History(versions, events))


def _validate_event(event: Event, record_id: str, field: str) -> Event:
    return replace(
        event,
        record_id=record_id,
        actor=validate_name(event.actor, f"{field}.events.by"),
        details=_validate_details(event.details, f"{field}.events.details"),
        at=arguments.check_instant(event.at, f"{field}.events.at"),
        version=_validate_count(event.version, f"{field}.events.version", least=1),
    )


def _validate_details(details: object, field: str) -> dict[str, str]:
    if not isinstance(details, Mapping):
        raise InvalidInput(field, f"must map names to text, not {type(details).__name__}")
    return {validate_name(name, field): redact(str(value))[0] for name, value in details.items()}


def _validate_memory(memory: Memory, field: str, limit: int) -> Memory:
    return replace(
        memory,
        id=arguments.parse_id(memory.id, f"{field}.id"),
        kind=validate_name(memory.kind, f"{field}.kind"),
        content=_validate_text(memory.content, field, limit),
        summary=None if memory.summary is None else redact(memory.summary)[0],
        key=_validate_optional_name(memory.key, f"{field}.key"),
        tags=validate_tags(memory.tags),
        importance=arguments.check_share(memory.importance, f"{field}.importance"),
        access_count=_validate_count(memory.access_count, f"{field}.access_count", least=0),
        version=_validate_count(memory.version, f"{field}.version", least=1),
        session_id=_validate_optional_name(memory.session_id, f"{field}.session_id"),
        superseded_by=_validate_optional_id(memory.superseded_by, f"{field}.superseded_by"),
        sources=tuple(
            replace(
                each,
                id=arguments.parse_id(each.id, f"{field}.sources"),
                external_id=_validate_optional_name(each.external_id, f"{field}.sources"),
            )
            for each in memory.sources
        ),
        created_at=arguments.check_instant(memory.created_at, f"{field}.created_at"),
        updated_at=arguments.check_instant(memory.updated_at, f"{field}.updated_at"),
        accessed_at=_validate_optional_instant(memory.accessed_at, f"{field}.accessed_at"),
        happened_at=_validate_optional_instant(memory.happened_at, f"{field}.happened_at"),
        expires_at=_validate_optional_instant(memory.expires_at, f"{field}.expires_at"),
    )


def _validate_text(content: str, field: str, limit: int) -> str:
    return clean_and_redact(content, field=f"{field}.content", limit=limit)[0]


def _validate_optional_name(value: str | None, field: str) -> str | None:
    return None if value is None else validate_name(value, field)


def _validate_optional_id(value: str | None, field: str) -> str | None:
    return None if value is None else arguments.parse_id(value, field)


def _validate_optional_instant(value: datetime | None, field: str) -> datetime | None:
    return None if value is None else arguments.check_instant(value, field)


def _validate_count(value: int, field: str, *, least: int) -> int:
    return arguments.check_count(value, field, minimum=least, maximum=_MAX_COUNT)
