"""Opening a database: is a store in it, of which schema, and does it keep owners apart?"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Any, NoReturn

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from mnemon.adapters.postgres.connections import Access, translated
from mnemon.adapters.postgres.schema import APPLICATION, BOUND, PROBES, SCHEMA, first
from mnemon.adapters.postgres.values import FORMS, HIDDEN, PLAIN, VectorForm
from mnemon.errors import (
    InvalidConfiguration,
    StoreDamaged,
    StoreReadOnly,
    StoreTooNew,
    StoreUnavailable,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mnemon.adapters.postgres.connections import Raw
    from mnemon.ports.cipher import Cipher, Ciphers

_LOCK = 0x4D6E656D
"""Of two who make or migrate a store at once, one waits for the other: "Mnem"."""

_UNFORCED = (
    "SELECT relname FROM pg_class WHERE relnamespace = to_regnamespace(%s)"
    " AND relname = ANY(%s) AND NOT (relrowsecurity AND relforcerowsecurity) ORDER BY relname"
)
_IS_UNBOUND = (
    "SELECT current_user, rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user"
)
_MAY_BECOME = (
    "SELECT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = %s)"
    " AND pg_has_role(%s, 'SET') AND session_user <> %s"
)


@dataclass(frozen=True, slots=True)
class Place:
    """A database, and the schema in it.

    Attributes:
        conninfo: Where it is, as libpq takes it.
        name: How it is called in messages, without a password.
        schema: The schema.
    """

    conninfo: str
    name: str
    schema: str


def place_of(url: str, schema: str, timeout_s: float) -> Place:
    """Return what a URL names.

    Raises:
        InvalidConfiguration: It is none that libpq takes.
    """
    try:
        parts: dict[str, Any] = conninfo_to_dict(url)
    except psycopg.ProgrammingError as error:
        # The error may quote the URL, and a password with it.
        raise InvalidConfiguration("store", "is not a URL of PostgreSQL's") from error
    parts.setdefault("connect_timeout", max(1, ceil(timeout_s)))
    parts.setdefault("application_name", "mnemon")
    where = parts.get("host") or parts.get("hostaddr") or "localhost"
    name = f"PostgreSQL at {where}:{parts.get('port') or 5432}/{parts.get('dbname') or ''}"
    return Place(make_conninfo("", **parts), name, schema)


@contextmanager
def session(place: Place) -> Iterator[Raw]:
    """Lend a connection as whom the URL names, to look at a database or to change its tables.

    Raises:
        StoreUnavailable: It can't be reached.
    """
    try:
        with psycopg.connect(place.conninfo, autocommit=True) as raw:
            raw.execute(
                sql.SQL("SET search_path = {}, public").format(sql.Identifier(place.schema))
            )
            yield raw
    except psycopg.Error as error:
        raise translated(error, place.name) from error


def prepare(
    place: Place, *, ciphers: Ciphers, analyser: int, partitions: int = 0
) -> tuple[VectorForm, Cipher]:
    """Make a store where there is none; return how its vectors stand, and its cipher.

    Raises:
        StoreUnavailable: The database can't be reached, or is of an older schema.
        StoreReadOnly: There is no store, and none may be made.
        StoreDamaged: It does not say what it is.
        StoreTooNew: A newer Mnemon has written it.
        KeyUnavailable: Its key is missing, or another; nothing was changed.
    """
    with session(place) as raw:
        if not _is_there(raw, place):
            made = _made(raw, place, ciphers, analyser, partitions)
            if made is not None:
                return made
        facts = _facts(raw, place)
        return FORMS[facts["vector"]], ciphers.known(
            facts["cipher"], bytes.fromhex(facts["store_id"]), bytes.fromhex(facts["key_check"])
        )


def _is_there(raw: Raw, place: Place) -> bool:
    found = raw.execute(
        "SELECT EXISTS (SELECT 1 FROM pg_class WHERE relname = 'meta'"
        " AND relnamespace = to_regnamespace(%s))",
        (sql.Identifier(place.schema).as_string(raw),),
    ).fetchone()
    return bool(found and found[0])


def _facts(raw: Raw, place: Place) -> dict[str, str]:
    facts: dict[str, str] = dict(raw.execute("SELECT name, value FROM meta").fetchall())
    if not {"schema", "vector", "cipher"} <= facts.keys():
        raise StoreDamaged(f"{place.name} does not say what it was made with")
    found = int(facts["schema"])
    if found > SCHEMA:
        raise StoreTooNew(found, SCHEMA)
    if found < SCHEMA:
        raise StoreUnavailable(
            f"{place.name} has schema {found}, this Mnemon needs {SCHEMA}: run `mnemon db upgrade`"
        )
    return facts


def _made(
    raw: Raw, place: Place, ciphers: Ciphers, analyser: int, partitions: int
) -> tuple[VectorForm, Cipher] | None:
    """Make a store; None: somebody else was faster."""
    with raw.transaction():
        raw.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        if _is_there(raw, place):
            return None
        try:
            raw.execute("CREATE EXTENSION IF NOT EXISTS vector SCHEMA public")
            raw.execute(
                sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(sql.Identifier(place.schema))
            )
            cipher = ciphers.new()
            form = HIDDEN if cipher.store_id else PLAIN
            raw.execute(first(form, partitions).encode())
        except psycopg.errors.InsufficientPrivilege as error:
            _refuse_to_make(place, error)
        facts = {
            "schema": str(SCHEMA),
            "vector": form.type_name,
            "analyser": str(analyser),
            "cipher": cipher.name,
            "store_id": cipher.store_id.hex(),
            "key_check": cipher.check.hex(),
        }
        raw.cursor().executemany("INSERT INTO meta VALUES (%s, %s)", [*facts.items()])
    return form, cipher


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
        with psycopg.connect(access.conninfo, autocommit=True) as raw:
            access.configure(raw)
            _refuse_unbound(raw, access)
            for owner, visible in (("", []), (str(PROBES[0]), [(PROBES[0],)])):
                with raw.transaction(force_rollback=True):
                    raw.execute("SELECT set_config('mnemon.owner', %s, true)", (owner,))
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
