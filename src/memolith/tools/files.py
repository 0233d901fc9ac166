"""Files under /memories for Anthropic's memory tool, stored as memories of an owner."""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from memolith.api.owner import OwnerMemory
from memolith.domain.memories import Memory, Origin
from memolith.errors import MemolithError, NotFound
from memolith.text.secrets import REDACTED
from memolith.tools.handlers import KNOWLEDGE, get_storage_target
from memolith.tools.registry import describe_error, report_unexpected_error
from memolith.tools.schemas import ToolResult

ROOT = "/memories"

_PERCENT_ESCAPE = re.compile(r"%(?:2e|2f|5c|00|25)", re.IGNORECASE)
_FORBIDDEN_CHARACTER = re.compile(r"[\x00-\x1f\x7f-\x9f\\]")


class FileCommandError(Exception):
    """A file command failed; the message is for the model."""


def normalise_path(path: str) -> str:
    """Return a normalised path: without trailing or double slashes.

    Raises:
        FileCommandError: The path is outside /memories, in any encoding.
    """
    plain = unicodedata.normalize("NFC", path)
    if plain != ROOT and not plain.startswith(f"{ROOT}/"):
        raise FileCommandError(f"Path must start with {ROOT}, got: {path}")
    if (
        _FORBIDDEN_CHARACTER.search(plain)
        or _PERCENT_ESCAPE.search(plain)
        or ".." in _fold_lookalikes(plain)
    ):
        raise FileCommandError(f"Path {path} would escape {ROOT} directory")
    parts = [part for part in plain.split("/") if part not in ("", ".")]
    return "/" + "/".join(parts)


def _fold_lookalikes(path: str) -> str:
    """Return a path with look-alikes of dots and slashes replaced: `‥`, `．`, `／`."""
    return unicodedata.normalize("NFKC", path)


def list_parents(path: str) -> list[str]:
    """Return the directories above a path, from /memories down."""
    parts = path.split("/")[1:-1]
    return ["/" + "/".join(parts[: end + 1]) for end in range(len(parts))]


def is_under(path: str, directory: str) -> bool:
    """Return whether a path is in a directory, at any depth."""
    return path.startswith(f"{directory}/")


def list_directory(sizes: dict[str, int], directory: str) -> list[tuple[str, int]]:
    """Return up to two levels of a directory, sorted, with sizes in bytes.

    Names that start with a dot are hidden. A directory ends with a slash; its size is that of its
    files.
    """
    found: dict[tuple[str, ...], int] = {}
    for path, size in sizes.items():
        parts = path[len(directory) + 1 :].split("/")
        for depth in (1, 2):
            if len(parts) < depth or any(part.startswith(".") for part in parts[:depth]):
                break
            is_directory = len(parts) > depth
            name = (*parts[:depth], *([""] if is_directory else []))
            found[name] = found.get(name, 0) + size
    return [("/".join(name), found[name]) for name in sorted(found, key=_get_sort_key)]


def _get_sort_key(name: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(part for part in name if part)


def format_size(count: int) -> str:
    """Return a readable size: 0B, 812B, 1.5K, 8K."""
    units = ("B", "K", "M", "G")
    unit = min(max(count.bit_length() - 1, 0) // 10, len(units) - 1)
    amount = count / 1024**unit
    return f"{amount:.0f}{units[unit]}" if amount == int(amount) else f"{amount:.1f}{units[unit]}"


# --- File commands


TAG = "memory-file"
"""Tag of memories that are files."""

_IMPORTANCE = 0.5  # average importance: a guess
_PAGE = 1_000
_NUMBER_WIDTH = 6
_SNIPPET_CONTEXT_LINES = 2
_NOT_FOUND_MESSAGE = "The path {} does not exist. Please provide a valid path."
_REDACTION_NOTE = " A secret in it was not kept."


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


_AnyCommand = _View | _Create | _StrReplace | _Insert | _Delete | _Rename


class MemoryFiles:
    """An owner's files. Thread-safe within a process."""

    def __init__(self, memory: OwnerMemory) -> None:
        """Store files in a memory."""
        self._memory = memory
        self._lock = threading.Lock()

    def run(self, command: Mapping[str, Any] | object) -> ToolResult:
        """Run a model's command; errors are returned as text."""
        try:
            wanted = msgspec.convert(command, _AnyCommand, strict=False)
            with self._lock:
                return ToolResult(self._dispatch(wanted))
        except msgspec.ValidationError as error:
            return ToolResult(f"Error: {error}", is_error=True)
        except FileCommandError as error:
            return ToolResult(str(error), is_error=True)
        except MemolithError as error:
            return ToolResult(f"Error: {describe_error(error)}", is_error=True)
        except Exception as error:  # noqa: BLE001 - a model must get an answer, and no stack trace
            return ToolResult(f"Error: {report_unexpected_error(error)}", is_error=True)

    def clear(self) -> None:
        """Forget all files."""
        with self._lock:
            for memory in self._list_files(ROOT).values():
                self._memory.forget(memory.id)

    def _dispatch(self, command: _AnyCommand) -> str:
        match command:
            case _View():
                return self._view(normalise_path(command.path), command.view_range)
            case _Create():
                return self._create(normalise_path(command.path), command.file_text)
            case _StrReplace():
                return self._str_replace(
                    normalise_path(command.path), command.old_str, command.new_str
                )
            case _Insert():
                return self._insert(
                    normalise_path(command.path), command.insert_line, command.insert_text
                )
            case _Delete():
                return self._delete(normalise_path(command.path))
            case _Rename():
                return self._rename(
                    normalise_path(command.old_path), normalise_path(command.new_path)
                )

    def _view(self, path: str, span: Sequence[int] | None) -> str:
        file = self._find_file(path)
        if file is not None:
            return _format_numbered(path, get_file_text(file), span)
        files = self._list_files(path)
        if not files and path != ROOT:
            raise FileCommandError(_NOT_FOUND_MESSAGE.format(path))
        sizes = {each: len(get_file_text(memory).encode()) for each, memory in files.items()}
        lines = [f"{format_size(sum(sizes.values()))}\t{path}"]
        lines += [
            f"{format_size(count)}\t{path}/{name}" for name, count in list_directory(sizes, path)
        ]
        header = (
            f"Here're the files and directories up to 2 levels deep in {path},"
            " excluding hidden items:"
        )
        return "\n".join([header, *lines])

    def _create(self, path: str, text: str) -> str:
        if path == ROOT or self._find_by_key(path) or self._list_files(path):
            raise FileCommandError(f"File {path} already exists")
        self._reject_file_parents(path)
        stored = self._memory.remember(
            f"{path}\n{text}",
            key=path,
            kind=get_storage_target(self._memory, KNOWLEDGE).kind,
            tags=(TAG,),
            importance=_IMPORTANCE,
            origin=Origin.ASSISTANT,
        )
        # A profile that merges may have merged the file into another memory.
        if not stored.content.startswith(path):
            stored = self._memory.update(stored.id, f"{path}\n{text}", tags=(TAG,))
        return f"File created successfully at: {path}{_get_redaction_note(stored, text)}"

    def _str_replace(self, path: str, old: str, new: str) -> str:
        file = self._require_file(path)
        # Files end with a newline; `old_str` may include that of the last line.
        text = f"{get_file_text(file)}\n"
        wanted = unicodedata.normalize("NFC", old).replace("\r\n", "\n")
        count = text.count(wanted) if wanted else 0
        if not count:
            raise FileCommandError(
                f"No replacement was performed, old_str `{old}` did not appear verbatim in {path}."
            )
        if count > 1:
            lines = ", ".join(str(number) for number in _find_line_numbers(text, wanted))
            raise FileCommandError(
                f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines:"
                f" {lines}. Please ensure it is unique"
            )
        at = text[: text.index(wanted)].count("\n")
        kept = self._write(file, path, text.replace(wanted, new).removesuffix("\n"))
        return (
            "The memory file has been edited. Here is the snippet showing the change (with line"
            f" numbers):\n{_format_snippet(get_file_text(kept), at)}"
            f"{_get_redaction_note(kept, new)}"
        )

    def _insert(self, path: str, line: int, text: str) -> str:
        file = self._require_file(path)
        lines = get_file_text(file).split("\n") if get_file_text(file) else []
        if not 0 <= line <= len(lines):
            raise FileCommandError(
                f"Invalid `insert_line` parameter: {line}. It should be within the range"
                f" [0, {len(lines)}]."
            )
        lines.insert(line, text.rstrip("\n"))
        kept = self._write(file, path, "\n".join(lines))
        return f"The file {path} has been edited.{_get_redaction_note(kept, text)}"

    def _delete(self, path: str) -> str:
        if path == ROOT:
            raise FileCommandError(f"Cannot delete the {ROOT} directory itself")
        file = self._find_file(path)
        gone = [file] if file is not None else list(self._list_files(path).values())
        if not gone:
            raise FileCommandError(f"The path {path} does not exist")
        for memory in gone:
            self._memory.forget(memory.id)
        return f"Successfully deleted {path}"

    def _rename(self, old: str, new: str) -> str:
        if old == ROOT:
            raise FileCommandError(f"Cannot rename the {ROOT} directory itself")
        if new == ROOT or self._find_by_key(new) or self._list_files(new):
            raise FileCommandError(f"The destination {new} already exists")
        file = self._find_file(old)
        moved = {old: file} if file is not None else self._list_files(old)
        if not moved:
            raise FileCommandError(f"The path {old} does not exist")
        if is_under(new, old):
            raise FileCommandError(f"Cannot move {old} into itself")
        self._reject_file_parents(new)
        for path, memory in moved.items():
            self._write(memory, new + path[len(old) :], get_file_text(memory))
        return f"Successfully renamed {old} to {new}"

    def _write(self, file: Memory, path: str, text: str) -> Memory:
        return self._memory.update(file.id, f"{path}\n{text}", key=path)

    def _find_file(self, path: str) -> Memory | None:
        found = self._find_by_key(path)
        return found if found is not None and TAG in found.tags else None

    def _find_by_key(self, path: str) -> Memory | None:
        """Return the memory with a path as its key, whether or not it is a file."""
        try:
            return self._memory.get(key=path)
        except NotFound:
            return None

    def _require_file(self, path: str) -> Memory:
        file = self._find_file(path)
        if file is None:
            is_directory = path == ROOT or bool(self._list_files(path))
            raise FileCommandError(
                f"The path {path} is not a file."
                if is_directory
                else _NOT_FOUND_MESSAGE.format(path)
            )
        return file

    def _list_files(self, directory: str) -> dict[str, Memory]:
        """Return the files in a directory by path, at any depth."""
        found: dict[str, Memory] = {}
        cursor: str | None = None
        while True:
            page = self._memory.list(tags=(TAG,), limit=_PAGE, cursor=cursor)
            found |= {each.key: each for each in page.memories if each.key}
            cursor = page.cursor
            if cursor is None:
                return {path: each for path, each in found.items() if is_under(path, directory)}

    def _reject_file_parents(self, path: str) -> None:
        for above in list_parents(path):
            if self._find_file(above) is not None:
                raise FileCommandError(f"The path {above} is not a directory")


def get_file_text(file: Memory) -> str:
    """Return a file's text: the content without the line with its path."""
    first, _, rest = file.content.partition("\n")
    return rest if first == file.key else file.content


def _format_numbered(path: str, text: str, span: Sequence[int] | None) -> str:
    lines = text.split("\n")
    first, last = 1, len(lines)
    if span and len(span) == 2:  # noqa: PLR2004 - first and last line
        first, last = max(1, span[0]), len(lines) if span[1] == -1 else span[1]
    shown = [
        _format_line(number, lines[number - 1])
        for number in range(first, min(last, len(lines)) + 1)
    ]
    return "\n".join([f"Here's the content of {path} with line numbers:", *shown])


def _format_line(number: int, text: str) -> str:
    return f"{number:>{_NUMBER_WIDTH}}\t{text}"


def _format_snippet(text: str, at: int) -> str:
    lines = text.split("\n")
    shown = range(
        max(0, at - _SNIPPET_CONTEXT_LINES), min(len(lines), at + _SNIPPET_CONTEXT_LINES + 1)
    )
    return "\n".join(_format_line(number + 1, lines[number]) for number in shown)


def _find_line_numbers(text: str, wanted: str) -> list[int]:
    found, start = [], text.find(wanted)
    while start != -1:
        found.append(text[:start].count("\n") + 1)
        start = text.find(wanted, start + 1)
    return found


def _get_redaction_note(stored: Memory, given: str) -> str:
    return _REDACTION_NOTE if REDACTED in stored.content and REDACTED not in given else ""
