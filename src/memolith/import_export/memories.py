"""Readers of memories from other programs, for audits only.

`mem0` is the JSON of its `get_all()`: {"results": [{"id": …, "memory": …}, …]}, or the list alone.
`jsonl` has a JSON string a line, or an object with its text under "memory", "content", "text" or
"data". `memolith` is an export of Memolith; only its active memories are read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, BinaryIO, Final, Literal, TypeAlias

import msgspec

from memolith.domain.memories import Origin, State
from memolith.domain.reports import AuditEntry
from memolith.errors import InvalidInput
from memolith.import_export import jsonl
from memolith.import_export.files import iter_elements
from memolith.import_export.jsonl import iter_lines
from memolith.import_export.records import MemoryRecord, convert_json, describe_parse_error
from memolith.text.screening import redact

MemoryFormat: TypeAlias = Literal["mem0", "jsonl", "memolith"]
MEMORY_FORMATS: Final[tuple[MemoryFormat, ...]] = ("mem0", "jsonl", "memolith")

_LIST_KEYS = ("results", "memories")
_OTHER_LINE_TYPES = frozenset({"message", "session-end", "base-memory"})
_ORIGINS = {each.value: each for each in Origin}


class _MemoryItem(msgspec.Struct):
    """A memory, with the field names of several programs."""

    memory: str | None = None
    content: str | None = None
    text: str | None = None
    data: str | None = None
    id: str | int | None = None
    key: str | None = None
    role: str | None = None
    origin: str | None = None
    type: str | None = None

    @property
    def first_text(self) -> str | None:
        """The text of the memory."""
        texts = (self.memory, self.content, self.text, self.data)
        return next((each for each in texts if each is not None), None)


def read_memories(
    file: BinaryIO, name: str, format_: MemoryFormat | None = None
) -> Iterator[AuditEntry]:
    """Yield the memories of a file in order, with secrets redacted.

    Args:
        file: A file that can be read twice.
        name: The file name for errors.
        format_: The format. None: detected from the first line.

    Raises:
        InvalidInput: The file has another format. The error's field names file and line.
    """
    readers = {"mem0": _read_mem0, "jsonl": _read_memory_lines, "memolith": _read_export}
    for entry in readers[format_ or detect_format(file)](file, name):
        key = None if entry.key is None else redact(entry.key)[0]
        yield replace(entry, id=redact(entry.id)[0], text=redact(entry.text)[0], key=key)


def detect_format(file: BinaryIO) -> MemoryFormat:
    """Return the format of a file, detected from its first line, and rewind the file."""
    if jsonl.is_export(file):
        return "memolith"
    first = next((line for _, line in iter_lines(file, "")), b"")
    file.seek(0)
    if first.startswith(b"["):
        return "mem0"
    if not first.startswith(b"{"):
        return "jsonl"
    try:
        parsed = msgspec.json.decode(first)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        # An object on several lines, or invalid JSON. JSON Lines would end with a brace.
        return "jsonl" if first.endswith(b"}") else "mem0"
    return "mem0" if _find_list(parsed) is not None else "jsonl"


def _read_mem0(file: BinaryIO, name: str) -> Iterator[AuditEntry]:
    first = next((line for _, line in iter_lines(file, "")), b"")
    file.seek(0)
    if first.startswith(b"["):
        for line, element in iter_elements(file, name):
            yield _build_audited_memory(
                f"{name}:{line}", convert_json(f"{name}:{line}", element, _MemoryItem)
            )
        return
    elements = _find_list(_parse_document(file, name))
    if elements is None:
        raise InvalidInput(name, f"has no list named {' or '.join(map(repr, _LIST_KEYS))}")
    for number, element in enumerate(elements, 1):
        where = f"{name}, memory {number}"
        yield _build_audited_memory(where, convert_json(where, element, _MemoryItem))


def _find_list(document: object) -> list[Any] | None:
    if not isinstance(document, dict):
        return None
    return next((document[key] for key in _LIST_KEYS if isinstance(document.get(key), list)), None)


def _parse_document(file: BinaryIO, name: str) -> object:
    try:
        return json.loads(file.read().decode("utf-8-sig"))
    except json.JSONDecodeError as error:
        raise InvalidInput(f"{name}:{error.lineno}", error.msg.lower()) from None
    except UnicodeDecodeError as error:
        raise InvalidInput(name, "is not UTF-8 text") from error
    except RecursionError:
        raise InvalidInput(name, "is nested too deeply") from None
    except ValueError:
        # Python rejects integers of thousands of digits.
        raise InvalidInput(name, "contains a number with too many digits") from None


def _read_memory_lines(file: BinaryIO, name: str) -> Iterator[AuditEntry]:
    decoder = msgspec.json.Decoder(str | _MemoryItem)
    for source_line, line in iter_lines(file, name):
        try:
            item = decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise InvalidInput(str(source_line), describe_parse_error(error)) from None
        except RecursionError:
            raise InvalidInput(str(source_line), "is nested too deeply") from None
        if isinstance(item, str):
            yield AuditEntry(str(source_line), item)
        elif item.type not in _OTHER_LINE_TYPES:
            yield _build_audited_memory(str(source_line), item)


def _read_export(file: BinaryIO, name: str) -> Iterator[AuditEntry]:
    if not jsonl.is_export(file):
        raise InvalidInput(name, "is not an export of Memolith")
    for record in jsonl.read_export(file, name, "audit"):
        if isinstance(record, MemoryRecord) and record.memory.state is State.ACTIVE:
            memory = record.memory
            yield AuditEntry(memory.id, memory.content, memory.key, memory.origin)


def _build_audited_memory(where: str, item: _MemoryItem) -> AuditEntry:
    text = item.first_text
    if text is None:
        raise InvalidInput(where, "has no text under memory, content, text or data")
    return AuditEntry(
        id=where if item.id is None else str(item.id),
        text=text,
        key=item.key,
        origin=_ORIGINS.get(item.origin or item.role or ""),
    )
