"""Folders, and the names in them, that outlive a power cut."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path

_SYNC_UNSUPPORTED = (errno.EINVAL, errno.ENOTSUP)
"""What file systems answer that can't sync a folder: some that are mounted over a network."""


def make_folder(folder: Path, mode: int = 0o777) -> None:
    """Make a folder, and those that it is in, if there are none, and see them on the disk.

    Args:
        folder: The folder.
        mode: Who may use it; of those that it is in, that is as usual.
    """
    made = [each for each in (folder, *folder.parents) if not each.exists()]
    folder.mkdir(mode=mode, parents=True, exist_ok=True)
    for each in reversed(made):
        sync_folder(each.parent)


def sync_folder(folder: Path) -> None:
    """See the names in a folder on the disk; Windows has no way to, and needs none."""
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
