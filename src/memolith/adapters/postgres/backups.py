"""Back up a store in a database to a file, and restore a backup to a database.

A backup is a SQLite store with the same rows, encrypted with the same keys. A backup of either
backend can therefore be restored to the other.
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
"""Facts about a store in its present location, which are not copied."""

_RENEW_GENERATION = (
    # Invalidate the caches of other processes, which are based on the replaced rows.
    "UPDATE owners SET generation ="
    " greatest(generation, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)"
    " WHERE owner_id = ?"
)


class BackupMixin:
    """Backs up a store in a database to a file."""

    _connections: Connections
    _cipher: Cipher

    def back_up(
        self, target: Path, *, overwrite: bool = False, advance: ProgressCallback | None = None
    ) -> int:
        """See `SupportsBackup`; `advance` is called with numbers of rows."""
        path = Path(target).absolute()
        refuse_to_overwrite(path, overwrite=overwrite)
        on_progress = advance or _ignore_progress
        with self._connections.read() as reader, create_partial_file(path) as part:
            # The first read fixes the snapshot for all following reads.
            facts: dict[str, str] = dict(reader.rows("SELECT name, value FROM meta"))
            analyser = int(facts["analyser"])
            prepare(part, ciphers=_KnownCipher(self._cipher), analyser=analyser, busy_timeout_s=0)
            with closing(FileConnection(part, 0)) as copy:
                copy.begin_writing(0)
                save_facts(copy, _portable_facts(facts))
                for (name,) in reader.rows(OWNER_NAMES):
                    reader.set_owner(owner_number(name))
                    replace_owner_rows(
                        copy,
                        name,
                        _report_progress(read_rows(reader, owner_number(name)), on_progress),
                    )
                replace_shared_rows(copy, _report_progress(read_rows(reader, None), on_progress))
                copy.run("COMMIT")
            return put_in_place(part, path)


@dataclass(frozen=True, slots=True)
class _KnownCipher:
    """Provides one given cipher for a new store."""

    cipher: Cipher

    def create(self) -> Cipher:
        """See `CipherProvider`."""
        return self.cipher

    def load(self, name: str, store_id: bytes, check: bytes) -> Cipher:
        """See `CipherProvider`."""
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
    """Replace a store by a backup; the schema of the previous store is kept under another name.

    Everything happens in one transaction: afterwards either the restored store or the previous one
    is complete. Meanwhile, a copy of the backup is in the system's temporary folder.

    Args:
        source: The backup.
        location: Where to restore the store.
        keys: Where to look for the keys.
        analyser: See `PostgresStore.open`.
        options: Options of the new store.
        force: Whether to replace an existing store. Its writers wait, then write to the new one.

    Raises:
        NotFound: The backup does not exist.
        Conflict: The store exists, and `force` is not set.
        StoreDamaged: The file is not a backup or is corrupt.
        StoreTooNew: The backup was written by a newer Memolith.
        StoreReadOnly: The role is not allowed to create tables.
        KeyUnavailable: The key is missing.
        StoreUnavailable: The database cannot be reached, or locks could not be acquired.
    """
    source = Path(source).absolute()
    timeout_s = location.timeout_s
    keys.find_cipher(read_backup_cipher_info(source, timeout_s))
    with (
        TemporaryDirectory(prefix="memolith-") as folder,
        session(location) as raw,
        raw.transaction(),
    ):
        target_exists = store_exists(raw, location)
        if target_exists and not force:
            raise Conflict(
                f"the store already exists: {location.display_name}, schema {location.schema}"
            )
        part = Path(folder) / "store"
        part.touch(0o600)
        copy = unpack_backup(source, part, keys, analyser=analyser, busy_timeout_s=timeout_s)
        replaced, tombstones = (
            _lock_replaced_store(raw, location, keys.target) if target_exists else (copy.cipher, ())
        )
        owners, erased = copy.remove_erased(replaced or copy.cipher, tombstones or ())
        cipher = copy.adopt_keys(keys.target)
        schema = (
            _unused_schema_name(raw, f"{location.schema}_restoring")
            if target_exists
            else location.schema
        )
        new = replace(location, schema=schema)
        _set_search_path(raw, schema)
        created = create_store(
            raw, new, _KnownCipher(cipher), analyser, options or NewStoreOptions()
        )
        if created is None:
            raise Conflict(f"the store already exists: {location.display_name}, schema {schema}")
        _copy_rows(
            _adapt_connection(raw, new, created.vector_format),
            part,
            timeout_s,
            is_replacement=target_exists,
        )
        previous_schema = _swap_schemas(raw, location, schema) if target_exists else None
    erasures_known = tombstones is not None and replaced is not None
    name = f"{location.display_name}, schema {location.schema}"
    return RestoreResult(name, previous_schema, owners, erased, erasures_known=erasures_known)


def _lock_replaced_store(
    raw: PsycopgConnection, location: DatabaseLocation, ciphers: CipherProvider
) -> tuple[Cipher | None, Tombstones | None]:
    """Block writers, and return a store's cipher and tombstones, each None if unreadable."""
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
    row = raw.execute("SELECT to_regtype(%s)::oid", (vector_format.type_name,)).fetchone()
    register_adapters(raw)
    register_vector_adapters(raw, vector_format, row[0] if row else 0)
    return Connection(raw, location.display_name)


def _copy_rows(
    connection: Connection, part: Path, busy_timeout_s: float, *, is_replacement: bool
) -> None:
    """Copy all rows of a file to an empty schema."""
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
    """Rename a schema to replace the store's schema; return the new name of the latter."""
    previous_schema = _unused_schema_name(raw, f"{location.schema}_before_restore")
    for before, name in ((location.schema, previous_schema), (schema, location.schema)):
        raw.execute(
            sql.SQL("ALTER SCHEMA {} RENAME TO {}").format(
                sql.Identifier(before), sql.Identifier(name)
            )
        )
    return f"schema {previous_schema}"


def _unused_schema_name(raw: PsycopgConnection, name: str) -> str:
    """Return the name, with a number appended if a schema of that name exists."""
    existing = {each for (each,) in raw.execute("SELECT nspname FROM pg_namespace").fetchall()}
    number, candidate = 1, name
    while candidate in existing:
        number += 1
        candidate = f"{name}_{number}"
    return candidate


def _set_search_path(raw: PsycopgConnection, schema: str) -> None:
    raw.execute(build_search_path(schema, is_local=True))


def _portable_facts(facts: Mapping[str, Any]) -> dict[str, str]:
    """Return the facts that do not depend on a store's location."""
    return {name: str(value) for name, value in facts.items() if name not in _LOCATION_FACTS}


def _report_progress(
    batches: Batches, on_progress: ProgressCallback
) -> Iterator[tuple[str, list[tuple[Any, ...]]]]:
    for name, rows in batches:
        yield name, list(rows)
        on_progress(len(rows))


def _ignore_progress(_rows: int) -> None:
    pass
