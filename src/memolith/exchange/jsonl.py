"""Messages and memories, one JSON object a line, as anybody can write them.

    {"session": "s1", "id": "m1", "speaker": "Ann", "at": "2024-05-08T13:56:00Z", "content": "…"}
    {"type": "memory", "content": "Prefers metric units", "kind": "preference"}

(What `memolith export` writes is another form: see `backup`.) Of a message only `content` is
needed.
Without a role it follows from the speaker's name, and without both it is the user; without `at` it
is said now; `session` is "import" if it is not given; `id` makes sure that the same message
is not taken twice, and is made of all else that the line says where it is missing.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, BinaryIO

import msgspec

from memolith.domain.memories import Origin
from memolith.domain.messages import Message, Role
from memolith.errors import InvalidInput
from memolith.exchange.transcripts import Transcript, describe_parse_error
from memolith.policies import arguments
from memolith.text.cleaning import clean

if TYPE_CHECKING:
    from collections.abc import Iterator

DEFAULT_IMPORT_SESSION = "import"
IMPORT_BATCH_SIZE = 256
"""The most messages of a session to take at once: whole batches are kept if it is stopped."""


class ImportedMemory(
    msgspec.Struct, tag="memory", forbid_unknown_fields=True, frozen=True, kw_only=True
):
    """A line that is a memory; the fields are those of `Memolith.remember`."""

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
    """Where a value stands: "FILE:LINE"."""

    name: str
    line: int

    def __str__(self) -> str:
        return f"{self.name}:{self.line}"


def iter_lines(file: BinaryIO, name: str) -> Iterator[tuple[SourceLine, bytes]]:
    """Yield the lines that are not blank; a mark of byte order before the first is no part."""
    for number, line in enumerate(file, 1):
        stripped = line.strip().removeprefix(b"\xef\xbb\xbf")
        if stripped:
            yield SourceLine(name, number), stripped


def read_jsonl(file: BinaryIO, name: str) -> Iterator[Transcript | ImportedMemory]:
    """Yield messages, in stretches of one session, and memories, in the order of the lines.

    The whole file is checked before anything is yielded.

    Args:
        file: Can be read twice.
        name: What to call it in errors.

    Raises:
        InvalidInput: A line is not of that form; the field names file and line.
    """
    for place, line in iter_lines(file, name):
        _parse_line(place, line)
    file.seek(0)
    yield from _group_messages(file, name)


def _group_messages(file: BinaryIO, name: str) -> Iterator[Transcript | ImportedMemory]:
    seen: Counter[str] = Counter()
    session, stretch = "", list[Message]()
    for place, raw in iter_lines(file, name):
        line = _parse_line(place, raw)
        is_message = isinstance(line, _MessageLine)
        if stretch and (
            not is_message or line.session != session or len(stretch) == IMPORT_BATCH_SIZE
        ):
            yield Transcript(session, tuple(stretch))
            stretch = []
        if isinstance(line, _MessageLine):
            session = line.session
            stretch.append(_build_message(line, seen))
        else:
            yield line
    if stretch:
        yield Transcript(session, tuple(stretch))


def _parse_line(place: SourceLine, raw: bytes) -> _MessageLine | ImportedMemory:
    try:
        line = _decode_line(raw)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(str(place), describe_parse_error(error)) from None
    except RecursionError:
        raise InvalidInput(str(place), "is nested too deeply") from None
    times = [at for at in _get_times(line) if at is not None]
    if any(at.tzinfo is None for at in times):
        raise InvalidInput(str(place), "a time needs its zone, such as 2024-05-08T13:56:00Z")
    try:
        for at in times:
            arguments.check_instant(at, "a time")
        _check_line(line)
    except InvalidInput as error:
        raise InvalidInput(str(place), str(error)) from None
    return line


def _check_line(line: _MessageLine | ImportedMemory) -> None:
    """Check what can be checked without a store.

    Raises:
        InvalidInput: A field can't be taken.
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
            f"type {arguments.format_value(kind)} is none of {', '.join(_LINE_TYPES)}"
        )
    line: _MessageLine | ImportedMemory = msgspec.json.decode(raw, type=_LINE_TYPES[kind])
    return line


def _build_message(line: _MessageLine, seen: Counter[str]) -> Message:
    external_id = line.id or _derive_external_id(line, seen)
    return Message(line.speaker, line.content, line.role, line.at, external_id)


def _derive_external_id(line: _MessageLine, seen: Counter[str]) -> str:
    """Name a message by what it says: the same at every reading; a repetition gets a number."""
    digest = hashlib.blake2b(msgspec.json.encode(line), digest_size=12).hexdigest()
    seen[digest] += 1
    return f"line:{digest}:{seen[digest]}"
