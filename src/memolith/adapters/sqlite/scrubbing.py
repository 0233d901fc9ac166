"""Clearing what SQLite leaves behind in the unused part of its pages.

`secure_delete` overwrites what is deleted where it stands. But wherever a page was split or
merged before, SQLite moved entries and left copies of them in the part of the page that no entry
uses, between the list of entries and the entries themselves; there a deletion does not reach.
See https://sqlite.org/fileformat.html, section 1.6.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import apsw

from memolith.adapters.sqlite.connections import Connection, translate_error
from memolith.errors import StoreUnavailable

_HEADER_BYTES = {2: 12, 5: 12, 10: 8, 13: 8}
"""The kinds of pages that hold entries, by their first byte, and how long their headers are."""

_FILE_HEADER_BYTES = 100
_LARGEST_PAGE = 65_536
_PAGES_PER_READ = 256

_LOCK_PAGE_OFFSET = 1 << 30
"""The page here holds SQLite's locks and nothing else; some systems let nobody read it."""

_MAX_CHECKED_PAGES = 2 << 24
"""Below so many pages (137 GB), the first byte tells: others begin with a page's number."""


def scrub(path: Path, busy_timeout_s: float) -> bool:
    """Clear the unused part of every page of a store; return whether that could be done.

    It can while the write-ahead log is empty and nobody writes. Then, under the write lock, the
    file's pages are as the file says. What is cleared nobody reads, so that a crash in between
    harms nothing. The commit at the end makes every connection let go of the pages it has in
    memory, or what was cleared would come back with the next change of them.

    Raises:
        StoreUnavailable: The file can't be read or written.
    """
    with closing(Connection(path, busy_timeout_s)) as connection:
        try:
            connection.begin_writing(busy_timeout_s)
        except StoreUnavailable:  # somebody else has the lock
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
        connection.run(f"PRAGMA user_version = {version}")  # changes nothing, but is written
        connection.run("COMMIT")
    return True


@contextmanager
def _open_file(path: Path) -> Iterator[apsw.VFSFile]:
    """Open a file by SQLite: any other way would, at its end, drop this process's locks on it."""
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
    """Yield stretches of the file, many pages at a time, and where they begin."""
    for start in range(0, page * pages, page * _PAGES_PER_READ):
        stop = min(start + page * _PAGES_PER_READ, page * pages)
        first = start + page if start == _LOCK_PAGE_OFFSET else start
        if first < stop:
            yield first, file.xRead(stop - first, first)


def _unused_ranges(chunk: bytes, page: int, offset: int) -> Iterator[tuple[int, int]]:
    """Yield from where to where in the file something stands in an unused part of a page."""
    for begin in range(0, len(chunk), page):
        header = begin + (_FILE_HEADER_BYTES if offset + begin == 0 else 0)
        if chunk[header] not in _HEADER_BYTES:
            continue
        entries = int.from_bytes(chunk[header + 3 : header + 5])
        first = int.from_bytes(chunk[header + 5 : header + 7]) or _LARGEST_PAGE
        start, stop = header + _HEADER_BYTES[chunk[header]] + 2 * entries, begin + first
        if start < stop <= begin + page and chunk.count(0, start, stop) < stop - start:
            yield offset + start, offset + stop
