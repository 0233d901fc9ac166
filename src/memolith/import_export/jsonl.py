"""JSON Lines: messages and memories written by anyone, and exports of Memolith.

The first format has one message or memory a line:

    {"session": "s1", "id": "m1", "speaker": "Ann", "at": "2024-05-08T13:56:00Z", "content": "…"}
    {"type": "memory", "content": "Prefers metric units", "kind": "preference"}

Only `content` is required. The default role follows from the speaker's name, and is the user
without one. The default time is now, the default session "import". The `id` prevents duplicates;
its default is derived from the other fields.

The second format is written by `memolith export`, and restores records unchanged.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any, BinaryIO, Literal

import msgspec

from memolith.domain.memories import Action, Event, History, Memory, Origin, Source, State, Version
from memolith.domain.messages import Message, Role
from memolith.errors import InvalidInput
from memolith.import_export.records import (
    BaseMemoryRecord,
    MemoryRecord,
    Record,
    SessionEnd,
    Transcript,
    describe_parse_error,
)
from memolith.policies import arguments
from memolith.text.cleaning import clean

DEFAULT_IMPORT_SESSION = "import"
IMPORT_BATCH_SIZE = 256
"""Maximum number of messages or records in a batch, which is stored completely or not at all."""


class ImportedMemory(
    msgspec.Struct, tag="memory", forbid_unknown_fields=True, frozen=True, kw_only=True
):
    """A line with a memory. The fields are arguments of `OwnerMemory.remember`."""

    content: str
    kind: str | None = None
    importance: float | None = None
    key: str | None = None
    tags: tuple[str, ...] = ()
    expires_at: datetime | None = None
    happened_at: datetime | None = None
    session: str | None = None
    origin: Origin = Origin.IMPORT


class _MessageLine(msgspec.Struct, tag="message", forbid_unknown_fields=True):
    content: str
    session: str = DEFAULT_IMPORT_SESSION
    speaker: str | None = None
    role: Role | None = None
    at: datetime | None = None
    id: str | None = None


@dataclass(frozen=True, slots=True)
class SourceLine:
    """The source of a value, shown as "FILE:LINE"."""

    name: str
    line: int

    def __str__(self) -> str:
        return f"{self.name}:{self.line}"


def iter_lines(file: BinaryIO, name: str) -> Iterator[tuple[SourceLine, bytes]]:
    """Yield the nonblank lines of a file, without a byte order mark."""
    for number, line in enumerate(file, 1):
        stripped = line.strip().removeprefix(b"\xef\xbb\xbf")
        if stripped:
            yield SourceLine(name, number), stripped


def read_jsonl(file: BinaryIO, name: str) -> Iterator[Transcript | ImportedMemory]:
    """Yield messages, grouped by session, and memories, in the order of lines.

    Checks the whole file before it yields anything.

    Args:
        file: A file that can be read twice.
        name: The file name for errors.

    Raises:
        InvalidInput: A line is invalid. The error's field names file and line.
    """
    for source_line, line in iter_lines(file, name):
        _parse_line(source_line, line)
    file.seek(0)
    yield from _group_messages(file, name)


def _group_messages(file: BinaryIO, name: str) -> Iterator[Transcript | ImportedMemory]:
    seen: Counter[str] = Counter()
    session, messages = "", list[Message]()
    for source_line, raw in iter_lines(file, name):
        line = _parse_line(source_line, raw)
        is_message = isinstance(line, _MessageLine)
        if messages and (
            not is_message or line.session != session or len(messages) == IMPORT_BATCH_SIZE
        ):
            yield Transcript(session, tuple(messages))
            messages = []
        if isinstance(line, _MessageLine):
            session = line.session
            messages.append(_build_message(line, seen))
        else:
            yield line
    if messages:
        yield Transcript(session, tuple(messages))


def _parse_line(source_line: SourceLine, raw: bytes) -> _MessageLine | ImportedMemory:
    try:
        line = _decode_line(raw)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(str(source_line), describe_parse_error(error)) from None
    except RecursionError:
        raise InvalidInput(str(source_line), "is nested too deeply") from None
    times = [at for at in _get_times(line) if at is not None]
    if any(at.tzinfo is None for at in times):
        raise InvalidInput(str(source_line), "a time has no time zone: write 2024-05-08T13:56:00Z")
    try:
        for at in times:
            arguments.check_instant(at, "a time")
        _check_line(line)
    except InvalidInput as error:
        raise InvalidInput(str(source_line), str(error)) from None
    return line


def _check_line(line: _MessageLine | ImportedMemory) -> None:
    """Validate a line as far as possible without a store.

    Raises:
        InvalidInput: A field is invalid.
    """
    clean(line.content, limit=arguments.MAX_MESSAGE_CHARS)
    names = {"session": line.session}
    if isinstance(line, _MessageLine):
        names |= {"speaker": line.speaker, "id": line.id}
    else:
        names |= {"key": line.key}
        arguments.check_tags(line.tags)
        if line.importance is not None:
            arguments.check_share(line.importance, "importance")
    for field, value in names.items():
        if value is not None:
            arguments.check_name(value, field)


def _get_times(line: _MessageLine | ImportedMemory) -> tuple[datetime | None, ...]:
    return (line.at,) if isinstance(line, _MessageLine) else (line.happened_at, line.expires_at)


class _LineType(msgspec.Struct):
    type: str = "message"


_LINE_TYPES = {"message": _MessageLine, "memory": ImportedMemory}


def _decode_line(raw: bytes) -> _MessageLine | ImportedMemory:
    kind = msgspec.json.decode(raw, type=_LineType).type
    if kind not in _LINE_TYPES:
        raise msgspec.ValidationError(
            f"type {arguments.format_value(kind)} is not one of {', '.join(_LINE_TYPES)}"
        )
    line: _MessageLine | ImportedMemory = msgspec.json.decode(raw, type=_LINE_TYPES[kind])
    return line


def _build_message(line: _MessageLine, seen: Counter[str]) -> Message:
    external_id = line.id or _derive_external_id(line, seen)
    return Message(line.speaker, line.content, line.role, line.at, external_id)


def _derive_external_id(line: _MessageLine, seen: Counter[str]) -> str:
    """Return an id derived from the content of a line. Repeated lines are numbered."""
    digest = hashlib.blake2b(msgspec.json.encode(line), digest_size=12).hexdigest()
    seen[digest] += 1
    return f"line:{digest}:{seen[digest]}"


# --- Exports of Memolith


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
    """The fields of a memory, except the owner and computed fields."""

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
    """A memory that has not been stored yet."""


_ExportLine = (
    _ExportedMessage | _ExportedSessionEnd | _ExportedMemory | _ExportedBaseMemory | _UnstoredMemory
)


def write_export(
    records: Iterable[Record | ImportedMemory], owner: str, now: datetime
) -> Iterator[bytes]:
    """Yield the lines of an export, each with a newline."""
    encoder = msgspec.json.Encoder()
    yield encoder.encode(_ExportHeader(EXPORT_VERSION, owner, now)) + b"\n"
    for record in records:
        yield encoder.encode(_build_line(record)) + b"\n"


def is_export(file: BinaryIO) -> bool:
    """Return whether a file is an export of Memolith, and rewind the file."""
    first = next((line for _, line in iter_lines(file, "")), b"")
    file.seek(0)
    try:
        msgspec.json.decode(first, type=_ExportHeader)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True


def read_export(file: BinaryIO, name: str, owner: str) -> Iterator[Record | ImportedMemory]:
    """Yield the records of an export for an owner. Checks the whole file first.

    Args:
        file: A file that can be read twice.
        name: The file name for errors.
        owner: The owner of the records.

    Raises:
        InvalidInput: A line is invalid, or the file is from a newer Memolith. The error's field
            names file and line.
    """
    for _ in _iter_records(file, name, owner):
        pass
    file.seek(0)
    yield from _iter_records(file, name, owner)


def decode_record(line: bytes, owner: str) -> Record | ImportedMemory | None:
    """Return the record of one line of an export for an owner. None: the header line.

    Raises:
        InvalidInput: The line is invalid.
    """
    try:
        record = msgspec.json.decode(line, type=_ExportHeader | _ExportLine)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidInput("export", describe_parse_error(error)) from None
    return None if isinstance(record, _ExportHeader) else _build_record(record, owner)


def _iter_records(file: BinaryIO, name: str, owner: str) -> Iterator[Record | ImportedMemory]:
    numbered = iter_lines(file, name)
    for source_line, raw in islice(numbered, 1):
        header = msgspec.json.decode(raw, type=_ExportHeader)
        if header.version != EXPORT_VERSION:
            problem = (
                f"is an export of version {header.version}; this Memolith supports {EXPORT_VERSION}"
            )
            raise InvalidInput(str(source_line), problem)
    decoder = msgspec.json.Decoder(_ExportLine)
    for source_line, raw in numbered:
        try:
            line = decoder.decode(raw)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise InvalidInput(str(source_line), describe_parse_error(error)) from None
        if isinstance(line, _ExportedMemory) and not line.versions:
            raise InvalidInput(str(source_line), "a memory has no version")
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
        raise InvalidInput("message", "was never stored: it has no role or no time")
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


def _get_struct_fields(struct: msgspec.Struct) -> dict[str, Any]:
    return {name: getattr(struct, name) for name in struct.__struct_fields__}


def _build_memory(id_: str, owner: str, state: _ExportedState) -> Memory:
    fields = {name: getattr(state, name) for name in state.__struct_fields__}
    fields["sources"] = tuple(Source(each.id, each.of, each.external_id) for each in state.sources)
    return Memory(id=id_, owner_id=owner, strength=state.importance, **fields)
