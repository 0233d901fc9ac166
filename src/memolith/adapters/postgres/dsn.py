"""Parse database URLs, and open plain sessions for administration."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import ceil
from typing import Any

import psycopg
from psycopg import pq, sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from memolith.adapters.postgres.connections import (
    KEEPALIVE_COUNT,
    KEEPALIVE_IDLE_S,
    KEEPALIVE_INTERVAL_S,
    PsycopgConnection,
    build_search_path,
    lock_timeout_ms,
    translate_error,
)
from memolith.errors import InvalidConfiguration, StoreReadOnly

_SCHEMA_NAME = re.compile(r"(?!pg_)[a-z_][a-z0-9_]{0,54}")
"""Names that need no quotes. PostgreSQL allows 63 bytes, which leaves room for a suffix."""

INSPECTION_TIMEOUT_S = 60.0
"""Response timeout for queries that only inspect the database. A guess."""

_KEEPALIVES = {
    "keepalives_idle": KEEPALIVE_IDLE_S,
    "keepalives_interval": KEEPALIVE_INTERVAL_S,
    "keepalives_count": KEEPALIVE_COUNT,
}

_MIN_SERVER_VERSION = 17
"""Required for `GRANT MAINTAIN`. (`GRANT … WITH SET` needs 16.)"""

_PORTS = re.compile(r"[0-9,]*")
_INVALID_URL = (
    "is not a valid PostgreSQL URL: special characters in a password must be written as %XX"
)


@dataclass(frozen=True, slots=True)
class DatabaseLocation:
    """A database and a schema in it.

    Attributes:
        conninfo: The connection string for libpq, which may contain a password.
        display_name: The name of the database in messages, without a password.
        schema: The schema.
        timeout_s: Timeout for locks.
    """

    conninfo: str = field(repr=False)
    display_name: str
    schema: str
    timeout_s: float

    @property
    def slug(self) -> str:
        """A part of a file name that is specific to this database and schema."""
        return re.sub(r"[^a-z0-9_]+", "-", f"{self.display_name}-{self.schema}".lower())


def parse_dsn(url: str, schema: str, timeout_s: float) -> DatabaseLocation:
    """Return the location that a URL names. As in `psql`, libpq fills in missing parts.

    Raises:
        InvalidConfiguration: The URL is invalid, or the schema's name is.
    """
    if _SCHEMA_NAME.fullmatch(schema) is None:
        problem = "must have up to 55 lowercase letters, digits and _, and not start with pg_"
        raise InvalidConfiguration("postgres.schema", problem)
    try:
        parts: dict[str, Any] = conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        # The original error may quote the URL and its password.
        raise InvalidConfiguration("store", _INVALID_URL) from None
    _reject_ambiguous_url(url, parts)
    parts.setdefault("connect_timeout", max(1, ceil(timeout_s)))
    parts.setdefault("application_name", "memolith")
    parts.setdefault("tcp_user_timeout", round(timeout_s * 1000))
    for name, value in _KEEPALIVES.items():
        parts.setdefault(name, value)
    return DatabaseLocation(
        make_conninfo("", **parts), _build_display_name(parts), schema, timeout_s
    )


def _reject_ambiguous_url(url: str, parts: Mapping[str, Any]) -> None:
    """Refuse a URL with an unencoded "/" or "@" in its password.

    Part of the password would be taken for a host, port or database, and appear in messages.
    """
    before, _, path = url.partition("://")[2].partition("/")
    has_unencoded = "@" in path.partition("?")[0] or before.count("@") > 1
    if has_unencoded or not _PORTS.fullmatch(str(parts.get("port") or "")):
        raise InvalidConfiguration("store", _INVALID_URL)


def _build_display_name(parts: dict[str, Any]) -> str:
    """Return the name of a database for messages, including libpq's environment variables."""
    if "service" in parts:
        return f"PostgreSQL by the service {parts['service']}"
    defaults = {
        option.keyword.decode(): option.val.decode()
        for option in pq.Conninfo.get_defaults()
        if option.val
    } | parts
    where = defaults.get("host") or defaults.get("hostaddr") or "localhost"
    return f"PostgreSQL at {where}:{defaults.get('port') or 5432}/{defaults.get('dbname') or ''}"


@contextmanager
def session(
    location: DatabaseLocation, *, response_timeout_s: float | None = None
) -> Iterator[PsycopgConnection]:
    """Open a connection with the role in the URL, to inspect a database or change its tables.

    Args:
        location: The database.
        response_timeout_s: How long the server may send nothing while a statement runs. None: no
            limit, for example to change or fill tables.

    Raises:
        StoreUnavailable: The database cannot be reached.
        InvalidConfiguration: The server is too old.
    """
    try:
        with PsycopgConnection.connect(location.conninfo, autocommit=True) as raw:
            settings = (
                build_search_path(location.schema),
                sql.SQL("SET lock_timeout = {}").format(lock_timeout_ms(location.timeout_s)),
            )
            _require_supported_server(raw, location)
            raw.response_timeout_s = response_timeout_s
            raw.execute(sql.SQL("; ").join(settings))
            yield raw
    except psycopg.Error as error:
        raise translate_error(error, location.display_name) from error


@contextmanager
def require_table_owner(location: DatabaseLocation) -> Iterator[None]:
    """Translate the error of a statement that only the owner of the tables can run.

    Raises:
        StoreReadOnly: The role does not own the tables.
    """
    try:
        yield
    except psycopg.errors.InsufficientPrivilege as error:
        message = error.diag.message_primary
        reason = f"its role does not own the tables ({message}): run this as the role that does"
        raise StoreReadOnly(location.display_name, reason) from error


def _require_supported_server(raw: PsycopgConnection, location: DatabaseLocation) -> None:
    if raw.info.server_version < _MIN_SERVER_VERSION * 10_000:
        version = raw.info.parameter_status("server_version")
        problem = f"is PostgreSQL {version}; version {_MIN_SERVER_VERSION} or newer is required"
        raise InvalidConfiguration("store", f"{location.display_name} {problem}")
