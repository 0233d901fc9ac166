"""Looking for damage of a SQLite file itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memolith.errors import StoreDamaged

if TYPE_CHECKING:
    from memolith.adapters.sqlite.connections import Connections
    from memolith.ports.verifying import Finding


class FileChecking:
    """The half of a SQLite store that looks at its file."""

    _connections: Connections

    def check_file(self) -> list[Finding]:
        """See the port."""
        from memolith.adapters.sql.tables import OWNED
        from memolith.ports.verifying import Finding

        found: list[Finding] = []
        try:
            with self._connections.reading() as connection:
                problems = connection.rows("PRAGMA integrity_check")
                found += [Finding("file", None, None, str(p)) for (p,) in problems if p != "ok"]
                for table in OWNED:
                    (count,) = connection.row(f"SELECT count(*) {_nobodys(table)}") or (0,)
                    if count:
                        detail = f"rows of {table} that are nobody's"
                        found.append(Finding("orphan", None, None, detail))
        except StoreDamaged as error:
            found.append(Finding("file", None, None, str(error)))
        return found

    def repair_file(self) -> None:
        """See the port: makes SQLite's own indexes anew, and removes what is nobody's."""
        from memolith.adapters.sql.tables import OWNED

        with self._connections.writing() as connection:
            connection.run("REINDEX")
            for table in OWNED:
                connection.run(f"DELETE {_nobodys(table)}")
            connection.run("COMMIT")


def _nobodys(table: str) -> str:
    return f"FROM {table} WHERE owner_id NOT IN (SELECT owner_id FROM owners)"
