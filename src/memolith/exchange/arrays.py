"""A large JSON array, one element at a time: an export may be larger than memory."""

from __future__ import annotations

import codecs
import json
import zipfile
import zlib
from typing import TYPE_CHECKING, BinaryIO

from memolith.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Iterator

CHUNK_BYTES = 1 << 18
MAX_CHUNK_BYTES = 1 << 22
MAX_ELEMENT_CHARS = 16_000_000
"""The longest element that is read: a guess, 16 messages of the longest that are taken.

A zip archive of half a megabyte can hold one of 600, and lists in lists take 21 times their length
in memory once they are parsed.
"""
_SPACE = " \t\r\n"


class _Reader:
    """Text of a file, as far as it has been read and not yet used."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        self._file = file
        self._decode = codecs.getincrementaldecoder("utf-8-sig")().decode
        self._name = name
        self._chunk_bytes = CHUNK_BYTES
        self.text = ""
        self.line = 1
        self.ended = False

    def more(self) -> None:
        """Read on; each time twice as much, so that one huge element is parsed few times."""
        if len(self.text) > MAX_ELEMENT_CHARS:
            raise self.fail(f"holds an element of more than {MAX_ELEMENT_CHARS:,} characters")
        try:
            data = self._file.read(self._chunk_bytes)
        except (zipfile.BadZipFile, zlib.error, EOFError) as error:
            raise InvalidInput(self._name, "is damaged in its archive") from error
        self._chunk_bytes = min(2 * self._chunk_bytes, MAX_CHUNK_BYTES)
        self.ended = not data
        try:
            self.text += self._decode(data, final=self.ended)
        except UnicodeDecodeError as error:
            raise InvalidInput(self._name, "is not UTF-8 text") from error

    def use(self, characters: int) -> None:
        """Leave what has been understood behind."""
        self.line += self.text.count("\n", 0, characters)
        self.text = self.text[characters:]
        self._chunk_bytes = CHUNK_BYTES

    def mark(self) -> str:
        """Return the next character that is no space, "" at the end of the file."""
        while True:
            stripped = self.text.lstrip(_SPACE)
            self.use(len(self.text) - len(stripped))
            if stripped or self.ended:
                return stripped[:1]
            self.more()

    def fail(self, problem: str) -> InvalidInput:
        """Say what is wrong at the place reached."""
        return InvalidInput(f"{self._name}:{self.line}", problem)


def elements(file: BinaryIO, name: str) -> Iterator[tuple[int, object]]:
    """Yield the elements of a JSON array, with the line where each begins.

    Raises:
        InvalidInput: The file is not UTF-8, or not a JSON array, or an element is longer than
            `MAX_ELEMENT_CHARS`; the field names file and line.
    """
    reader = _Reader(file, name)
    if reader.mark() != "[":
        raise reader.fail("expected a JSON list")
    reader.use(1)
    if reader.mark() == "]":
        return
    while True:
        reader.mark()
        line = reader.line
        yield line, _element(reader)
        mark = reader.mark()
        if mark == "]":
            return
        if mark != ",":
            raise reader.fail("the list breaks off" if not mark else "expected ',' or ']'")
        reader.use(1)


def _element(reader: _Reader) -> object:
    decoder = json.JSONDecoder()
    while True:
        try:
            value, end = decoder.raw_decode(reader.text)
        except json.JSONDecodeError as error:
            if reader.ended:
                reader.use(error.pos)
                raise reader.fail(error.msg.lower()) from None
        except RecursionError:
            raise reader.fail("is nested too deeply") from None
        except ValueError:
            # Python refuses to read whole numbers of thousands of digits.
            raise reader.fail("holds a number with too many digits") from None
        else:
            # A number may go on in the next chunk.
            if end < len(reader.text) or reader.ended:
                reader.use(end)
                return value
        reader.more()
