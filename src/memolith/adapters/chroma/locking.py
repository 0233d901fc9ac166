"""Locks: of processes, which the system takes from one that dies, and of threads."""

from __future__ import annotations

import os
import sys
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


class ForkSafeLock:
    """A lock of threads that a forked child has for itself, whoever held it in the parent."""

    def __init__(self) -> None:
        """Make it; nobody has it."""
        self._process = os.getpid()
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        """Take it, waiting for it."""
        if self._process != os.getpid():
            self._process, self._lock = os.getpid(), threading.Lock()
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        """Give it back."""
        self._lock.release()


class ProcessLock:
    """A lock on a file, which is made for it. Not for threads of one process."""

    def __init__(self, path: Path) -> None:
        """Take the file; nothing is opened yet."""
        self.path = path
        self._handle: int | None = None
        self._process = os.getpid()

    def acquire(self) -> bool:
        """Take the lock, if nobody has it; return whether it is had now.

        Raises:
            OSError: The file can't be made or opened.
        """
        self._release_inherited()
        if self._handle is not None:
            return True
        handle = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
        if not _try_lock(handle):
            os.close(handle)
            return False
        self._handle = handle
        return True

    def release(self) -> None:
        """Give it back. Twice is no error."""
        self._release_inherited()
        if self._handle is not None:
            os.close(self._handle)  # which ends the lock
            self._handle = None

    def _release_inherited(self) -> None:
        """Let go of what a forked child got of its parent, whose lock stays."""
        if self._process != os.getpid():
            self._process = os.getpid()
            if self._handle is not None:
                os.close(self._handle)
                self._handle = None


if sys.platform == "win32":
    import msvcrt

    def _try_lock(handle: int) -> bool:
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _try_lock(handle: int) -> bool:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
