"""Create folders and sync directory entries so that they survive a power failure."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path

_SYNC_UNSUPPORTED = (errno.EINVAL, errno.ENOTSUP)
"""Errors of file systems that cannot sync a directory, for example some network mounts."""


def make_folder(folder: Path, mode: int = 0o777) -> None:
    """Create a folder and its missing parents, and sync the new directory entries to disk.

    Args:
        folder: The folder.
        mode: Permissions of the folder. New parents get the default permissions.
    """
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    folder.mkdir(mode=mode, parents=True, exist_ok=True)
    for each in reversed(missing):
        sync_folder(each.parent)


def sync_folder(folder: Path) -> None:
    """Sync the entries of a folder to disk. Does nothing on Windows, which does not need it."""
    if sys.platform == "win32":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in _SYNC_UNSUPPORTED:
            raise
    finally:
        os.close(handle)
