"""Opening what is to be read: plain files, zip archives, standard input."""

from __future__ import annotations

import codecs
import io
import zipfile
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO, cast

from memolith.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_CONVERSATIONS_NAME = "conversations"


@contextmanager
def open_binary(path: Path) -> Iterator[BinaryIO]:
    """Open a file for reading.

    Raises:
        InvalidInput: There is none, it can't be read, or is UTF-16, as some programs of Windows
            write it.
    """
    try:
        file = path.open("rb")
    except OSError as error:
        raise InvalidInput(str(path), (error.strerror or "can't be read").lower()) from error
    with file:
        if file.peek(2)[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            raise InvalidInput(str(path), "is UTF-16; save it as UTF-8")
        yield file


@contextmanager
def open_rereadable(stream: BinaryIO) -> Iterator[BinaryIO]:
    """Give a file that can be read twice, which a pipe can't.

    What comes by a pipe is held in memory: a copy on the disk would be of texts that are neither
    screened nor encrypted.
    """
    yield stream if stream.seekable() else io.BytesIO(stream.read())


def iter_conversation_files(file: BinaryIO, name: str) -> Iterator[tuple[str, BinaryIO]]:
    """Yield `conversations.json`, under its name: the file itself, or out of a zip archive.

    Large exports have several (`conversations-000.json`, …): all, in order of their names.

    Raises:
        InvalidInput: The archive is damaged, or holds none.
    """
    if not zipfile.is_zipfile(file):
        file.seek(0)
        yield name, file
        return
    try:
        with zipfile.ZipFile(file) as archive:
            members = sorted(filter(_is_conversations_file, archive.namelist()))
            if not members:
                raise InvalidInput(name, "holds no conversations.json")
            for member in members:
                with archive.open(member) as inner:
                    yield f"{name}/{member}", cast("BinaryIO", io.BufferedReader(inner))
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError, ValueError) as error:
        raise InvalidInput(name, "is a damaged or locked archive") from error


def _is_conversations_file(member: str) -> bool:
    base = member.rpartition("/")[2]
    return base.startswith(_CONVERSATIONS_NAME) and base.endswith(".json")
