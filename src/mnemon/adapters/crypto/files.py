"""Files that hold keys: for the owner's eyes only, whole or not there at all."""

from __future__ import annotations

import logging
import os
import secrets
import stat
import sys
from pathlib import Path

from mnemon.adapters.folders import make_folder, sync_folder

MODE = 0o600
FOLDER_MODE = 0o700

_log = logging.getLogger(__name__)


def create(path: Path, content: bytes) -> bool:
    """Write a new file; return whether it was this call that made it.

    It appears under its name with all of its content, on the disk, or not at all; what is there
    already is left as it is.
    """
    make_folder(path.parent, FOLDER_MODE)
    written = _written_beside(path, content)
    try:
        made = _named(written, path, content)
    finally:
        written.unlink()
    sync_folder(path.parent)
    return made


def replace(path: Path, content: bytes) -> None:
    """Write a file, in place of one that may be there: all of it or nothing, on the disk."""
    make_folder(path.parent, FOLDER_MODE)
    _written_beside(path, content).replace(path)
    sync_folder(path.parent)


def make_empty(path: Path) -> None:
    """Make an empty file if there is none."""
    make_folder(path.parent, FOLDER_MODE)
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, MODE))
    except FileExistsError:
        return
    sync_folder(path.parent)


_warned: set[Path] = set()


def warn_if_open(path: Path) -> None:
    """Log a warning, once for each file, if others than its owner may read it."""
    if sys.platform == "win32" or path in _warned:
        return
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        _warned.add(path)
        _log.warning(
            "others than its owner can read %s (mode %03o): chmod 600 it", path, mode & 0o777
        )


def _named(written: Path, path: Path, content: bytes) -> bool:
    """Give a written file its name, if nothing has it; return whether nothing had."""
    try:
        os.link(written, path)
    except FileExistsError:
        return False
    except OSError:  # a file system without links: whole or not at all is then too much to ask
        return _written_at(path, content)
    return True


def _written_at(path: Path, content: bytes) -> bool:
    try:
        handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, MODE)
    except FileExistsError:
        return False
    with os.fdopen(handle, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    return True


def _written_beside(path: Path, content: bytes) -> Path:
    written = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    if not _written_at(written, content):
        raise FileExistsError(str(written))
    return written
