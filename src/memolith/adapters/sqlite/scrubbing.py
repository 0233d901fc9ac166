"""Overwrite deleted content in the unused parts of SQLite pages.

`secure_delete` overwrites deleted entries in place. When SQLite splits or merges a page, it moves
entries and leaves copies of them in the unallocated part of the page, between the cell pointers and
the cells. Deletion does not reach those copies. See https://sqlite.org/fileformat.html,
section 1.6.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import apsw

from memolith.adapters.sqlite.connections import Connection, translate_error
from memolith.errors import StoreUnavailable

_HEADER_BYTES = {2: 12, 5: 12, 10: 8, 13: 8}
"""Length of the page header by page type, for pages that contain cells."""

_FILE_HEADER_BYTES = 100
_LARGEST_PAGE = 65_536
_PAGES_PER_READ = 256

_LOCK_PAGE_OFFSET = 1 << 30
"""Offset of the page reserved for SQLite's locks. Some systems do not allow reading it."""

_MAX_CHECKED_PAGES = 2 << 24
"""Below this size (137 GB) the first byte identifies the page type: pages of other types start with
a page number."""


def scrub(path: Path, busy_timeout_s: float) -> bool:
    """Overwrite the unused part of every page of a store; return whether it was possible.

    The write-ahead log must be empty and the write lock free, so that the file is up to date.
    Nothing reads the overwritten bytes, so a crash in between is harmless. The final commit makes
    other connections drop their cached pages, which would otherwise restore the old bytes.

    Raises:
        StoreUnavailable: The file cannot be read or written.
    """
    with closing(Connection(path, busy_timeout_s)) as connection:
        try:
            connection.begin_writing(busy_timeout_s)
        except StoreUnavailable:  # another process holds the lock
            return False
        (page, pages, version) = connection.row(
            "SELECT s.page_size, c.page_count, v.user_version"
            " FROM pragma_page_size AS s, pragma_page_count AS c, pragma_user_version AS v"
        ) or (0, 0, 0)
        log = path.with_name(f"{path.name}-wal")
        if pages > _MAX_CHECKED_PAGES or (log.exists() and log.stat().st_size):
            return False
        with _open_file(path) as file:
            for offset, chunk in _read_chunks(file, page, pages):
                for start, stop in _unused_ranges(chunk, page, offset):
                    file.xWrite(bytes(stop - start), start)
            file.xSync(apsw.SQLITE_SYNC_FULL)
        connection.run(f"PRAGMA user_version = {version}")  # the same value, but it is a write
        connection.run("COMMIT")
    return True


@contextmanager
def _open_file(path: Path) -> Iterator[apsw.VFSFile]:
    """Open a file through SQLite; closing any other handle would drop this process's locks."""
    try:
        file = apsw.VFSFile(
            "", str(path), [apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READWRITE, 0]
        )
        try:
            yield file
        finally:
            file.xClose()
    except apsw.Error as error:
        raise translate_error(error, path) from error


def _read_chunks(file: apsw.VFSFile, page: int, pages: int) -> Iterator[tuple[int, bytes]]:
    """Yield the file in chunks of many pages, each with its offset."""
    for start in range(0, page * pages, page * _PAGES_PER_READ):
        stop = min(start + page * _PAGES_PER_READ, page * pages)
        first = start + page if start == _LOCK_PAGE_OFFSET else start
        if first < stop:
            yield first, file.xRead(stop - first, first)


def _unused_ranges(chunk: bytes, page: int, offset: int) -> Iterator[tuple[int, int]]:
    """Yield the ranges of the file that are unused parts of pages and not yet zero."""
    for begin in range(0, len(chunk), page):
        header = begin + (_FILE_HEADER_BYTES if offset + begin == 0 else 0)
        if chunk[header] not in _HEADER_BYTES:
            continue
        entries = int.from_bytes(chunk[header + 3 : header + 5])
        first = int.from_bytes(chunk[header + 5 : header + 7]) or _LARGEST_PAGE
        start, stop = header + _HEADER_BYTES[chunk[header]] + 2 * entries, begin + first
        if start < stop <= begin + page and chunk.count(0, start, stop) < stop - start:
            yield offset + start, offset + stop
