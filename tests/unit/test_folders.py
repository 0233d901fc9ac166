"""Folders that survive a power cut."""

import errno
import os
import sys
from pathlib import Path

import pytest

from memolith.adapters.files import make_folder, sync_folder

posix_only = pytest.mark.skipif(sys.platform == "win32", reason="there is no way to there")


@pytest.fixture
def synced_inodes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The inodes of synced files and folders."""
    inodes: list[int] = []
    really = os.fsync

    def record_sync(handle: int) -> None:
        really(handle)
        inodes.append(os.fstat(handle).st_ino)

    monkeypatch.setattr(os, "fsync", record_sync)
    return inodes


@posix_only
def test_new_folders_are_synced_in_their_parents(tmp_path: Path, synced_inodes: list[int]) -> None:
    folder = tmp_path / "a" / "b"
    make_folder(folder, 0o700)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert synced_inodes == [tmp_path.stat().st_ino, folder.parent.stat().st_ino]
    make_folder(folder)
    assert len(synced_inodes) == 2


@posix_only
def test_unsupported_folder_sync_is_ignored_and_io_error_raised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse_sync(number: int) -> None:
        def fsync(_handle: int) -> None:
            raise OSError(number, os.strerror(number))

        monkeypatch.setattr(os, "fsync", fsync)

    refuse_sync(errno.EINVAL)
    sync_folder(tmp_path)
    refuse_sync(errno.EIO)
    with pytest.raises(OSError, match=os.strerror(errno.EIO)):
        sync_folder(tmp_path)
