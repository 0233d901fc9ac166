"""The half of a store in tables that gives its rows to another store, and takes another's."""

from __future__ import annotations

from abc import abstractmethod
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from memolith.adapters.sql.erasing import erase_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from memolith.adapters.sql.connection import Connection, Connections
    from memolith.ports.cipher import Cipher
    from memolith.ports.moving import Batches, Migration, OwnerFingerprint, TableChecksum
    from memolith.ports.store import StoreMeta

_MIGRATION_FACT = "migration"
_SET_FACT = (
    "INSERT INTO meta (name, value) VALUES (?, ?)"
    " ON CONFLICT (name) DO UPDATE SET value = excluded.value"
)

Facts = dict[str, str | int | bytes | None]


class MigrationMixin:
    """The half of a store that is moved."""

    _connections: Connections

    @property
    @abstractmethod
    def location(self) -> str:
        """See the port."""

    @abstractmethod
    def _encode_fact(self, value: str | int | bytes) -> Any:
        """Return a value as it stands in the table of facts."""

    @property
    def migration(self) -> Migration | None:
        """See the port."""
        with self._connections.read() as connection:
            row = connection.row("SELECT value FROM meta WHERE name = ?", (_MIGRATION_FACT,))
        if row is None:
            return None
        # Here: every store is asked when it is opened, and few were moved.
        import msgspec

        from memolith.ports.moving import Migration

        return msgspec.json.decode(row[0], type=Migration)

    def fingerprint(self, owner_id: str) -> OwnerFingerprint | None:
        """See the port."""
        from memolith.ports.moving import OwnerFingerprint

        with self._connections.read(owner_id) as connection:
            found = connection.get_owner(owner_id)
        if not found.number:
            return None
        return OwnerFingerprint(found.counter, found.revision, found.generation, found.key_version)

    @contextmanager
    def read_rows(self, owner_id: str | None) -> Iterator[Batches]:
        """See the port."""
        from memolith.adapters.sql.copying import read_rows

        with self._connections.read(owner_id) as connection:
            number = None if owner_id is None else connection.get_owner(owner_id).number
            yield () if number == 0 else read_rows(connection, number)

    def write_rows(self, owner_id: str | None, batches: Batches) -> None:
        """See the port."""
        from memolith.adapters.sql.copying import replace_owner_rows, replace_shared_rows

        with self._connections.write(owner_id) as connection:
            if owner_id is None:
                replace_shared_rows(connection, batches)
            else:
                replace_owner_rows(connection, owner_id, batches)
            connection.run("COMMIT")

    def remove_owner(self, owner_id: str) -> None:
        """See the port."""
        with self._connections.write(owner_id) as connection:
            erase_rows(connection, owner_id)
            connection.run("COMMIT")

    def checksums(self, owner_id: str | None) -> Mapping[str, TableChecksum]:
        """See the port."""
        from memolith.adapters.sql.copying import compute_checksums

        with self.read_rows(owner_id) as batches:
            return compute_checksums(batches)

    def adopt_meta(self, meta: StoreMeta) -> None:
        """See the port."""
        self._save_facts(
            {
                "embedder": meta.embedder,
                "dimension": meta.dimension,
                "analyser": meta.analyser,
                "digests": meta.digest_name,
                "space": meta.embedding_generation,
            }
        )

    def begin_migration(self, migration: Migration, cipher: Cipher | None) -> None:
        """See the port."""
        import msgspec

        facts: Facts = {_MIGRATION_FACT: msgspec.json.encode(migration).decode()}
        if cipher is not None and cipher.store_id:
            facts |= {"store_id": cipher.store_id, "key_check": cipher.key_check}
        self._save_facts(facts)

    def finish_migration(self, migration: Migration) -> None:
        """See the port."""
        import msgspec

        self._save_facts({_MIGRATION_FACT: msgspec.json.encode(migration).decode()})

    def _save_facts(self, facts: Facts) -> None:
        with self._connections.write() as connection:
            save_facts(
                connection,
                {
                    name: None if value is None else self._encode_fact(value)
                    for name, value in facts.items()
                },
            )
            connection.run("COMMIT")


def save_facts(connection: Connection, facts: Mapping[str, Any]) -> None:
    """Keep facts about the store; what is None is not known any more."""
    gone = [(name,) for name, value in facts.items() if value is None]
    connection.run_many("DELETE FROM meta WHERE name = ?", gone)
    connection.run_many(_SET_FACT, [each for each in facts.items() if each[1] is not None])
