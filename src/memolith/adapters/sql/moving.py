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
    from memolith.ports.moving import Batches, Migration, OwnerState, Sum
    from memolith.ports.store import StoreMeta

_FACT = "migration"
_SET_FACT = (
    "INSERT INTO meta (name, value) VALUES (?, ?)"
    " ON CONFLICT (name) DO UPDATE SET value = excluded.value"
)

Facts = dict[str, str | int | bytes | None]


class Moving:
    """The half of a store that is moved."""

    _connections: Connections

    @property
    @abstractmethod
    def place(self) -> str:
        """See the port."""

    @abstractmethod
    def _as_fact(self, value: str | int | bytes) -> Any:
        """Return a value as it stands in the table of facts."""

    @property
    def migration(self) -> Migration | None:
        """See the port."""
        with self._connections.reading() as connection:
            row = connection.row("SELECT value FROM meta WHERE name = ?", (_FACT,))
        if row is None:
            return None
        # Here: every store is asked when it is opened, and few were moved.
        import msgspec

        from memolith.ports.moving import Migration

        return msgspec.json.decode(row[0], type=Migration)

    def state(self, owner_id: str) -> OwnerState | None:
        """See the port."""
        from memolith.ports.moving import OwnerState

        with self._connections.reading(owner_id) as connection:
            found = connection.owner(owner_id)
        if not found.number:
            return None
        return OwnerState(found.counter, found.revision, found.generation, found.key_version)

    @contextmanager
    def rows_of(self, owner_id: str | None) -> Iterator[Batches]:
        """See the port."""
        from memolith.adapters.sql.copying import given

        with self._connections.reading(owner_id) as connection:
            number = None if owner_id is None else connection.owner(owner_id).number
            yield () if number == 0 else given(connection, number)

    def take_rows(self, owner_id: str | None, batches: Batches) -> None:
        """See the port."""
        from memolith.adapters.sql.copying import keep_common, keep_owned

        with self._connections.writing(owner_id) as connection:
            if owner_id is None:
                keep_common(connection, batches)
            else:
                keep_owned(connection, owner_id, batches)
            connection.run("COMMIT")

    def remove(self, owner_id: str) -> None:
        """See the port."""
        with self._connections.writing(owner_id) as connection:
            erase_rows(connection, owner_id)
            connection.run("COMMIT")

    def sums(self, owner_id: str | None) -> Mapping[str, Sum]:
        """See the port."""
        from memolith.adapters.sql.copying import summed

        with self.rows_of(owner_id) as batches:
            return summed(batches)

    def describe(self, meta: StoreMeta) -> None:
        """See the port."""
        self._keep_facts(
            {
                "embedder": meta.embedder,
                "dimension": meta.dimension,
                "analyser": meta.analyser,
                "digests": meta.digests,
                "space": meta.space,
            }
        )

    def begin_migration(self, migration: Migration, cipher: Cipher | None) -> None:
        """See the port."""
        import msgspec

        facts: Facts = {_FACT: msgspec.json.encode(migration).decode()}
        if cipher is not None and cipher.store_id:
            facts |= {"store_id": cipher.store_id, "key_check": cipher.check}
        self._keep_facts(facts)

    def end_migration(self, migration: Migration) -> None:
        """See the port."""
        import msgspec

        self._keep_facts({_FACT: msgspec.json.encode(migration).decode()})

    def _keep_facts(self, facts: Facts) -> None:
        with self._connections.writing() as connection:
            keep_facts(
                connection,
                {
                    name: None if value is None else self._as_fact(value)
                    for name, value in facts.items()
                },
            )
            connection.run("COMMIT")


def keep_facts(connection: Connection, facts: Mapping[str, Any]) -> None:
    """Keep facts about the store; what is None is not known any more."""
    gone = [(name,) for name, value in facts.items() if value is None]
    connection.run_many("DELETE FROM meta WHERE name = ?", gone)
    connection.run_many(_SET_FACT, [each for each in facts.items() if each[1] is not None])
