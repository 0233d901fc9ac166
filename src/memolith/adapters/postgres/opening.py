"""Opening a database: is a store in it, of which schema, and does it keep owners apart?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

import psycopg
from psycopg import sql

from memolith.adapters.postgres.connections import Access, translated
from memolith.adapters.postgres.places import LOOKING_S, session
from memolith.adapters.postgres.schema import (
    APPLICATION,
    BOUND,
    MIGRATIONS,
    PROBES,
    SCHEMA,
    Shape,
)
from memolith.adapters.postgres.values import PLAIN, WHOLE, VectorForm, form_of
from memolith.errors import (
    InvalidConfiguration,
    StoreDamaged,
    StoreReadOnly,
    StoreTooNew,
    StoreUnavailable,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from memolith.adapters.postgres.places import Place
    from memolith.adapters.postgres.pool import Raw
    from memolith.adapters.postgres.schema import Making
    from memolith.ports.cipher import Cipher, Ciphers

_LOCK = 0x4D656D6F
"""Of two who make or migrate a store at once, one waits for the other: "Memo"."""

_UNFORCED = (
    "SELECT relname FROM pg_class WHERE relnamespace = to_regnamespace(%s)"
    " AND relname = ANY(%s) AND NOT (relrowsecurity AND relforcerowsecurity) ORDER BY relname"
)
_IS_UNBOUND = (
    "SELECT current_user, rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user"
)
DISTRIBUTED = "distributed"
"""What a store says of itself whose tables Citus has on several machines."""

_MAY_USE = "SELECT quote_ident(current_user), has_schema_privilege(%s, 'USAGE')"
_VECTOR = (
    "SELECT e.extversion, quote_ident(n.nspname) FROM pg_extension AS e"
    " JOIN pg_namespace AS n ON n.oid = e.extnamespace WHERE e.extname = 'vector'"
)
_OLDEST_VECTOR = (0, 8)
"""Iterative scans."""

_MAY_BECOME = (
    "SELECT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = %s)"
    " AND pg_has_role(%s, 'SET') AND session_user <> %s"
)


@dataclass(frozen=True, slots=True)
class Prepared:
    """What a store is opened with.

    Attributes:
        form: How its vectors stand.
        cipher: Its cipher.
        is_distributed: Whether Citus has its tables on several machines.
    """

    form: VectorForm
    cipher: Cipher
    is_distributed: bool = False


def prepare(place: Place, *, ciphers: Ciphers, analyser: int, making: Making) -> Prepared:
    """Make a store where there is none; return what it is opened with.

    Raises:
        StoreUnavailable: The database can't be reached, or is of an older schema.
        StoreReadOnly: There is no store, and none may be made.
        InvalidConfiguration: The server or pgvector is too old, or the role may not use it.
        StoreDamaged: It does not say what it is.
        StoreTooNew: A newer Memolith has written it.
        KeyUnavailable: Its key is missing, or another; nothing was changed.
    """
    with session(place, patience_s=LOOKING_S + place.timeout_s) as raw:
        if not is_there(raw, place):
            made = make(raw, place, ciphers, analyser, making)
            if made is not None:
                return made
        _refuse_stranger(raw, place)
        facts = facts_of(raw, place)
        if int(facts["schema"]) < SCHEMA:
            raise StoreUnavailable(
                f"{place.name} has schema {facts['schema']}, this Memolith needs {SCHEMA}:"
                " run `memolith db upgrade`"
            )
        return Prepared(form_in(facts), cipher_in(facts, ciphers), DISTRIBUTED in facts)


def is_there(raw: Raw, place: Place) -> bool:
    """Tell whether there is a store in a schema."""
    found = raw.execute(
        "SELECT EXISTS (SELECT 1 FROM pg_class WHERE relname = 'meta'"
        " AND relnamespace = to_regnamespace(%s))",
        (sql.Identifier(place.schema).as_string(raw),),
    ).fetchone()
    return bool(found and found[0])


def _refuse_stranger(raw: Raw, place: Place) -> None:
    """Refuse a role that does not so much as see the tables."""
    role, may_use = raw.execute(_MAY_USE, (place.schema,)).fetchone() or ("", False)
    if not may_use:
        problem = f"the role {role} may not use it: GRANT {APPLICATION} TO {role}"
        raise InvalidConfiguration("store", f"{place.name}, schema {place.schema}: {problem}")


def facts_of(raw: Raw, place: Place, known: int = SCHEMA) -> dict[str, str]:
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
        raise StoreDamaged(f"{place.name} does not say what it was made with")
    if int(facts["schema"]) > known:
        raise StoreTooNew(int(facts["schema"]), known)
    return facts


def form_in(facts: Mapping[str, str]) -> VectorForm:
    """Return how the vectors of a store stand, by what it says of itself."""
    return form_of(facts["vector"], is_hidden=bool(facts["store_id"]))


def cipher_in(facts: Mapping[str, str], ciphers: Ciphers) -> Cipher:
    """Return the cipher of a store, by what it says of itself.

    Raises:
        KeyUnavailable: Its key is missing, or another.
    """
    store_id, check = (bytes.fromhex(facts[name]) for name in ("store_id", "key_check"))
    return ciphers.known(facts["cipher"], store_id, check)


def lock_schema(raw: Raw) -> None:
    """Let nobody else make or migrate a store until the transaction's end."""
    raw.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))


def make(
    raw: Raw,
    place: Place,
    ciphers: Ciphers,
    analyser: int,
    making: Making,
    migrations: Sequence[Callable[[Shape], str]] = MIGRATIONS,
) -> Prepared | None:
    """Make a store; None: somebody else was faster.

    Raises:
        StoreReadOnly: Who is connected may not.
        InvalidConfiguration: There is no pgvector, or it is too old.
    """
    with raw.transaction():
        lock_schema(raw)
        if is_there(raw, place):
            return None
        try:
            home = _have_vectors(raw, place)
            raw.execute(
                sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(sql.Identifier(place.schema))
            )
            cipher = ciphers.new()
            form = form_of(
                PLAIN.type_name if making.half_precision else WHOLE.type_name,
                is_hidden=bool(cipher.store_id),
            )
            for migration in migrations:
                raw.execute(migration(Shape(form, making.partitions)).encode())
            raw.execute(f"GRANT USAGE ON SCHEMA {home} TO {APPLICATION}".encode())
        except psycopg.errors.InsufficientPrivilege as error:
            _refuse_to_make(place, error)
        facts = {
            "schema": str(len(migrations)),
            "vector": form.type_name,
            "analyser": str(analyser),
            "cipher": cipher.name,
            "store_id": cipher.store_id.hex(),
            "key_check": cipher.check.hex(),
        }
        raw.cursor().executemany("INSERT INTO meta VALUES (%s, %s)", [*facts.items()])
    return Prepared(form, cipher)


def _have_vectors(raw: Raw, place: Place) -> str:
    """Have pgvector in the database; return in which schema it is.

    Raises:
        InvalidConfiguration: It is not installed on the server, or too old.
    """
    try:
        raw.execute("CREATE EXTENSION IF NOT EXISTS vector SCHEMA public")
    except psycopg.errors.FeatureNotSupported as error:
        raise InvalidConfiguration("store", f"{place.name} has no pgvector to install") from error
    version, home = raw.execute(_VECTOR).fetchone() or ("0", "")
    if tuple(int(part) for part in version.split(".")[:2]) < _OLDEST_VECTOR:
        problem = "0.8 or newer is needed: ALTER EXTENSION vector UPDATE"
        raise InvalidConfiguration("store", f"{place.name} has pgvector {version}; {problem}")
    return str(home)


def _refuse_to_make(place: Place, error: psycopg.Error) -> NoReturn:
    reason = (
        f"there is no store in it, and its role may not make one ({error.diag.message_primary})"
    )
    raise StoreReadOnly(place.name, reason) from error


def may_become_application(raw: Raw) -> bool:
    """Whether the session's role can be put off for the application's."""
    found = raw.execute(_MAY_BECOME, (APPLICATION, APPLICATION, APPLICATION)).fetchone()
    return bool(found and found[0])


def probe(access: Access) -> None:
    """See that the application sees one owner's rows, and no others.

    Raises:
        InvalidConfiguration: It sees all, or none.
        StoreUnavailable: The database can't be reached.
    """
    try:
        with access.connect() as raw:
            _refuse_unbound(raw, access)
            for owner, visible in (("", []), (str(PROBES[0]), [(PROBES[0],)])):
                with raw.transaction(force_rollback=True):
                    raw.execute(f"SET LOCAL memolith.owner = '{owner}'".encode())
                    if raw.execute("SELECT owner_id FROM probe").fetchall() != visible:
                        raise _unsafe(access, "rows are not seen by whose they are")
    except psycopg.Error as error:
        raise translated(error, access.place) from error


def _refuse_unbound(raw: Raw, access: Access) -> None:
    role, is_unbound = raw.execute(_IS_UNBOUND).fetchone() or ("", True)
    if is_unbound:
        raise _unsafe(access, f"the role {role} is bound by no row-level security")
    schema = sql.Identifier(access.schema).as_string(raw)
    unforced = raw.execute(_UNFORCED, (schema, list(BOUND))).fetchall()
    if unforced:
        raise _unsafe(access, f"row-level security is not forced on {unforced[0][0]}")


def _unsafe(access: Access, problem: str) -> InvalidConfiguration:
    return InvalidConfiguration("store", f"{access.place} does not keep owners apart: {problem}")
