"""Checking the records of an import: what is taken in must be as if it had been stored here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from memolith.domain.memories import Event, History, Memory, Version
from memolith.domain.messages import Message, Role
from memolith.errors import InvalidInput
from memolith.exchange.records import Chronicle, Document, Ending
from memolith.policies import arguments, ids
from memolith.services.base_memory import MAX_CHARS
from memolith.services.screening import screened, screened_name, screened_tags
from memolith.text.screening import REDACTED, redact

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from memolith.exchange.records import Record

_MOST = (1 << 31) - 1
"""The highest version and access count taken: far over any real one, far under what overflows."""


def checked(records: object, *, max_memory_chars: int) -> list[Record]:
    """Return records as they are stored: ids in their usual form, times in UTC, texts screened.

    Raises:
        InvalidInput: A record can't be taken; the field says which, by its place.
    """
    if not isinstance(records, Iterable):
        raise InvalidInput("records", f"must be a list, not {type(records).__name__}")
    return [
        _record(record, f"records[{place}]", max_memory_chars)
        for place, record in enumerate(records)
    ]


def taken_out(given: Sequence[object], records: Sequence[Record]) -> dict[str, int]:
    """Return how many secrets `checked` took out of each message and memory, by its id."""
    pairs = zip(given, records, strict=True)
    return {
        after.memory.id if isinstance(after, Chronicle) else after.id: (
            _redactions_in(after) - _redactions_in(before)
        )
        for before, after in pairs
        if isinstance(after, (Message, Chronicle))
    }


def _redactions_in(record: object) -> int:
    if isinstance(record, Message):
        return record.content.count(REDACTED)
    if isinstance(record, Chronicle):
        return sum(each.memory.content.count(REDACTED) for each in record.history.versions)
    return 0


def _record(record: object, field: str, limit: int) -> Record:
    if isinstance(record, Message):
        return _message(record, field)
    if isinstance(record, Ending):
        session = screened_name(record.session_id, f"{field}.session")
        return Ending(session, arguments.instant(record.at, f"{field}.at"))
    if isinstance(record, Document):
        return Document(
            tuple(
                (
                    _text(content, field, MAX_CHARS),
                    arguments.instant(since, f"{field}.valid_from"),
                )
                for content, since in record.versions
            )
        )
    if isinstance(record, Chronicle):
        return _chronicle(record, field, limit)
    raise InvalidInput(field, f"must be what an export gives, not {type(record).__name__}")


def _message(message: Message, field: str) -> Message:
    return replace(
        message,
        id=ids.parse(message.id, f"{field}.id"),
        session_id=screened_name(message.session_id, f"{field}.session"),
        speaker=_name(message.speaker, f"{field}.speaker"),
        content=_text(message.content, field, arguments.MAX_MESSAGE_CHARS),
        role=_role(message.role, f"{field}.role"),
        at=arguments.instant(message.at, f"{field}.at"),
        external_id=_name(message.external_id, f"{field}.external_id"),
    )


def _role(role: object, field: str) -> Role:
    if not isinstance(role, Role):
        raise InvalidInput(field, f"must be one of {', '.join(Role)}")
    return role


def _chronicle(chronicle: Chronicle, field: str, limit: int) -> Chronicle:
    memory = _memory(chronicle.memory, field, limit)
    versions = tuple(
        Version(
            replace(_memory(each.memory, field, limit), id=memory.id),
            arguments.instant(each.valid_from, f"{field}.valid_from"),
            _instant(each.valid_to, f"{field}.valid_to"),
        )
        for each in chronicle.history.versions
    )
    if not versions:
        raise InvalidInput(field, "a memory without a version")
    events = tuple(_event(each, memory.id, field) for each in chronicle.history.events)
    return Chronicle(memory, History(versions, events))


def _event(event: Event, record_id: str, field: str) -> Event:
    return replace(
        event,
        record_id=record_id,
        by=screened_name(event.by, f"{field}.events.by"),
        details=_details(event.details, f"{field}.events.details"),
        at=arguments.instant(event.at, f"{field}.events.at"),
        version=_count(event.version, f"{field}.events.version", least=1),
    )


def _details(details: object, field: str) -> dict[str, str]:
    if not isinstance(details, Mapping):
        raise InvalidInput(field, f"must be names and texts, not {type(details).__name__}")
    return {screened_name(name, field): redact(str(value))[0] for name, value in details.items()}


def _memory(memory: Memory, field: str, limit: int) -> Memory:
    return replace(
        memory,
        id=ids.parse(memory.id, f"{field}.id"),
        kind=screened_name(memory.kind, f"{field}.kind"),
        content=_text(memory.content, field, limit),
        summary=None if memory.summary is None else redact(memory.summary)[0],
        key=_name(memory.key, f"{field}.key"),
        tags=screened_tags(memory.tags),
        importance=arguments.share(memory.importance, f"{field}.importance"),
        access_count=_count(memory.access_count, f"{field}.access_count", least=0),
        version=_count(memory.version, f"{field}.version", least=1),
        session_id=_name(memory.session_id, f"{field}.session_id"),
        superseded_by=_id(memory.superseded_by, f"{field}.superseded_by"),
        sources=tuple(
            replace(
                each,
                id=ids.parse(each.id, f"{field}.sources"),
                external_id=_name(each.external_id, f"{field}.sources"),
            )
            for each in memory.sources
        ),
        created_at=arguments.instant(memory.created_at, f"{field}.created_at"),
        updated_at=arguments.instant(memory.updated_at, f"{field}.updated_at"),
        accessed_at=_instant(memory.accessed_at, f"{field}.accessed_at"),
        happened_at=_instant(memory.happened_at, f"{field}.happened_at"),
        expires_at=_instant(memory.expires_at, f"{field}.expires_at"),
    )


def _text(content: str, field: str, limit: int) -> str:
    return screened(content, field=f"{field}.content", limit=limit)[0]


def _name(value: str | None, field: str) -> str | None:
    return None if value is None else screened_name(value, field)


def _id(value: str | None, field: str) -> str | None:
    return None if value is None else ids.parse(value, field)


def _instant(value: datetime | None, field: str) -> datetime | None:
    return None if value is None else arguments.instant(value, field)


def _count(value: int, field: str, *, least: int) -> int:
    return arguments.count(value, field, least=least, most=_MOST)
