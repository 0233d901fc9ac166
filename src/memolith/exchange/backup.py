"""What `memolith export` writes, and what brings it back unchanged.

One JSON object a line: first `{"type": "memolith", "version": 1, …}`, then every message as it was
stored, the ends of sessions, the base memory in its versions, and every memory with its versions
and events. What is computed (vectors, keywords, strength) is left out and made anew; links between
memories that are near are left out. So are forgotten memories and messages, and of a message of
which something was forgotten only what is left is written.

What the client of a service imports it sends in the same form, with memories that were never
stored among it.
"""

from __future__ import annotations

from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

import msgspec

from memolith.domain.memories import Action, Event, History, Memory, Origin, Source, State, Version
from memolith.domain.messages import Message, Role
from memolith.errors import InvalidInput
from memolith.exchange.jsonl import ImportedMemory, iter_lines
from memolith.exchange.records import BaseMemoryRecord, MemoryRecord, SessionEnd
from memolith.exchange.transcripts import describe_parse_error

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from memolith.exchange.records import Record

EXPORT_VERSION = 1


class _ExportHeader(msgspec.Struct, tag="memolith"):
    version: int
    owner: str
    exported_at: datetime


class _ExportedMessage(
    msgspec.Struct, tag="message", forbid_unknown_fields=True, omit_defaults=True
):
    id: str
    session: str
    sequence: int
    role: Role
    at: datetime
    content: str
    speaker: str | None = None
    external_id: str | None = None


class _ExportedSessionEnd(msgspec.Struct, tag="session-end", forbid_unknown_fields=True):
    session: str
    at: datetime


class _ExportedBaseMemory(msgspec.Struct, tag="base-memory", forbid_unknown_fields=True):
    versions: tuple[tuple[str, datetime], ...]


class _ExportedSource(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    id: str
    of: Literal["message", "memory"] = "message"
    external_id: str | None = None


class _ExportedEvent(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    action: Action
    at: datetime
    by: str
    version: int
    details: dict[str, str] = {}


class _ExportedState(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """A memory's fields, but for the owner and what is computed."""

    kind: str
    content: str
    created_at: datetime
    updated_at: datetime
    key: str | None = None
    summary: str | None = None
    tags: tuple[str, ...] = ()
    importance: float = 0.5
    access_count: int = 0
    accessed_at: datetime | None = None
    happened_at: datetime | None = None
    expires_at: datetime | None = None
    state: State = State.ACTIVE
    superseded_by: str | None = None
    session_id: str | None = None
    sources: tuple[_ExportedSource, ...] = ()
    compressed: bool = False
    origin: Origin = Origin.USER
    version: int = 1
    previous_kind: str | None = None


class _ExportedVersion(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    valid_from: datetime
    memory: _ExportedState
    valid_to: datetime | None = None


class _ExportedMemory(msgspec.Struct, tag="memory", forbid_unknown_fields=True, omit_defaults=True):
    id: str
    memory: _ExportedState
    versions: tuple[_ExportedVersion, ...]
    events: tuple[_ExportedEvent, ...] = ()


class _UnstoredMemory(
    ImportedMemory, tag="remembered", omit_defaults=True, frozen=True, kw_only=True
):
    """A memory that was never stored."""


_ExportLine = (
    _ExportedMessage | _ExportedSessionEnd | _ExportedMemory | _ExportedBaseMemory | _UnstoredMemory
)


def write_export(
    records: Iterable[Record | ImportedMemory], owner: str, now: datetime
) -> Iterator[bytes]:
    """Yield the lines of an export, each with its end of line."""
    encoder = msgspec.json.Encoder()
    yield encoder.encode(_ExportHeader(EXPORT_VERSION, owner, now)) + b"\n"
    for record in records:
        yield encoder.encode(_build_line(record)) + b"\n"


def is_export(file: BinaryIO) -> bool:
    """Whether a file is an export of Memolith; it is left at its start."""
    first = next((line for _, line in iter_lines(file, "")), b"")
    file.seek(0)
    try:
        msgspec.json.decode(first, type=_ExportHeader)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True


def read_export(file: BinaryIO, name: str, owner: str) -> Iterator[Record | ImportedMemory]:
    """Yield what an export holds, for that owner; the whole file is checked before.

    Args:
        file: Can be read twice.
        name: What to call it in errors.
        owner: Whose memories they are to be.

    Raises:
        InvalidInput: A line is not of that form, or the file is of a newer Memolith; the field
            names file and line.
    """
    for _ in _iter_records(file, name, owner):
        pass
    file.seek(0)
    yield from _iter_records(file, name, owner)


def decode_record(line: bytes, owner: str) -> Record | ImportedMemory | None:
    """Return what one line of an export holds, for that owner; None: it is the first.

    Raises:
        InvalidInput: It is no such line.
    """
    try:
        found = msgspec.json.decode(line, type=_ExportHeader | _ExportLine)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidInput("export", describe_parse_error(error)) from None
    return None if isinstance(found, _ExportHeader) else _build_record(found, owner)


def _iter_records(file: BinaryIO, name: str, owner: str) -> Iterator[Record | ImportedMemory]:
    numbered = iter_lines(file, name)
    for place, raw in islice(numbered, 1):
        header = msgspec.json.decode(raw, type=_ExportHeader)
        if header.version != EXPORT_VERSION:
            problem = (
                f"is an export of version {header.version}; this Memolith knows {EXPORT_VERSION}"
            )
            raise InvalidInput(str(place), problem)
    decoder = msgspec.json.Decoder(_ExportLine)
    for place, raw in numbered:
        try:
            line = decoder.decode(raw)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise InvalidInput(str(place), describe_parse_error(error)) from None
        if isinstance(line, _ExportedMemory) and not line.versions:
            raise InvalidInput(str(place), "a memory without a version")
        yield _build_record(line, owner)


def _build_line(record: Record | ImportedMemory) -> _ExportLine:
    if isinstance(record, Message):
        return _build_message_line(record)
    if isinstance(record, SessionEnd):
        return _ExportedSessionEnd(record.session_id, record.at)
    if isinstance(record, BaseMemoryRecord):
        return _ExportedBaseMemory(record.versions)
    if isinstance(record, ImportedMemory):
        return _UnstoredMemory(**_get_struct_fields(record))
    history = record.history
    return _ExportedMemory(
        record.memory.id,
        _build_state(record.memory),
        tuple(
            _ExportedVersion(each.valid_from, _build_state(each.memory), each.valid_to)
            for each in history.versions
        ),
        tuple(
            _ExportedEvent(each.action, each.at, each.actor, each.version, dict(each.details))
            for each in history.events
        ),
    )


def _build_message_line(message: Message) -> _ExportedMessage:
    if message.role is None or message.at is None:
        raise InvalidInput("message", "was not stored: it has no role or no time")
    return _ExportedMessage(
        message.id,
        message.session_id,
        message.sequence,
        message.role,
        message.at,
        message.content,
        message.speaker,
        message.external_id,
    )


def _build_state(memory: Memory) -> _ExportedState:
    fields = {name: getattr(memory, name) for name in _ExportedState.__struct_fields__}
    fields["sources"] = tuple(
        _ExportedSource(each.id, each.record_type, each.external_id) for each in memory.sources
    )
    return _ExportedState(**fields)


def _build_record(line: _ExportLine, owner: str) -> Record | ImportedMemory:
    if isinstance(line, _ExportedMessage):
        return Message(
            line.speaker,
            line.content,
            line.role,
            line.at,
            line.external_id,
            line.id,
            line.session,
            line.sequence,
        )
    if isinstance(line, _ExportedSessionEnd):
        return SessionEnd(line.session, line.at)
    if isinstance(line, _ExportedBaseMemory):
        return BaseMemoryRecord(line.versions)
    if isinstance(line, _UnstoredMemory):
        return ImportedMemory(**_get_struct_fields(line))
    versions = tuple(
        Version(_build_memory(line.id, owner, each.memory), each.valid_from, each.valid_to)
        for each in line.versions
    )
    events = tuple(
        Event(line.id, each.action, each.at, each.by, each.version, each.details)
        for each in line.events
    )
    return MemoryRecord(_build_memory(line.id, owner, line.memory), History(versions, events))


def _get_struct_fields(of: msgspec.Struct) -> dict[str, Any]:
    return {name: getattr(of, name) for name in of.__struct_fields__}


def _build_memory(id_: str, owner: str, state: _ExportedState) -> Memory:
    fields = {name: getattr(state, name) for name in state.__struct_fields__}
    fields["sources"] = tuple(Source(each.id, each.of, each.external_id) for each in state.sources)
    return Memory(id=id_, owner_id=owner, strength=state.importance, **fields)
