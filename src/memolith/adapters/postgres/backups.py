"""Copying a store in a database to a file, and putting such a file in a store's place.

The file is a SQLite store, as a backup of one is: the same tables, the same rows, sealed with the
same keys. So a backup of either can be restored into either.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psycopg
from psycopg import sql

from memolith.adapters.postgres.connections import (
    Connection,
    Connections,
    PsycopgConnection,
    build_search_path,
)
from memolith.adapters.postgres.dialect import (
    VectorFormat,
    register_adapters,
    register_vector_adapters,
)
from memolith.adapters.postgres.dsn import DatabaseLocation, session
from memolith.adapters.postgres.opening import create_store, get_cipher, read_facts, store_exists
from memolith.adapters.postgres.schema import NewStoreOptions, owner_number
from memolith.adapters.sql.store import OWNER_NAMES, save_facts
from memolith.adapters.sql.tables import read_rows, replace_owner_rows, replace_shared_rows
from memolith.adapters.sqlite.backups import (
    BackupKeys,
    Tombstones,
    create_partial_file,
    put_in_place,
    read_backup_cipher_info,
    refuse_to_overwrite,
    unpack_backup,
)
from memolith.adapters.sqlite.connections import Connection as FileConnection
from memolith.adapters.sqlite.opening import prepare
from memolith.errors import Conflict, KeyUnavailable, StoreDamaged
from memolith.ports.admin import Batches, ProgressCallback, RestoreResult
from memolith.ports.cipher import Cipher, CipherProvider

_LOCATION_FACTS = frozenset(
    {"schema", "vector", "cipher", "store_id", "key_check", "migration", "hold"}
)
"""Facts that say how a store stands where it is, or what is being done with it there."""

_RENEW_GENERATION = (
    # What other processes know of an owner from before must not be taken for what is there now.
    "UPDATE owners SET generation ="
    " greatest(generation, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)"
    " WHERE owner_id = ?"
)


class BackupMixin:
    """The half of a store in a database that copies it to a file."""

    _connections: Connections
    _cipher: Cipher

    def back_up(
        self, target: Path, *, overwrite: bool = False, advance: ProgressCallback | None = None
    ) -> int:
        """See the port; `advance` is called with a number of rows."""
        path = Path(target).absolute()
        refuse_to_overwrite(path, overwrite=overwrite)
        told = advance or _ignore_progress
        with self._connections.read() as reader, create_partial_file(path) as part:
            # What this sees, all that follows sees, whoever writes.
            facts: dict[str, str] = dict(reader.rows("SELECT name, value FROM meta"))
            analyser = int(facts["analyser"])
            prepare(part, ciphers=_KnownCipher(self._cipher), analyser=analyser, busy_timeout_s=0)
            with closing(FileConnection(part, 0)) as copy:
                copy.begin_writing(0)
                save_facts(copy, _portable_facts(facts))
                for (name,) in reader.rows(OWNER_NAMES):
                    reader.set_owner(owner_number(name))
                    replace_owner_rows(
                        copy, name, _report_progress(read_rows(reader, owner_number(name)), told)
                    )
                replace_shared_rows(copy, _report_progress(read_rows(reader, None), told))
                copy.run("COMMIT")
            return put_in_place(part, path)


@dataclass(frozen=True, slots=True)
class _KnownCipher:
    """Gives a new store a cipher that is known."""

    cipher: Cipher

    def create(self) -> Cipher:
        """See the port."""
        return self.cipher

    def load(self, name: str, store_id: bytes, check: bytes) -> Cipher:
        """See the port."""
        del name, store_id, check
        return self.cipher


def restore(
    source: Path,
    location: DatabaseLocation,
    keys: BackupKeys,
    *,
    analyser: int = 1,
    options: NewStoreOptions | None = None,
    force: bool = False,
) -> RestoreResult:
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
    timeout_s = location.timeout_s
    keys.find_cipher(read_backup_cipher_info(source, timeout_s))
    with (
        TemporaryDirectory(prefix="memolith-") as folder,
        session(location) as raw,
        raw.transaction(),
    ):
        there = store_exists(raw, location)
        if there and not force:
            raise Conflict(
                f"there is a store already: {location.display_name}, schema {location.schema}"
            )
        part = Path(folder) / "store"
        part.touch(0o600)
        copy = unpack_backup(source, part, keys, analyser=analyser, busy_timeout_s=timeout_s)
        replaced, tombstones = (
            _lock_replaced_store(raw, location, keys.target) if there else (copy.cipher, ())
        )
        owners, erased = copy.remove_erased(replaced or copy.cipher, tombstones or ())
        cipher = copy.adopt_keys(keys.target)
        schema = (
            _unused_schema_name(raw, f"{location.schema}_restoring") if there else location.schema
        )
        new = replace(location, schema=schema)
        _set_search_path(raw, schema)
        made = create_store(raw, new, _KnownCipher(cipher), analyser, options or NewStoreOptions())
        if made is None:
            raise Conflict(f"there is a store already: {location.display_name}, schema {schema}")
        _copy_rows(
            _adapt_connection(raw, new, made.vector_format), part, timeout_s, is_replacement=there
        )
        kept = _swap_schemas(raw, location, schema) if there else None
    remembers = tombstones is not None and replaced is not None
    name = f"{location.display_name}, schema {location.schema}"
    return RestoreResult(name, kept, owners, erased, erasures_known=remembers)


def _lock_replaced_store(
    raw: PsycopgConnection, location: DatabaseLocation, ciphers: CipherProvider
) -> tuple[Cipher | None, Tombstones | None]:
    """Keep others from writing; return a store's cipher and tombstones; None: nobody can tell."""
    try:
        with raw.transaction():
            raw.execute("LOCK TABLE owners IN EXCLUSIVE MODE")
            facts = read_facts(raw, location)
            tombstones = raw.execute("SELECT digest, erased_at FROM tombstones").fetchall()
    except (StoreDamaged, psycopg.ProgrammingError):
        return None, None
    try:
        return get_cipher(facts, ciphers), [(bytes(digest), at) for digest, at in tombstones]
    except KeyUnavailable:
        return None, tombstones


def _adapt_connection(
    raw: PsycopgConnection, location: DatabaseLocation, vector_format: VectorFormat
) -> Connection:
    found = raw.execute("SELECT to_regtype(%s)::oid", (vector_format.type_name,)).fetchone()
    register_adapters(raw)
    register_vector_adapters(raw, vector_format, found[0] if found else 0)
    return Connection(raw, location.display_name)


def _copy_rows(
    connection: Connection, part: Path, busy_timeout_s: float, *, is_replacement: bool
) -> None:
    """Copy all rows of a file into a schema that has none."""
    with closing(FileConnection(part, busy_timeout_s)) as copy:
        facts: dict[str, Any] = dict(copy.rows("SELECT name, value FROM meta"))
        save_facts(connection, _portable_facts(facts))
        for name, number in copy.rows("SELECT name, owner_id FROM owners ORDER BY name"):
            connection.set_owner(owner_number(name))
            replace_owner_rows(connection, name, read_rows(copy, number))
            if is_replacement:
                connection.run(_RENEW_GENERATION, (owner_number(name),))
        replace_shared_rows(connection, read_rows(copy, None))


def _swap_schemas(raw: PsycopgConnection, location: DatabaseLocation, schema: str) -> str:
    """Let a schema take the place of the store's, and return the other's name."""
    kept = _unused_schema_name(raw, f"{location.schema}_before_restore")
    for before, name in ((location.schema, kept), (schema, location.schema)):
        raw.execute(
            sql.SQL("ALTER SCHEMA {} RENAME TO {}").format(
                sql.Identifier(before), sql.Identifier(name)
            )
        )
    return f"schema {kept}"


def _unused_schema_name(raw: PsycopgConnection, name: str) -> str:
    """Return a name that no schema has: this one, or with a number after it."""
    taken = {each for (each,) in raw.execute("SELECT nspname FROM pg_namespace").fetchall()}
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name}_{number}"
    return free


def _set_search_path(raw: PsycopgConnection, schema: str) -> None:
    raw.execute(build_search_path(schema, is_local=True))


def _portable_facts(facts: Mapping[str, Any]) -> dict[str, str]:
    """Return the facts that are the same wherever a store is."""
    return {name: str(value) for name, value in facts.items() if name not in _LOCATION_FACTS}


def _report_progress(
    batches: Batches, on_progress: ProgressCallback
) -> Iterator[tuple[str, list[tuple[Any, ...]]]]:
    for name, rows in batches:
        yield name, list(rows)
        on_progress(len(rows))


def _ignore_progress(_rows: int) -> None:
    pass
