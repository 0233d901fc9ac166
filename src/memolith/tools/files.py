"""Files under /memories, as Anthropic's memory tool has them, kept as memories of an owner.

A file is one memory: its path is the memory's key, and the first line of its content, so that
what is recalled of it says where it stands. Each change is a version; what is deleted is
forgotten, and can be restored. The words of the answers are those of Anthropic's own files.
"""

from __future__ import annotations

import threading
import unicodedata
from typing import TYPE_CHECKING, Any

import msgspec

from memolith.domain.memories import Origin
from memolith.errors import MemolithError, NotFound
from memolith.text.secrets import REDACTED
from memolith.tools.answered import Result
from memolith.tools.calling import explained, unforeseen
from memolith.tools.categories import KNOWLEDGE, place_for
from memolith.tools.paths import ROOT, Refused, checked, is_under, listing, parents, size

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memolith.domain.memories import Memory
    from memolith.owner import OwnerMemory

TAG = "memory-file"
"""What the memories have that are files."""

_IMPORTANCE = 0.5  # neither more nor less than others: a guess
_PAGE = 1_000
_NUMBER_WIDTH = 6
_AROUND = 2
_MISSING = "The path {} does not exist. Please provide a valid path."
_LOST = " A secret in it was not kept."


class _Command(msgspec.Struct, tag_field="command", kw_only=True):
    path: str


class _View(_Command, tag="view", kw_only=True):
    view_range: list[int] | None = None


class _Create(_Command, tag="create", kw_only=True):
    file_text: str


class _StrReplace(_Command, tag="str_replace", kw_only=True):
    old_str: str
    new_str: str = ""


class _Insert(_Command, tag="insert", kw_only=True):
    insert_line: int
    insert_text: str


class _Delete(_Command, tag="delete", kw_only=True):
    pass


class _Rename(msgspec.Struct, tag_field="command", tag="rename", kw_only=True):
    old_path: str
    new_path: str


_Commands = _View | _Create | _StrReplace | _Insert | _Delete | _Rename


class MemoryFiles:
    """An owner's files. Thread-safe within a process."""

    def __init__(self, memory: OwnerMemory) -> None:
        """Keep them in this memory."""
        self._memory = memory
        self._lock = threading.Lock()

    def run(self, command: Mapping[str, Any] | object) -> Result:
        """Do what a model asks, as it asks; never raises: what went wrong is the answer."""
        try:
            wanted = msgspec.convert(command, _Commands, strict=False)
            with self._lock:
                return Result(self._done(wanted))
        except msgspec.ValidationError as error:
            return Result(f"Error: {error}", is_error=True)
        except Refused as error:
            return Result(str(error), is_error=True)
        except MemolithError as error:
            return Result(f"Error: {explained(error)}", is_error=True)
        except Exception as error:  # noqa: BLE001 - a model must get an answer, and no stack trace
            return Result(f"Error: {unforeseen(error)}", is_error=True)

    def clear(self) -> None:
        """Forget all files."""
        with self._lock:
            for memory in self._under(ROOT).values():
                self._memory.forget(memory.id)

    def _done(self, wanted: _Commands) -> str:
        match wanted:
            case _View():
                return self._view(checked(wanted.path), wanted.view_range)
            case _Create():
                return self._create(checked(wanted.path), wanted.file_text)
            case _StrReplace():
                return self._str_replace(checked(wanted.path), wanted.old_str, wanted.new_str)
            case _Insert():
                return self._insert(checked(wanted.path), wanted.insert_line, wanted.insert_text)
            case _Delete():
                return self._delete(checked(wanted.path))
            case _Rename():
                return self._rename(checked(wanted.old_path), checked(wanted.new_path))

    def _view(self, path: str, span: Sequence[int] | None) -> str:
        file = self._file(path)
        if file is not None:
            return _numbered(path, text_of(file), span)
        files = self._under(path)
        if not files and path != ROOT:
            raise Refused(_MISSING.format(path))
        sizes = {each: len(text_of(memory).encode()) for each, memory in files.items()}
        lines = [f"{size(sum(sizes.values()))}\t{path}"]
        lines += [f"{size(count)}\t{path}/{name}" for name, count in listing(sizes, path)]
        header = (
            f"Here're the files and directories up to 2 levels deep in {path},"
            " excluding hidden items:"
        )
        return "\n".join([header, *lines])

    def _create(self, path: str, text: str) -> str:
        if path == ROOT or self._taken(path) or self._under(path):
            raise Refused(f"File {path} already exists")
        self._check_above(path)
        stored = self._memory.remember(
            f"{path}\n{text}",
            key=path,
            kind=place_for(self._memory, KNOWLEDGE).kind,
            tags=(TAG,),
            importance=_IMPORTANCE,
            origin=Origin.ASSISTANT,
        )
        if not stored.content.startswith(path):  # a profile that merges has joined it with another
            stored = self._memory.update(stored.id, f"{path}\n{text}", tags=(TAG,))
        return f"File created successfully at: {path}{_lost(stored, text)}"

    def _str_replace(self, path: str, old: str, new: str) -> str:
        file = self._existing(path)
        text = f"{text_of(file)}\n"  # as files end; the last line may be named with its end
        wanted = unicodedata.normalize("NFC", old).replace("\r\n", "\n")
        count = text.count(wanted) if wanted else 0
        if not count:
            raise Refused(
                f"No replacement was performed, old_str `{old}` did not appear verbatim in {path}."
            )
        if count > 1:
            lines = ", ".join(str(number) for number in _lines_of(text, wanted))
            raise Refused(
                f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines:"
                f" {lines}. Please ensure it is unique"
            )
        at = text[: text.index(wanted)].count("\n")
        kept = self._write(file, path, text.replace(wanted, new).removesuffix("\n"))
        return (
            "The memory file has been edited. Here is the snippet showing the change (with line"
            f" numbers):\n{_snippet(text_of(kept), at)}{_lost(kept, new)}"
        )

    def _insert(self, path: str, line: int, text: str) -> str:
        file = self._existing(path)
        lines = text_of(file).split("\n") if text_of(file) else []
        if not 0 <= line <= len(lines):
            raise Refused(
                f"Invalid `insert_line` parameter: {line}. It should be within the range"
                f" [0, {len(lines)}]."
            )
        lines.insert(line, text.rstrip("\n"))
        kept = self._write(file, path, "\n".join(lines))
        return f"The file {path} has been edited.{_lost(kept, text)}"

    def _delete(self, path: str) -> str:
        if path == ROOT:
            raise Refused(f"Cannot delete the {ROOT} directory itself")
        file = self._file(path)
        gone = [file] if file is not None else list(self._under(path).values())
        if not gone:
            raise Refused(f"The path {path} does not exist")
        for memory in gone:
            self._memory.forget(memory.id)
        return f"Successfully deleted {path}"

    def _rename(self, old: str, new: str) -> str:
        if old == ROOT:
            raise Refused(f"Cannot rename the {ROOT} directory itself")
        if new == ROOT or self._taken(new) or self._under(new):
            raise Refused(f"The destination {new} already exists")
        file = self._file(old)
        moved = {old: file} if file is not None else self._under(old)
        if not moved:
            raise Refused(f"The path {old} does not exist")
        if is_under(new, old):
            raise Refused(f"Cannot move {old} into itself")
        self._check_above(new)
        for path, memory in moved.items():
            self._write(memory, new + path[len(old) :], text_of(memory))
        return f"Successfully renamed {old} to {new}"

    def _write(self, file: Memory, path: str, text: str) -> Memory:
        return self._memory.update(file.id, f"{path}\n{text}", key=path)

    def _file(self, path: str) -> Memory | None:
        found = self._taken(path)
        return found if found is not None and TAG in found.tags else None

    def _taken(self, path: str) -> Memory | None:
        """Return the memory that has a path as its key, a file or not."""
        try:
            return self._memory.get(key=path)
        except NotFound:
            return None

    def _existing(self, path: str) -> Memory:
        file = self._file(path)
        if file is None:
            is_directory = path == ROOT or bool(self._under(path))
            raise Refused(
                f"The path {path} is not a file." if is_directory else _MISSING.format(path)
            )
        return file

    def _under(self, directory: str) -> dict[str, Memory]:
        """Return the files in a directory, at any depth, by their paths."""
        found: dict[str, Memory] = {}
        cursor: str | None = None
        while True:
            page = self._memory.list(tags=(TAG,), limit=_PAGE, cursor=cursor)
            found |= {each.key: each for each in page.memories if each.key}
            cursor = page.cursor
            if cursor is None:
                return {path: each for path, each in found.items() if is_under(path, directory)}

    def _check_above(self, path: str) -> None:
        for above in parents(path):
            if self._file(above) is not None:
                raise Refused(f"The path {above} is not a directory")


def text_of(file: Memory) -> str:
    """Return what a file holds: its content without the line that says where it stands."""
    first, _, rest = file.content.partition("\n")
    return rest if first == file.key else file.content


def _numbered(path: str, text: str, span: Sequence[int] | None) -> str:
    lines = text.split("\n")
    first, last = 1, len(lines)
    if span and len(span) == 2:  # noqa: PLR2004 - from and to
        first, last = max(1, span[0]), len(lines) if span[1] == -1 else span[1]
    shown = [_line(number, lines[number - 1]) for number in range(first, min(last, len(lines)) + 1)]
    return "\n".join([f"Here's the content of {path} with line numbers:", *shown])


def _line(number: int, text: str) -> str:
    return f"{number:>{_NUMBER_WIDTH}}\t{text}"


def _snippet(text: str, at: int) -> str:
    lines = text.split("\n")
    shown = range(max(0, at - _AROUND), min(len(lines), at + _AROUND + 1))
    return "\n".join(_line(number + 1, lines[number]) for number in shown)


def _lines_of(text: str, wanted: str) -> list[int]:
    found, start = [], text.find(wanted)
    while start != -1:
        found.append(text[:start].count("\n") + 1)
        start = text.find(wanted, start + 1)
    return found


def _lost(kept: Memory, given: str) -> str:
    return _LOST if REDACTED in kept.content and REDACTED not in given else ""
