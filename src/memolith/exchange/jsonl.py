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
from memolith.exchange.transcripts import Transcript, problem_of
from memolith.policies import arguments
from memolith.text.cleaning import clean

if TYPE_CHECKING:
    from collections.abc import Iterator

SESSION = "import"
STRETCH = 256
"""The most messages of a session to take at once: whole batches are kept if it is stopped."""


class Remembered(
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


class _Line(msgspec.Struct, tag="message", forbid_unknown_fields=True):
    content: str
    session: str = SESSION
    speaker: str | None = None
    role: Role | None = None
    at: datetime | None = None
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value stands: "FILE:LINE"."""

    name: str
    line: int

    def __str__(self) -> str:
        return f"{self.name}:{self.line}"


def lines(file: BinaryIO, name: str) -> Iterator[tuple[Place, bytes]]:
    """Yield the lines that are not blank; a mark of byte order before the first is no part."""
    for number, line in enumerate(file, 1):
        stripped = line.strip().removeprefix(b"\xef\xbb\xbf")
        if stripped:
            yield Place(name, number), stripped


def read(file: BinaryIO, name: str) -> Iterator[Transcript | Remembered]:
    """Yield messages, in stretches of one session, and memories, in the order of the lines.

    The whole file is checked before anything is yielded.

    Args:
        file: Can be read twice.
        name: What to call it in errors.

    Raises:
        InvalidInput: A line is not of that form; the field names file and line.
    """
    for place, line in lines(file, name):
        _parsed(place, line)
    file.seek(0)
    yield from _stretches(file, name)


def _stretches(file: BinaryIO, name: str) -> Iterator[Transcript | Remembered]:
    seen: Counter[str] = Counter()
    session, stretch = "", list[Message]()
    for place, raw in lines(file, name):
        line = _parsed(place, raw)
        is_message = isinstance(line, _Line)
        if stretch and (not is_message or line.session != session or len(stretch) == STRETCH):
            yield Transcript(session, tuple(stretch))
            stretch = []
        if isinstance(line, _Line):
            session = line.session
            stretch.append(_message(line, seen))
        else:
            yield line
    if stretch:
        yield Transcript(session, tuple(stretch))


def _parsed(place: Place, raw: bytes) -> _Line | Remembered:
    try:
        line = _decoded(raw)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(str(place), problem_of(error)) from None
    except RecursionError:
        raise InvalidInput(str(place), "is nested too deeply") from None
    times = [at for at in _times(line) if at is not None]
    if any(at.tzinfo is None for at in times):
        raise InvalidInput(str(place), "a time needs its zone, such as 2024-05-08T13:56:00Z")
    try:
        for at in times:
            arguments.instant(at, "a time")
        _check(line)
    except InvalidInput as error:
        raise InvalidInput(str(place), str(error)) from None
    return line


def _check(line: _Line | Remembered) -> None:
    """Check what can be checked without a store.

    Raises:
        InvalidInput: A field can't be taken.
    """
    clean(line.content, limit=arguments.MAX_MESSAGE_CHARS)
    names = {"session": line.session}
    if isinstance(line, _Line):
        names |= {"speaker": line.speaker, "id": line.id}
    else:
        names |= {"key": line.key}
        arguments.tags(line.tags)
        if line.importance is not None:
            arguments.share(line.importance, "importance")
    for field, value in names.items():
        if value is not None:
            arguments.name(value, field)


def _times(line: _Line | Remembered) -> tuple[datetime | None, ...]:
    return (line.at,) if isinstance(line, _Line) else (line.happened_at, line.expires_at)


class _Kind(msgspec.Struct):
    type: str = "message"


_TYPES = {"message": _Line, "memory": Remembered}


def _decoded(raw: bytes) -> _Line | Remembered:
    kind = msgspec.json.decode(raw, type=_Kind).type
    if kind not in _TYPES:
        raise msgspec.ValidationError(
            f"type {arguments.shown(kind)} is none of {', '.join(_TYPES)}"
        )
    line: _Line | Remembered = msgspec.json.decode(raw, type=_TYPES[kind])
    return line


def _message(line: _Line, seen: Counter[str]) -> Message:
    external_id = line.id or _made_up(line, seen)
    return Message(line.speaker, line.content, line.role, line.at, external_id)


def _made_up(line: _Line, seen: Counter[str]) -> str:
    """Name a message by what it says: the same at every reading; a repetition gets a number."""
    digest = hashlib.blake2b(msgspec.json.encode(line), digest_size=12).hexdigest()
    seen[digest] += 1
    return f"line:{digest}:{seen[digest]}"
