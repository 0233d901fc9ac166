"""Reading of import files: plain files, zip archives, standard input and large JSON arrays."""

from __future__ import annotations

import codecs
import io
import json
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from memolith.errors import InvalidInput

_CONVERSATIONS_NAME = "conversations"


@contextmanager
def open_binary(path: Path) -> Iterator[BinaryIO]:
    """Open a file for reading.

    Raises:
        InvalidInput: The file does not exist, cannot be read, or is UTF-16, as some Windows
            programs write it.
    """
    try:
        file = path.open("rb")
    except OSError as error:
        raise InvalidInput(str(path), (error.strerror or "cannot be read").lower()) from error
    with file:
        if file.peek(2)[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            raise InvalidInput(str(path), "is UTF-16: save it as UTF-8")
        yield file


@contextmanager
def open_rereadable(stream: BinaryIO) -> Iterator[BinaryIO]:
    """Yield a stream that can be read twice. A pipe is buffered in memory.

    A copy on disk would be unscreened and unencrypted.
    """
    yield stream if stream.seekable() else io.BytesIO(stream.read())


def iter_conversation_files(file: BinaryIO, name: str) -> Iterator[tuple[str, BinaryIO]]:
    """Yield `conversations.json` with its name: the file itself, or a member of a zip archive.

    Large exports have several (`conversations-000.json`, …). They are yielded in the order of
    names.

    Raises:
        InvalidInput: The archive is damaged, or has no such member.
    """
    if not zipfile.is_zipfile(file):
        file.seek(0)
        yield name, file
        return
    try:
        with zipfile.ZipFile(file) as archive:
            members = sorted(filter(_is_conversations_file, archive.namelist()))
            if not members:
                raise InvalidInput(name, "contains no conversations.json")
            for member in members:
                with archive.open(member) as stream:
                    yield f"{name}/{member}", cast("BinaryIO", io.BufferedReader(stream))
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError, ValueError) as error:
        raise InvalidInput(name, "is a damaged or encrypted archive") from error


def _is_conversations_file(member: str) -> bool:
    base = member.rpartition("/")[2]
    return base.startswith(_CONVERSATIONS_NAME) and base.endswith(".json")


# --- Large JSON arrays


CHUNK_BYTES = 1 << 18
MAX_CHUNK_BYTES = 1 << 22
MAX_ELEMENT_CHARS = 16_000_000
"""Maximum length of an element: 16 messages of maximum length. A guess.

A zip archive of 0.5 MB can contain an element of 600 MB, and nested lists take 21 times their
length in memory once they are parsed.
"""
_WHITESPACE = " \t\r\n"


class _JsonTextReader:
    """The part of a file's text that was read and not consumed."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        self._file = file
        self._decode = codecs.getincrementaldecoder("utf-8-sig")().decode
        self._name = name
        self._chunk_bytes = CHUNK_BYTES
        self.text = ""
        self.line = 1
        self.is_at_end = False

    def read_more(self) -> None:
        """Read the next chunk. Chunks double in size, so huge elements are parsed few times."""
        if len(self.text) > MAX_ELEMENT_CHARS:
            raise self.make_error(
                f"contains an element of more than {MAX_ELEMENT_CHARS:,} characters"
            )
        try:
            data = self._file.read(self._chunk_bytes)
        except (zipfile.BadZipFile, zlib.error, EOFError) as error:
            raise InvalidInput(self._name, "is damaged in the archive") from error
        self._chunk_bytes = min(2 * self._chunk_bytes, MAX_CHUNK_BYTES)
        self.is_at_end = not data
        try:
            self.text += self._decode(data, final=self.is_at_end)
        except UnicodeDecodeError as error:
            raise InvalidInput(self._name, "is not UTF-8 text") from error

    def consume(self, characters: int) -> None:
        """Remove characters from the start of the text."""
        self.line += self.text.count("\n", 0, characters)
        self.text = self.text[characters:]
        self._chunk_bytes = CHUNK_BYTES

    def peek(self) -> str:
        """Return the next character that is not white space. Empty at the end of the file."""
        while True:
            stripped = self.text.lstrip(_WHITESPACE)
            self.consume(len(self.text) - len(stripped))
            if stripped or self.is_at_end:
                return stripped[:1]
            self.read_more()

    def make_error(self, problem: str) -> InvalidInput:
        """Return an error for the current line."""
        return InvalidInput(f"{self._name}:{self.line}", problem)


def iter_elements(file: BinaryIO, name: str) -> Iterator[tuple[int, object]]:
    """Yield the elements of a JSON array with their first line numbers. The file may exceed memory.

    Raises:
        InvalidInput: The file is not UTF-8 or not a JSON array, or an element is longer than
            `MAX_ELEMENT_CHARS`. The error's field names file and line.
    """
    reader = _JsonTextReader(file, name)
    if reader.peek() != "[":
        raise reader.make_error("expected a JSON list")
    reader.consume(1)
    if reader.peek() == "]":
        return
    while True:
        reader.peek()
        line = reader.line
        yield line, _parse_element(reader)
        first = reader.peek()
        if first == "]":
            return
        if first != ",":
            raise reader.make_error(
                "the list is incomplete" if not first else "expected ',' or ']'"
            )
        reader.consume(1)


def _parse_element(reader: _JsonTextReader) -> object:
    decoder = json.JSONDecoder()
    while True:
        try:
            value, end = decoder.raw_decode(reader.text)
        except json.JSONDecodeError as error:
            if reader.is_at_end:
                reader.consume(error.pos)
                raise reader.make_error(error.msg.lower()) from None
        except RecursionError:
            raise reader.make_error("is nested too deeply") from None
        except ValueError:
            # Python rejects integers of thousands of digits.
            raise reader.make_error("contains a number with too many digits") from None
        else:
            # A number may continue in the next chunk.
            if end < len(reader.text) or reader.is_at_end:
                reader.consume(end)
                return value
        reader.read_more()
