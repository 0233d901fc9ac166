"""A SQLite file system that loses unsynced writes when its power is cut.

SQLite's own file system stores the files as programs see them. In addition, the disk tracks what
would remain after a power cut: each file as of its last sync with any part of later writes, and the
directory as of its last sync with the first few later changes.
"""

from __future__ import annotations

import random
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import apsw

_SECTOR = 512
"""Size of an atomic disk write, in bytes."""

_WITH_FOLDER = apsw.SQLITE_OPEN_MAIN_JOURNAL | apsw.SQLITE_OPEN_SUPER_JOURNAL | apsw.SQLITE_OPEN_WAL
"""Kinds of files whose first sync also syncs their directory."""


@dataclass(frozen=True, slots=True)
class _Write:
    data: bytes
    offset: int

    def do(self, content: bytearray) -> None:
        end = self.offset + len(self.data)
        if len(content) < end:
            content.extend(bytes(end - len(content)))
        content[self.offset : end] = self.data

    def torn(self, chosen: random.Random) -> list[_Write]:
        """Return some of the sectors of the write."""
        end = self.offset + len(self.data)
        first = self.offset - self.offset % _SECTOR
        starts = [max(self.offset, start) for start in range(first, end, _SECTOR)]
        pieces = zip(starts, [*starts[1:], end], strict=True)
        return [
            _Write(self.data[start - self.offset : stop - self.offset], start)
            for start, stop in pieces
            if chosen.random() < 0.5
        ]


@dataclass(frozen=True, slots=True)
class _Truncation:
    size: int

    def do(self, content: bytearray) -> None:
        content.extend(bytes(max(0, self.size - len(content))))
        del content[self.size :]

    def torn(self, chosen: random.Random) -> list[_Truncation]:
        return [self] if chosen.random() < 0.5 else []


@dataclass(slots=True)
class _Content:
    """Content of a file: synced, and with pending writes."""

    certain: bytearray = field(default_factory=bytearray)
    unsynced: list[_Write | _Truncation] = field(default_factory=list)
    is_new: bool = True

    def sync(self) -> None:
        for change in self.unsynced:
            change.do(self.certain)
        self.unsynced.clear()

    def after_a_cut(self, chosen: random.Random, kept: float) -> bytes:
        """Return the content after a cut: a share of the pending changes, some of them torn."""
        content = bytearray(self.certain)
        for change in self.unsynced:
            if chosen.random() < kept:
                change.do(content)
            elif kept and chosen.random() < 0.5:
                for piece in change.torn(chosen):
                    piece.do(content)
        return bytes(content)


class Disk(apsw.VFS):
    """The disk for all files that SQLite opens while it is installed; see `plugged_in`.

    Attributes:
        is_off: Whether the power was cut. Programs continue, but their writes no longer count.
        changes: Number of writes, truncations, syncs and deletions so far.
    """

    def __init__(self, seed: int, *, cut_after: int | None = None, keeps: bool = True) -> None:
        """Create a disk.

        Args:
            seed: Seed for the part of the pending changes that survives a cut.
            cut_after: Number of changes after which the power is cut; None to wait for `cut`.
            keeps: Whether any pending changes may survive a cut.
        """
        self._under = apsw.vfs_names()[0]
        self._random = random.Random(seed)  # noqa: S311 - reproducible
        self._keeps = keeps
        self._cut_after = cut_after
        self.changes = 0
        self._lock = threading.RLock()
        self._files: dict[str, _Content] = {}
        self._names: dict[str, _Content] = {}
        self._unsynced_names: list[tuple[str, _Content | None]] = []
        self._opened: set[str] = set()
        self._found: dict[str, bytes] | None = None
        super().__init__(f"disk {id(self)}", self._under, makedefault=True)

    @property
    def is_off(self) -> bool:
        return self._found is not None

    def cut(self) -> None:
        """Cut the power, if it is on."""
        if self._found is not None:
            return
        names = dict(self._names)
        chosen = self._random
        last = chosen.randint(0, len(self._unsynced_names)) if self._keeps else 0
        for name, content in self._unsynced_names[:last]:
            _set(names, name, content)
        kept = chosen.choice((0.0, 0.5, 0.9)) if self._keeps else 0.0
        self._found = {name: each.after_a_cut(chosen, kept) for name, each in names.items()}

    def moved(self, folder: Path, target: Path) -> Path:
        """Move the remains of a folder after the cut to another folder, and return it.

        Files that SQLite did not open are copied as they are, except shared memory.
        """
        assert self._found is not None
        target.mkdir()
        for path in map(Path, self._found):
            if path.parent == folder:
                (target / path.name).touch(mode=0o600)
                (target / path.name).write_bytes(self._found[str(path)])
        for path in folder.iterdir():
            if str(path) not in self._opened and not path.name.endswith("-shm"):
                shutil.copy2(path, target)
        shutil.rmtree(folder)
        return target

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Make one change; the power may be cut before it."""
        with self._lock:
            if self.changes == self._cut_after:
                self.cut()
            self.changes += 1
            yield

    def xOpen(  # noqa: N802 - SQLite's name
        self, name: str | apsw.URIFilename | None, flags: list[int]
    ) -> apsw.VFSFile:
        if name is None:
            return apsw.VFSFile(self._under, name, flags)
        path = name if isinstance(name, str) else name.filename()
        with self._lock:
            self._opened.add(path)
            content = self._files.get(path) or self._known(path)
            opened = _File(self, self._under, name, flags, content)
            if path not in self._files:
                self._files[path] = content
                self._unsynced_names.append((path, content))
            return opened

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: FBT001, N802 - SQLite's
        if not Path(filename).exists():
            return  # SQLite ignores the error, but apsw would raise it
        with self.changing():
            super().xDelete(filename, syncdir)
            self._files.pop(filename, None)
            self._unsynced_names.append((filename, None))
            if syncdir:
                self.sync_names()

    def sync_names(self) -> None:
        for name, content in self._unsynced_names:
            _set(self._names, name, content)
        self._unsynced_names.clear()

    def _known(self, path: str) -> _Content:
        """Return the content of a closed file, which may predate the disk or be new.

        SQLite holds no lock on it, which opening and closing the file here would release.
        """
        if not Path(path).exists():
            return _Content()
        content = _Content(bytearray(Path(path).read_bytes()), is_new=False)
        self._files[path] = self._names[path] = content
        return content


class _File(apsw.VFSFile):
    """A file on the disk."""

    def __init__(
        self,
        disk: Disk,
        under: str,
        name: str | apsw.URIFilename,
        flags: list[int],
        content: _Content,
    ) -> None:
        super().__init__(under, name, flags)
        self._disk = disk
        self._content = content
        self._is_read_only = bool(flags[1] & apsw.SQLITE_OPEN_READONLY)
        self._syncs_folder = bool(flags[0] & _WITH_FOLDER)

    def xLock(self, level: int) -> None:  # noqa: N802 - SQLite's name
        """Lock the file; files opened read-only report busy for write locks.

        SQLite tries to lock them on close and accepts that another process holds the lock. apsw
        would raise any other error.
        """
        if self._is_read_only and level == apsw.SQLITE_LOCK_EXCLUSIVE:
            raise apsw.BusyError
        super().xLock(level)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802 - SQLite's name
        with self._disk.changing():
            super().xWrite(data, offset)
            self._content.unsynced.append(_Write(bytes(data), offset))

    def xTruncate(self, newsize: int) -> None:  # noqa: N802 - SQLite's name
        with self._disk.changing():
            super().xTruncate(newsize)
            self._content.unsynced.append(_Truncation(newsize))

    def xSync(self, flags: int) -> None:  # noqa: N802 - SQLite's name
        """Sync the simulated disk; the underlying file need not be synced."""
        del flags
        with self._disk.changing():
            self._content.sync()
            if self._syncs_folder and self._content.is_new:
                self._disk.sync_names()
            self._content.is_new = False


def _set(names: dict[str, _Content], name: str, content: _Content | None) -> None:
    if content is None:
        names.pop(name, None)
    else:
        names[name] = content


@contextmanager
def plugged_in(disk: Disk) -> Iterator[Disk]:
    """Make SQLite open all files on a disk; cut its power at the end of the block."""
    try:
        yield disk
    finally:
        disk.cut()
        disk.unregister()
