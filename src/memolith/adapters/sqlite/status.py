"""What can be said of a store's file without opening the store in it."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memolith.adapters.sqlite.opening import check_application_id
from memolith.adapters.sqlite.reading import open_read_only

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class FileStatus:
    """A store's file.

    Attributes:
        schema: The schema of its tables.
        facts: What the store says of itself.
        owners: How many owners there are.
        size_bytes: What it takes on disk, with its log.
    """

    schema: int
    facts: dict[str, str | int | bytes]
    owners: int
    size_bytes: int


def read_file_status(path: Path, busy_timeout_s: float) -> FileStatus | None:
    """Look at a file; None: there is none, or nothing is in it. Nothing is changed.

    Raises:
        StoreUnavailable: It can't be opened.
        StoreReadOnly: It has a log that can't be read there.
        StoreDamaged: It is not a store of Memolith.
    """
    if not path.is_file() or not path.stat().st_size:
        return None
    beside = path.with_name(f"{path.name}-wal")
    size_bytes = path.stat().st_size + (beside.stat().st_size if beside.exists() else 0)
    with closing(open_read_only(path, busy_timeout_s)) as connection:
        application, schema = connection.row(
            "SELECT a.application_id, v.user_version"
            " FROM pragma_application_id AS a, pragma_user_version AS v"
        ) or (0, 0)
        check_application_id(application, path)
        facts: dict[str, str | int | bytes] = dict(connection.rows("SELECT name, value FROM meta"))
        (owners,) = connection.row("SELECT count(*) FROM owners") or (0,)
        return FileStatus(schema, facts, owners, size_bytes)
