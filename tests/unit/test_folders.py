"""Folders that outlive a power cut."""

import errno
import os
import sys
from pathlib import Path

import pytest

from memolith.adapters.files import make_folder, sync_folder

posix_only = pytest.mark.skipif(sys.platform == "win32", reason="there is no way to there")


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The inodes of what is synced."""
    inodes: list[int] = []
    really = os.fsync

    def note(handle: int) -> None:
        really(handle)
        inodes.append(os.fstat(handle).st_ino)

    monkeypatch.setattr(os, "fsync", note)
    return inodes


@posix_only
def test_folders_are_made_and_the_names_of_all_that_are_new_synced(
    tmp_path: Path, synced: list[int]
) -> None:
    folder = tmp_path / "a" / "b"
    make_folder(folder, 0o700)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert synced == [tmp_path.stat().st_ino, folder.parent.stat().st_ino]
    make_folder(folder)
    assert len(synced) == 2


@posix_only
def test_a_file_system_that_cannot_sync_folders_is_used_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(number: int) -> None:
        def fsync(_handle: int) -> None:
            raise OSError(number, os.strerror(number))

        monkeypatch.setattr(os, "fsync", fsync)

    refuse(errno.EINVAL)
    sync_folder(tmp_path)
    refuse(errno.EIO)
    with pytest.raises(OSError, match=os.strerror(errno.EIO)):
        sync_folder(tmp_path)
