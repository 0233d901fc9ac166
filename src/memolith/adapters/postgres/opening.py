"""Open, create and upgrade a store in a database, and verify that it isolates owners."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

import psycopg
from psycopg import sql

from memolith.adapters.postgres.connections import (
    ConnectionSettings,
    PsycopgConnection,
    translate_error,
)
from memolith.adapters.postgres.dialect import (
    FULL_PRECISION,
    HALF_PRECISION,
    VectorFormat,
    select_vector_format,
)
from memolith.adapters.postgres.dsn import (
    INSPECTION_TIMEOUT_S,
    DatabaseLocation,
    require_table_owner,
    session,
)
from memolith.adapters.postgres.schema import (
    APPLICATION,
    MIGRATIONS,
    OWNER_TABLES,
    PROBE_OWNERS,
    SCHEMA,
    NewStoreOptions,
    StoreLayout,
)
from memolith.errors import (
    InvalidConfiguration,
    StoreDamaged,
    StoreReadOnly,
    StoreTooNew,
    StoreUnavailable,
)
from memolith.ports.cipher import Cipher, CipherProvider

Migrations = Sequence[Callable[[StoreLayout], str]]

_LOCK = 0x4D656D6F
"""Advisory lock that serialises the creation and migration of stores: "Memo"."""

_TABLES_WITHOUT_FORCED_RLS = (
    "SELECT relname FROM pg_class WHERE relnamespace = to_regnamespace(%s)"
    " AND relname = ANY(%s) AND NOT (relrowsecurity AND relforcerowsecurity) ORDER BY relname"
)
_ROLE_BYPASSES_RLS = (
    "SELECT current_user, rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user"
)
DISTRIBUTED = "distributed"
"""The fact in `meta` that marks a store distributed by Citus."""

_HAS_SCHEMA_USAGE = "SELECT quote_ident(current_user), has_schema_privilege(%s, 'USAGE')"
_PGVECTOR_VERSION = (
    "SELECT e.extversion, quote_ident(n.nspname) FROM pg_extension AS e"
    " JOIN pg_namespace AS n ON n.oid = e.extnamespace WHERE e.extname = 'vector'"
)
_MIN_PGVECTOR_VERSION = (0, 8)
"""Required for iterative scans."""

_CAN_ASSUME_ROLE = (
    "SELECT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = %s)"
    " AND pg_has_role(%s, 'SET') AND session_user <> %s"
)


@dataclass(frozen=True, slots=True)
class StoreParameters:
    """Parameters for opening a store.

    Attributes:
        vector_format: The format of its vectors.
        cipher: Its cipher.
        is_distributed: Whether Citus distributes its tables over several machines.
    """

    vector_format: VectorFormat
    cipher: Cipher
    is_distributed: bool = False


def open_or_create(
    location: DatabaseLocation, *, ciphers: CipherProvider, analyser: int, options: NewStoreOptions
) -> StoreParameters:
    """Return the parameters of a store, and create it if it does not exist.

    Raises:
        StoreUnavailable: The database cannot be reached, or its schema must be upgraded.
        StoreReadOnly: There is no store, and the role is not allowed to create one.
        InvalidConfiguration: The server or pgvector is too old, or the role lacks privileges.
        StoreDamaged: The facts in `meta` are incomplete.
        StoreTooNew: The store was written by a newer Memolith.
        KeyUnavailable: The key is missing or wrong. Nothing was changed.
    """
    with session(location, response_timeout_s=INSPECTION_TIMEOUT_S + location.timeout_s) as raw:
        if not store_exists(raw, location):
            created = create_store(raw, location, ciphers, analyser, options)
            if created is not None:
                return created
        _require_schema_usage(raw, location)
        facts = read_facts(raw, location)
        if int(facts["schema"]) < SCHEMA:
            raise StoreUnavailable(
                f"{location.display_name} has schema {facts['schema']}, and this Memolith"
                f" needs {SCHEMA}:"
                " run `memolith db upgrade`"
            )
        return StoreParameters(
            get_vector_format(facts), get_cipher(facts, ciphers), DISTRIBUTED in facts
        )


def store_exists(raw: PsycopgConnection, location: DatabaseLocation) -> bool:
    """Return whether a schema contains a store."""
    row = raw.execute(
        "SELECT EXISTS (SELECT 1 FROM pg_class WHERE relname = 'meta'"
        " AND relnamespace = to_regnamespace(%s))",
        (sql.Identifier(location.schema).as_string(raw),),
    ).fetchone()
    return bool(row and row[0])


def _require_schema_usage(raw: PsycopgConnection, location: DatabaseLocation) -> None:
    """Refuse a role that has no access to the schema."""
    role, has_usage = raw.execute(_HAS_SCHEMA_USAGE, (location.schema,)).fetchone() or ("", False)
    if not has_usage:
        problem = f"the role {role} has no access: run GRANT {APPLICATION} TO {role}"
        raise InvalidConfiguration(
            "store", f"{location.display_name}, schema {location.schema}: {problem}"
        )


def read_facts(
    raw: PsycopgConnection, location: DatabaseLocation, newest_schema: int = SCHEMA
) -> dict[str, str]:
    """Return the facts in a store's table `meta`.

    Args:
        raw: A connection whose search path is set to the schema.
        location: The location, for error messages.
        newest_schema: The newest supported schema.

    Raises:
        StoreDamaged: Facts are missing.
        StoreTooNew: The store was written by a newer Memolith.
    """
    facts: dict[str, str] = dict(raw.execute("SELECT name, value FROM meta").fetchall())
    if not {"schema", "vector", "cipher", "store_id", "key_check"} <= facts.keys():
        raise StoreDamaged(f"{location.display_name} has incomplete facts in its table meta")
    if int(facts["schema"]) > newest_schema:
        raise StoreTooNew(int(facts["schema"]), newest_schema)
    return facts


def get_vector_format(facts: Mapping[str, str]) -> VectorFormat:
    """Return the vector format of a store."""
    return select_vector_format(facts["vector"], is_encrypted=bool(facts["store_id"]))


def get_cipher(facts: Mapping[str, str], ciphers: CipherProvider) -> Cipher:
    """Return the cipher of a store.

    Raises:
        KeyUnavailable: The key is missing or wrong.
    """
    store_id, check = (bytes.fromhex(facts[name]) for name in ("store_id", "key_check"))
    return ciphers.load(facts["cipher"], store_id, check)


def lock_schema(raw: PsycopgConnection) -> None:
    """Lock the creation and migration of stores until the end of the transaction."""
    raw.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))


def create_store(
    raw: PsycopgConnection,
    location: DatabaseLocation,
    ciphers: CipherProvider,
    analyser: int,
    options: NewStoreOptions,
    migrations: Sequence[Callable[[StoreLayout], str]] = MIGRATIONS,
) -> StoreParameters | None:
    """Create a store; return None if another process was faster.

    Raises:
        StoreReadOnly: The role is not allowed to create it.
        InvalidConfiguration: pgvector is not installed, or is too old.
    """
    with raw.transaction():
        lock_schema(raw)
        if store_exists(raw, location):
            return None
        try:
            home = _install_pgvector(raw, location)
            raw.execute(
                sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(sql.Identifier(location.schema))
            )
            cipher = ciphers.create()
            form = select_vector_format(
                HALF_PRECISION.type_name if options.half_precision else FULL_PRECISION.type_name,
                is_encrypted=bool(cipher.store_id),
            )
            for migration in migrations:
                raw.execute(migration(StoreLayout(form, options.partitions)).encode())
            raw.execute(f"GRANT USAGE ON SCHEMA {home} TO {APPLICATION}".encode())
        except psycopg.errors.InsufficientPrivilege as error:
            _raise_cannot_create(location, error)
        facts = {
            "schema": str(len(migrations)),
            "vector": form.type_name,
            "analyser": str(analyser),
            "cipher": cipher.name,
            "store_id": cipher.store_id.hex(),
            "key_check": cipher.key_check.hex(),
        }
        raw.cursor().executemany("INSERT INTO meta VALUES (%s, %s)", [*facts.items()])
    return StoreParameters(form, cipher)


def _install_pgvector(raw: PsycopgConnection, location: DatabaseLocation) -> str:
    """Install pgvector in the database if necessary, and return the schema it is in.

    Raises:
        InvalidConfiguration: pgvector is not available on the server, or is too old.
    """
    try:
        raw.execute("CREATE EXTENSION IF NOT EXISTS vector SCHEMA public")
    except psycopg.errors.FeatureNotSupported as error:
        raise InvalidConfiguration(
            "store",
            f"{location.display_name} does not have pgvector: install it on the server first",
        ) from error
    version, home = raw.execute(_PGVECTOR_VERSION).fetchone() or ("0", "")
    if tuple(int(part) for part in version.split(".")[:2]) < _MIN_PGVECTOR_VERSION:
        problem = "0.8 or newer is required: run ALTER EXTENSION vector UPDATE"
        raise InvalidConfiguration(
            "store", f"{location.display_name} has pgvector {version}; {problem}"
        )
    return str(home)


def _raise_cannot_create(location: DatabaseLocation, error: psycopg.Error) -> NoReturn:
    reason = (
        f"it contains no store, and its role is not allowed to create one"
        f" ({error.diag.message_primary})"
    )
    raise StoreReadOnly(location.display_name, reason) from error


def can_assume_application_role(raw: PsycopgConnection) -> bool:
    """Return whether the session can switch to the application's role."""
    row = raw.execute(_CAN_ASSUME_ROLE, (APPLICATION, APPLICATION, APPLICATION)).fetchone()
    return bool(row and row[0])


def verify_isolation(settings: ConnectionSettings) -> None:
    """Verify that a transaction of an owner sees the rows of that owner only.

    Raises:
        InvalidConfiguration: It sees all rows, or none.
        StoreUnavailable: The database cannot be reached.
    """
    try:
        with settings.connect() as raw:
            _require_row_level_security(raw, settings)
            for owner, visible in (("", []), (str(PROBE_OWNERS[0]), [(PROBE_OWNERS[0],)])):
                with raw.transaction(force_rollback=True):
                    raw.execute(f"SET LOCAL memolith.owner = '{owner}'".encode())
                    if raw.execute("SELECT owner_id FROM probe").fetchall() != visible:
                        raise _isolation_error(settings, "row-level security shows the wrong rows")
    except psycopg.Error as error:
        raise translate_error(error, settings.display_name) from error


def _require_row_level_security(raw: PsycopgConnection, settings: ConnectionSettings) -> None:
    role, is_unbound = raw.execute(_ROLE_BYPASSES_RLS).fetchone() or ("", True)
    if is_unbound:
        raise _isolation_error(settings, f"the role {role} bypasses row-level security")
    schema = sql.Identifier(settings.schema).as_string(raw)
    unforced = raw.execute(_TABLES_WITHOUT_FORCED_RLS, (schema, list(OWNER_TABLES))).fetchall()
    if unforced:
        raise _isolation_error(settings, f"row-level security is not forced on {unforced[0][0]}")


def _isolation_error(settings: ConnectionSettings, problem: str) -> InvalidConfiguration:
    return InvalidConfiguration(
        "store", f"{settings.display_name} does not isolate owners: {problem}"
    )


# --- Upgrades


_COUNT_PARTITIONS = "SELECT count(*) FROM pg_inherits WHERE inhparent = to_regclass('owners')"


@dataclass(frozen=True, slots=True)
class UpgradeResult:
    """The result of an upgrade.

    Attributes:
        schema_before: The schema before; 0 if there was no store.
        schema_after: The schema afterwards.
    """

    schema_before: int
    schema_after: int


def upgrade(
    location: DatabaseLocation,
    *,
    ciphers: CipherProvider,
    analyser: int = 1,
    options: NewStoreOptions,
    on_schema_reached: Callable[[int], None],
    migrations: Migrations = MIGRATIONS,
) -> UpgradeResult:
    """Create a store if there is none, or upgrade it to the newest schema.

    Each migration is one transaction under a lock. After an interruption, the next call continues
    from the schema that was reached.

    Args:
        location: The location of the store.
        ciphers: Provides the cipher of a new store.
        analyser: Version of the text analysis, saved in a new store.
        options: Options of a new store.
        on_schema_reached: Called with each schema that was reached.
        migrations: The migrations.

    Raises:
        StoreUnavailable: The database cannot be reached, or another session holds a lock.
        StoreReadOnly: The role is not allowed to create or change the tables.
        StoreDamaged: The facts in `meta` are incomplete.
        StoreTooNew: The store was written by a newer Memolith. Nothing was changed.
    """
    with session(location) as raw:
        if not store_exists(raw, location) and create_store(
            raw, location, ciphers, analyser, options, migrations
        ):
            on_schema_reached(len(migrations))
            return UpgradeResult(0, len(migrations))
        old_schema = new_schema = int(read_facts(raw, location, len(migrations))["schema"])
        with require_table_owner(location):
            while _run_next_migration(raw, location, migrations):
                new_schema = int(read_facts(raw, location, len(migrations))["schema"])
                on_schema_reached(new_schema)
        return UpgradeResult(old_schema, new_schema)


def _run_next_migration(
    raw: PsycopgConnection, location: DatabaseLocation, migrations: Migrations
) -> bool:
    """Run the next migration; return False if there was none."""
    with raw.transaction():
        lock_schema(raw)
        facts = read_facts(raw, location, len(migrations))
        current = int(facts["schema"])
        if current == len(migrations):
            return False
        shape = StoreLayout(get_vector_format(facts), count_partitions(raw))
        raw.execute(migrations[current](shape).encode())
        raw.execute("UPDATE meta SET value = %s WHERE name = 'schema'", (str(current + 1),))
    return True


def count_partitions(raw: PsycopgConnection) -> int:
    """Return the number of partitions of a store's tables; 0 if they are not partitioned."""
    (partitions,) = raw.execute(_COUNT_PARTITIONS).fetchone() or (0,)
    return int(partitions)
