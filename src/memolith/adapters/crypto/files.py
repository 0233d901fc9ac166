"""Files that hold keys: for the owner's eyes only, whole or not there at all."""

from __future__ import annotations

import errno
import logging
import os
import secrets
import stat
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from memolith.adapters.folders import make_folder, sync_folder
from memolith.errors import StoreReadOnly, StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Iterator

FILE_MODE = 0o600
FOLDER_MODE = 0o700
_FULL = (errno.ENOSPC, errno.EDQUOT)
_NOT_WRITABLE = (errno.EROFS, errno.EACCES, errno.EPERM)

_log = logging.getLogger(__name__)


def create_file(path: Path, content: bytes) -> bool:
    """Write a new file; return whether it was this call that made it.

    It appears under its name with all of its content, on the disk, or not at all; what is there
    already is left as it is.
    """
    make_folder(path.parent, FOLDER_MODE)
    written = _write_temporary_file(path, content)
    try:
        made = _link_to_name(written, path, content)
    finally:
        written.unlink()
    sync_folder(path.parent)
    return made


def replace_file(path: Path, content: bytes) -> None:
    """Write a file, in place of one that may be there: all of it or nothing, on the disk."""
    make_folder(path.parent, FOLDER_MODE)
    _write_temporary_file(path, content).replace(path)
    sync_folder(path.parent)


def create_empty_file(path: Path) -> None:
    """Make an empty file if there is none."""
    make_folder(path.parent, FOLDER_MODE)
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, FILE_MODE))
    except FileExistsError:
        return
    sync_folder(path.parent)


_warned: set[Path] = set()


def warn_if_readable_by_others(path: Path) -> None:
    """Log a warning, once for each file, if others than its owner may read it."""
    if sys.platform == "win32" or path in _warned:
        return
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        _warned.add(path)
        _log.warning(
            "others than its owner can read %s (mode %03o): chmod 600 it", path, mode & 0o777
        )


def _link_to_name(written: Path, path: Path, content: bytes) -> bool:
    """Give a written file its name, if nothing has it; return whether nothing had."""
    try:
        os.link(written, path)
    except FileExistsError:
        return False
    except OSError:  # a file system without links: whole or not at all is then too much to ask
        return _write_new_file(path, content)
    return True


def _write_new_file(path: Path, content: bytes) -> bool:
    try:
        handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, FILE_MODE)
    except FileExistsError:
        return False
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except OSError:  # a full disk: half a key is none, and stands in the way of the next
        path.unlink()
        raise
    return True


def _write_temporary_file(path: Path, content: bytes) -> Path:
    written = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    if not _write_new_file(written, content):
        raise FileExistsError(str(written))
    return written


@contextmanager
def translate_os_errors(path: Path) -> Iterator[None]:
    """Say of a file what an error of the system means to a caller.

    Raises:
        StoreReadOnly: Nothing can be written there.
        StoreUnavailable: The disk is full, or fails.
    """
    try:
        yield
    except OSError as error:
        if error.errno in _NOT_WRITABLE:
            raise StoreReadOnly(str(path), str(error.strerror).lower()) from error
        if error.errno in _FULL:
            raise StoreUnavailable(f"the disk is full: {path}") from error
        raise StoreUnavailable(f"{path} cannot be written: {error.strerror}") from error
