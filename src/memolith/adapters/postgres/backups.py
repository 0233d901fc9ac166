"""Copying a store in a database to a file, and putting such a file in a store's place.

The file is a SQLite store, as a backup of one is: the same tables, the same rows, sealed with the
same keys. So a backup of either can be restored into either.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg import sql

from memolith.adapters.postgres.connections import Connection, searching
from memolith.adapters.postgres.opening import cipher_in, facts_of, is_there, make
from memolith.adapters.postgres.places import session
from memolith.adapters.postgres.schema import Making, owner_number
from memolith.adapters.postgres.values import VectorForm, adapt, adapt_vectors
from memolith.adapters.sql.copying import given, keep_common, keep_owned
from memolith.adapters.sql.moving import keep_facts
from memolith.adapters.sql.store import NAMES
from memolith.adapters.sqlite.backups import put_in_place, refuse_to_overwrite, unfinished
from memolith.adapters.sqlite.connections import Connection as FileConnection
from memolith.adapters.sqlite.opening import prepare
from memolith.adapters.sqlite.unpacking import seal_of, unpack
from memolith.errors import Conflict, KeyUnavailable, StoreDamaged
from memolith.ports.backups import Restored

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from memolith.adapters.postgres.connections import Connections
    from memolith.adapters.postgres.places import Place
    from memolith.adapters.postgres.pool import Raw
    from memolith.adapters.sqlite.unpacking import Keys, Tombstones
    from memolith.ports.backups import Advance
    from memolith.ports.cipher import Cipher, Ciphers
    from memolith.ports.moving import Batches

_OF_ITSELF = frozenset({"schema", "vector", "cipher", "store_id", "key_check", "migration", "hold"})
"""Facts that say how a store stands where it is, or what is being done with it there."""

_NEWER = (
    # What other processes know of an owner from before must not be taken for what is there now.
    "UPDATE owners SET generation ="
    " greatest(generation, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)"
    " WHERE owner_id = ?"
)


class BackingUp:
    """The half of a store in a database that copies it to a file."""

    _connections: Connections
    _cipher: Cipher

    def back_up(
        self, target: Path, *, overwrite: bool = False, advance: Advance | None = None
    ) -> int:
        """See the port; `advance` is called with a number of rows."""
        path = Path(target).absolute()
        refuse_to_overwrite(path, overwrite=overwrite)
        told = advance or _ignored
        with self._connections.reading() as reader, unfinished(path) as part:
            # What this sees, all that follows sees, whoever writes.
            facts: dict[str, str] = dict(reader.rows("SELECT name, value FROM meta"))
            analyser = int(facts["analyser"])
            prepare(part, ciphers=_Same(self._cipher), analyser=analyser, busy_timeout_s=0)
            with closing(FileConnection(part, 0)) as copy:
                copy.begin_writing(0)
                keep_facts(copy, _described(facts))
                for (name,) in reader.rows(NAMES):
                    reader.see(owner_number(name))
                    keep_owned(copy, name, _told(given(reader, owner_number(name)), told))
                keep_common(copy, _told(given(reader, None), told))
                copy.run("COMMIT")
            return put_in_place(part, path)


@dataclass(frozen=True, slots=True)
class _Same:
    """Gives a new store a cipher that is known."""

    cipher: Cipher

    def new(self) -> Cipher:
        """See the port."""
        return self.cipher

    def known(self, name: str, store_id: bytes, check: bytes) -> Cipher:
        """See the port."""
        del name, store_id, check
        return self.cipher


def restore(
    source: Path,
    place: Place,
    keys: Keys,
    *,
    analyser: int = 1,
    making: Making | None = None,
    force: bool = False,
) -> Restored:
    """Put a backup in a store's place; the schema of the store that was there is kept beside it.

    All is one transaction, so that the store is there whole, or the one that was. A copy of the
    backup stands in the system's folder for passing files meanwhile.

    Args:
        source: The backup.
        place: Where the store is to be.
        keys: Where the key of the backup, and that of the store, may be.
        analyser: See `PostgresStore.open`.
        making: How the store is to be, where not as usual.
        force: Whether it may take the place of a store. Who writes there waits, and writes to the
            new one.

    Raises:
        NotFound: There is no such backup.
        Conflict: There is a store already.
        StoreDamaged: The backup is none, or is damaged.
        StoreTooNew: A newer Memolith wrote it.
        StoreReadOnly: The role may make no tables.
        KeyUnavailable: There is no key to it.
        StoreUnavailable: The database can't be reached, or others hold locks in it.
    """
    source = Path(source).absolute()
    timeout_s = place.timeout_s
    keys.known(seal_of(source, timeout_s))
    with (
        TemporaryDirectory(prefix="memolith-") as folder,
        session(place) as raw,
        raw.transaction(),
    ):
        there = is_there(raw, place)
        if there and not force:
            raise Conflict(f"there is a store already: {place.name}, schema {place.schema}")
        part = Path(folder) / "store"
        part.touch(0o600)
        copy = unpack(source, part, keys, analyser=analyser, busy_timeout_s=timeout_s)
        replaced, tombstones = _replaced(raw, place, keys.own) if there else (copy.cipher, ())
        owners, erased = copy.without_erased(replaced or copy.cipher, tombstones or ())
        cipher = copy.adopted(keys.own)
        schema = _free_name(raw, f"{place.schema}_restoring") if there else place.schema
        new = replace(place, schema=schema)
        _search(raw, schema)
        made = make(raw, new, _Same(cipher), analyser, making or Making())
        if made is None:
            raise Conflict(f"there is a store already: {place.name}, schema {schema}")
        _fill(_adapted(raw, new, made.form), part, timeout_s, renewed=there)
        kept = _swap(raw, place, schema) if there else None
    remembers = tombstones is not None and replaced is not None
    name = f"{place.name}, schema {place.schema}"
    return Restored(name, kept, owners, erased, remembers_erased=remembers)


def _replaced(raw: Raw, place: Place, ciphers: Ciphers) -> tuple[Cipher | None, Tombstones | None]:
    """Keep others from writing; return a store's cipher and tombstones; None: nobody can tell."""
    try:
        with raw.transaction():
            raw.execute("LOCK TABLE owners IN EXCLUSIVE MODE")
            facts = facts_of(raw, place)
            tombstones = raw.execute("SELECT digest, erased_at FROM tombstones").fetchall()
    except (StoreDamaged, psycopg.ProgrammingError):
        return None, None
    try:
        return cipher_in(facts, ciphers), [(bytes(digest), at) for digest, at in tombstones]
    except KeyUnavailable:
        return None, tombstones


def _adapted(raw: Raw, place: Place, form: VectorForm) -> Connection:
    found = raw.execute("SELECT to_regtype(%s)::oid", (form.type_name,)).fetchone()
    adapt(raw)
    adapt_vectors(raw, form, found[0] if found else 0)
    return Connection(raw, place.name)


def _fill(connection: Connection, part: Path, busy_timeout_s: float, *, renewed: bool) -> None:
    """Copy all rows of a file into a schema that has none."""
    with closing(FileConnection(part, busy_timeout_s)) as copy:
        facts: dict[str, Any] = dict(copy.rows("SELECT name, value FROM meta"))
        keep_facts(connection, _described(facts))
        for name, number in copy.rows("SELECT name, owner_id FROM owners ORDER BY name"):
            connection.see(owner_number(name))
            keep_owned(connection, name, given(copy, number))
            if renewed:
                connection.run(_NEWER, (owner_number(name),))
        keep_common(connection, given(copy, None))


def _swap(raw: Raw, place: Place, schema: str) -> str:
    """Let a schema take the place of the store's, and return the other's name."""
    kept = _free_name(raw, f"{place.schema}_before_restore")
    for before, name in ((place.schema, kept), (schema, place.schema)):
        raw.execute(
            sql.SQL("ALTER SCHEMA {} RENAME TO {}").format(
                sql.Identifier(before), sql.Identifier(name)
            )
        )
    return f"schema {kept}"


def _free_name(raw: Raw, name: str) -> str:
    """Return a name that no schema has: this one, or with a number after it."""
    taken = {each for (each,) in raw.execute("SELECT nspname FROM pg_namespace").fetchall()}
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name}_{number}"
    return free


def _search(raw: Raw, schema: str) -> None:
    raw.execute(searching(schema, is_local=True))


def _described(facts: Mapping[str, Any]) -> dict[str, str]:
    """Return the facts that are the same wherever a store is."""
    return {name: str(value) for name, value in facts.items() if name not in _OF_ITSELF}


def _told(batches: Batches, told: Advance) -> Iterator[tuple[str, list[tuple[Any, ...]]]]:
    for name, rows in batches:
        yield name, list(rows)
        told(len(rows))


def _ignored(_rows: int) -> None:
    pass
