"""Opening a database: is a store in it, of which schema, and does it keep owners apart?"""

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
"""Of two who make or migrate a store at once, one waits for the other: "Memo"."""

_TABLES_WITHOUT_FORCED_RLS = (
    "SELECT relname FROM pg_class WHERE relnamespace = to_regnamespace(%s)"
    " AND relname = ANY(%s) AND NOT (relrowsecurity AND relforcerowsecurity) ORDER BY relname"
)
_ROLE_BYPASSES_RLS = (
    "SELECT current_user, rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user"
)
DISTRIBUTED = "distributed"
"""What a store says of itself whose tables Citus has on several machines."""

_HAS_SCHEMA_USAGE = "SELECT quote_ident(current_user), has_schema_privilege(%s, 'USAGE')"
_PGVECTOR_VERSION = (
    "SELECT e.extversion, quote_ident(n.nspname) FROM pg_extension AS e"
    " JOIN pg_namespace AS n ON n.oid = e.extnamespace WHERE e.extname = 'vector'"
)
_MIN_PGVECTOR_VERSION = (0, 8)
"""Iterative scans."""

_CAN_ASSUME_ROLE = (
    "SELECT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = %s)"
    " AND pg_has_role(%s, 'SET') AND session_user <> %s"
)


@dataclass(frozen=True, slots=True)
class StoreParameters:
    """What a store is opened with.

    Attributes:
        form: How its vectors stand.
        cipher: Its cipher.
        is_distributed: Whether Citus has its tables on several machines.
    """

    vector_format: VectorFormat
    cipher: Cipher
    is_distributed: bool = False


def open_or_create(
    location: DatabaseLocation, *, ciphers: CipherProvider, analyser: int, options: NewStoreOptions
) -> StoreParameters:
    """Make a store where there is none; return what it is opened with.

    Raises:
        StoreUnavailable: The database can't be reached, or is of an older schema.
        StoreReadOnly: There is no store, and none may be made.
        InvalidConfiguration: The server or pgvector is too old, or the role may not use it.
        StoreDamaged: It does not say what it is.
        StoreTooNew: A newer Memolith has written it.
        KeyUnavailable: Its key is missing, or another; nothing was changed.
    """
    with session(location, response_timeout_s=INSPECTION_TIMEOUT_S + location.timeout_s) as raw:
        if not store_exists(raw, location):
            made = create_store(raw, location, ciphers, analyser, options)
            if made is not None:
                return made
        _require_schema_usage(raw, location)
        facts = read_facts(raw, location)
        if int(facts["schema"]) < SCHEMA:
            raise StoreUnavailable(
                f"{location.display_name} has schema {facts['schema']}, this Memolith needs {SCHEMA}:"
                " run `memolith db upgrade`"
            )
        return StoreParameters(
            get_vector_format(facts), get_cipher(facts, ciphers), DISTRIBUTED in facts
        )


def store_exists(raw: PsycopgConnection, location: DatabaseLocation) -> bool:
    """Tell whether there is a store in a schema."""
    found = raw.execute(
        "SELECT EXISTS (SELECT 1 FROM pg_class WHERE relname = 'meta'"
        " AND relnamespace = to_regnamespace(%s))",
        (sql.Identifier(location.schema).as_string(raw),),
    ).fetchone()
    return bool(found and found[0])


def _require_schema_usage(raw: PsycopgConnection, location: DatabaseLocation) -> None:
    """Refuse a role that does not so much as see the tables."""
    role, may_use = raw.execute(_HAS_SCHEMA_USAGE, (location.schema,)).fetchone() or ("", False)
    if not may_use:
        problem = f"the role {role} may not use it: GRANT {APPLICATION} TO {role}"
        raise InvalidConfiguration(
            "store", f"{location.display_name}, schema {location.schema}: {problem}"
        )


def read_facts(
    raw: PsycopgConnection, location: DatabaseLocation, newest_schema: int = SCHEMA
) -> dict[str, str]:
    """Return what a store says of itself.

    Args:
        raw: Within its schema.
        place: What it is called.
        known: The newest schema that may be.

    Raises:
        StoreDamaged: Too little.
        StoreTooNew: A newer Memolith has written it.
    """
    facts: dict[str, str] = dict(raw.execute("SELECT name, value FROM meta").fetchall())
    if not {"schema", "vector", "cipher", "store_id", "key_check"} <= facts.keys():
        raise StoreDamaged(f"{location.display_name} does not say what it was made with")
    if int(facts["schema"]) > newest_schema:
        raise StoreTooNew(int(facts["schema"]), newest_schema)
    return facts


def get_vector_format(facts: Mapping[str, str]) -> VectorFormat:
    """Return how the vectors of a store stand, by what it says of itself."""
    return select_vector_format(facts["vector"], is_encrypted=bool(facts["store_id"]))


def get_cipher(facts: Mapping[str, str], ciphers: CipherProvider) -> Cipher:
    """Return the cipher of a store, by what it says of itself.

    Raises:
        KeyUnavailable: Its key is missing, or another.
    """
    store_id, check = (bytes.fromhex(facts[name]) for name in ("store_id", "key_check"))
    return ciphers.load(facts["cipher"], store_id, check)


def lock_schema(raw: PsycopgConnection) -> None:
    """Let nobody else make or migrate a store until the transaction's end."""
    raw.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))


def create_store(
    raw: PsycopgConnection,
    location: DatabaseLocation,
    ciphers: CipherProvider,
    analyser: int,
    options: NewStoreOptions,
    migrations: Sequence[Callable[[StoreLayout], str]] = MIGRATIONS,
) -> StoreParameters | None:
    """Make a store; None: somebody else was faster.

    Raises:
        StoreReadOnly: Who is connected may not.
        InvalidConfiguration: There is no pgvector, or it is too old.
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
    """Have pgvector in the database; return in which schema it is.

    Raises:
        InvalidConfiguration: It is not installed on the server, or too old.
    """
    try:
        raw.execute("CREATE EXTENSION IF NOT EXISTS vector SCHEMA public")
    except psycopg.errors.FeatureNotSupported as error:
        raise InvalidConfiguration(
            "store", f"{location.display_name} has no pgvector to install"
        ) from error
    version, home = raw.execute(_PGVECTOR_VERSION).fetchone() or ("0", "")
    if tuple(int(part) for part in version.split(".")[:2]) < _MIN_PGVECTOR_VERSION:
        problem = "0.8 or newer is needed: ALTER EXTENSION vector UPDATE"
        raise InvalidConfiguration(
            "store", f"{location.display_name} has pgvector {version}; {problem}"
        )
    return str(home)


def _raise_cannot_create(location: DatabaseLocation, error: psycopg.Error) -> NoReturn:
    reason = (
        f"there is no store in it, and its role may not make one ({error.diag.message_primary})"
    )
    raise StoreReadOnly(location.display_name, reason) from error


def can_assume_application_role(raw: PsycopgConnection) -> bool:
    """Whether the session's role can be put off for the application's."""
    found = raw.execute(_CAN_ASSUME_ROLE, (APPLICATION, APPLICATION, APPLICATION)).fetchone()
    return bool(found and found[0])


def verify_isolation(settings: ConnectionSettings) -> None:
    """See that the application sees one owner's rows, and no others.

    Raises:
        InvalidConfiguration: It sees all, or none.
        StoreUnavailable: The database can't be reached.
    """
    try:
        with settings.connect() as raw:
            _require_row_level_security(raw, settings)
            for owner, visible in (("", []), (str(PROBE_OWNERS[0]), [(PROBE_OWNERS[0],)])):
                with raw.transaction(force_rollback=True):
                    raw.execute(f"SET LOCAL memolith.api.owner = '{owner}'".encode())
                    if raw.execute("SELECT owner_id FROM probe").fetchall() != visible:
                        raise _isolation_error(settings, "rows are not seen by whose they are")
    except psycopg.Error as error:
        raise translate_error(error, settings.display_name) from error


def _require_row_level_security(raw: PsycopgConnection, settings: ConnectionSettings) -> None:
    role, is_unbound = raw.execute(_ROLE_BYPASSES_RLS).fetchone() or ("", True)
    if is_unbound:
        raise _isolation_error(settings, f"the role {role} is bound by no row-level security")
    schema = sql.Identifier(settings.schema).as_string(raw)
    unforced = raw.execute(_TABLES_WITHOUT_FORCED_RLS, (schema, list(OWNER_TABLES))).fetchall()
    if unforced:
        raise _isolation_error(settings, f"row-level security is not forced on {unforced[0][0]}")


def _isolation_error(settings: ConnectionSettings, problem: str) -> InvalidConfiguration:
    return InvalidConfiguration(
        "store", f"{settings.display_name} does not keep owners apart: {problem}"
    )


# --- Bringing a store up to date, as `memolith db upgrade` does: a migration at a time


_COUNT_PARTITIONS = "SELECT count(*) FROM pg_inherits WHERE inhparent = to_regclass('owners')"


@dataclass(frozen=True, slots=True)
class UpgradeResult:
    """What became of a store.

    Attributes:
        found: The schema it had; 0 where there was no store.
        reached: The schema it has.
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
    """Make a store where there is none, or bring one up to date.

    Each migration is a transaction of its own, with nobody else migrating: interrupted anywhere,
    the store has the schema that was reached, and the next call goes on from there.

    Args:
        place: Where.
        ciphers: What a new store is encrypted with.
        analyser: By which version of the analyser a new one is indexed.
        making: How a new one is to be.
        told: Is called with each schema that is reached.
        migrations: What there is.

    Raises:
        StoreUnavailable: The database can't be reached, or somebody holds a table for too long.
        StoreReadOnly: Who is connected may not make or change the tables.
        StoreDamaged: It does not say what it is.
        StoreTooNew: A newer Memolith has written it; nothing was changed.
    """
    with session(location) as raw:
        if not store_exists(raw, location) and create_store(
            raw, location, ciphers, analyser, options, migrations
        ):
            on_schema_reached(len(migrations))
            return UpgradeResult(0, len(migrations))
        found = reached = int(read_facts(raw, location, len(migrations))["schema"])
        with require_table_owner(location):
            while _run_next_migration(raw, location, migrations):
                reached = int(read_facts(raw, location, len(migrations))["schema"])
                on_schema_reached(reached)
        return UpgradeResult(found, reached)


def _run_next_migration(
    raw: PsycopgConnection, location: DatabaseLocation, migrations: Migrations
) -> bool:
    """Run the next migration; return whether there was one."""
    with raw.transaction():
        lock_schema(raw)
        facts = read_facts(raw, location, len(migrations))
        found = int(facts["schema"])
        if found == len(migrations):
            return False
        shape = StoreLayout(get_vector_format(facts), count_partitions(raw))
        raw.execute(migrations[found](shape).encode())
        raw.execute("UPDATE meta SET value = %s WHERE name = 'schema'", (str(found + 1),))
    return True


def count_partitions(raw: PsycopgConnection) -> int:
    """Return into how many parts the tables of a store are parted; 0: none."""
    (parts,) = raw.execute(_COUNT_PARTITIONS).fetchone() or (0,)
    return int(parts)
