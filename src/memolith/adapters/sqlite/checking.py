"""Looking for damage of a SQLite file itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memolith.errors import StoreDamaged

if TYPE_CHECKING:
    from memolith.adapters.sqlite.connections import Connections
    from memolith.ports.verifying import Finding


class FileCheckMixin:
    """The half of a SQLite store that looks at its file."""

    _connections: Connections

    def check_file(self) -> list[Finding]:
        """See the port."""
        from memolith.adapters.sql.tables import OWNED_TABLES
        from memolith.ports.verifying import Finding

        found: list[Finding] = []
        try:
            with self._connections.read() as connection:
                problems = connection.rows("PRAGMA integrity_check")
                found += [Finding("file", None, None, str(p)) for (p,) in problems if p != "ok"]
                for table in OWNED_TABLES:
                    (count,) = connection.row(f"SELECT count(*) {_ownerless_rows(table)}") or (0,)
                    if count:
                        detail = f"rows of {table} that are nobody's"
                        found.append(Finding("orphan", None, None, detail))
        except StoreDamaged as error:
            found.append(Finding("file", None, None, str(error)))
        return found

    def repair_file(self) -> None:
        """See the port: makes SQLite's own indexes anew, and removes what is nobody's."""
        from memolith.adapters.sql.tables import OWNED_TABLES

        with self._connections.write() as connection:
            connection.run("REINDEX")
            for table in OWNED_TABLES:
                connection.run(f"DELETE {_ownerless_rows(table)}")
            connection.run("COMMIT")


def _ownerless_rows(table: str) -> str:
    return f"FROM {table} WHERE owner_id NOT IN (SELECT owner_id FROM owners)"
