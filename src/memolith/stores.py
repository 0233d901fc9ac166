"""Opens stores and key rings as configured by the settings and the environment."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from memolith.adapters.models.http import require_package
from memolith.adapters.sqlite.opening import delete_store
from memolith.config import Settings
from memolith.config.loading import is_conninfo, parse_file_path, user_folder
from memolith.errors import InvalidConfiguration, StoreUnavailable
from memolith.ports.admin import Migration
from memolith.ports.cipher import CipherProvider
from memolith.ports.store import Store

if TYPE_CHECKING:
    from memolith.adapters.crypto.ciphers import ConfiguredCiphers
    from memolith.adapters.crypto.key_ring import KeyRing
    from memolith.adapters.crypto.master_key import KeyFile
    from memolith.adapters.postgres.dsn import DatabaseLocation

IN_MEMORY = ":memory:"
KEY_VARIABLE = "MEMOLITH_KEY"
"""The environment variable with the master key, or with `passphrase:` and a passphrase."""

_POSTGRES_SCHEMES = ("postgresql", "postgres")
"""The URL schemes that libpq accepts."""

_BYTES_PER_MB = 1 << 20
_MS_PER_S = 1000


def open_store(
    url: str, settings: Settings, ciphers: CipherProvider | None = None, *, unfinished: bool = False
) -> Store:
    """Open the store at a URL or path.

    Args:
        url: The URL or path.
        settings: The loaded settings.
        ciphers: Encrypts new stores and opens encrypted ones; None: configured by the settings.
        unfinished: Whether to accept the target of an incomplete migration.

    Raises:
        InvalidConfiguration: The URL's scheme is not supported.
        StoreUnavailable: It can't be opened, or holds an incomplete migration.
        StoreDamaged: It is not a Memolith store.
        StoreTooNew: A newer Memolith wrote it.
        KeyUnavailable: It is encrypted, and its key is missing or wrong.
    """
    store = _open(url, settings, ciphers)
    # Not `isinstance(store, SupportsMigration)`: that reads every property, and so the store.
    migration: Migration | None = None if unfinished else getattr(store, "migration", None)
    if migration is None or migration.states is not None:
        return store
    place = getattr(store, "location", url)
    store.close()
    raise StoreUnavailable(
        f"{place} holds an incomplete copy of {migration.place}:"
        " finish with `memolith migrate --to …`"
    )


def _open(url: str, settings: Settings, ciphers: CipherProvider | None) -> Store:
    if url == IN_MEMORY:
        from memolith.adapters.inmemory.store import InMemoryStore

        return InMemoryStore()
    scheme, separator, rest = url.partition("://")
    if is_postgres(url):
        return _open_postgres(url, settings, ciphers)
    _reject_conninfo(url)
    if separator and scheme != "sqlite":
        raise InvalidConfiguration(
            "store", f"unsupported scheme {scheme}://; give a file path or postgresql://…"
        )
    from memolith.adapters.sqlite.factory import open_sqlite

    path = parse_file_path(rest if separator else url, "store")
    return open_sqlite(path, settings, ciphers or open_ciphers(settings, url))


def is_postgres(url: str) -> bool:
    """Return whether the URL names a PostgreSQL database."""
    scheme, separator, _ = url.partition("://")
    return bool(separator) and scheme in _POSTGRES_SCHEMES


def _reject_conninfo(url: str) -> None:
    if is_conninfo(url):  # otherwise it would be taken for a file name
        raise InvalidConfiguration("store", "use a database URL: postgresql://…")


def _open_postgres(url: str, settings: Settings, ciphers: CipherProvider | None) -> Store:
    require_package("psycopg", "store", extra="postgres")
    from memolith.adapters.postgres.schema import NewStoreOptions
    from memolith.adapters.postgres.store import PostgresStore

    options = settings.postgres
    with ExitStack() as failing:
        if ciphers is None:
            ciphers = open_ciphers(settings, url)
            failing.callback(ciphers.close)
        store = PostgresStore.open(
            url,
            cipher=ciphers,
            schema=options.schema,
            busy_timeout_s=settings.busy_timeout_s,
            statement_timeout_s=options.statement_timeout_ms / _MS_PER_S,
            connections=options.connections,
            options=NewStoreOptions(options.partitions, options.half_precision),
            index_cache_bytes=settings.index_cache_mb * _BYTES_PER_MB,
            vectors_in_memory=options.vectors_in_memory,
        )
        failing.pop_all()
    return store


def open_ciphers(settings: Settings, url: str | None = None) -> ConfiguredCiphers:
    """Return the provider of ciphers for new and existing stores; `url` as in `open_key_ring`."""
    from memolith.adapters.crypto.ciphers import ConfiguredCiphers

    ring = partial(open_key_ring, settings, url)
    if os.environ.get(KEY_VARIABLE, "").strip() or is_postgres(
        settings.store if url is None else url
    ):
        ring()  # report a bad key or database URL early, even for unencrypted stores
    return ConfiguredCiphers(ring, encrypt=settings.enable_encryption)


def open_key_ring(settings: Settings, url: str | None = None) -> KeyRing:
    """Return the key ring; nothing is read or created yet.

    Args:
        settings: The loaded settings.
        url: The store that the keys belong to; None: the configured one.

    Raises:
        InvalidConfiguration: `MEMOLITH_KEY` is not a valid key.
    """
    from memolith.adapters.crypto.key_ring import KeyRing
    from memolith.adapters.crypto.master_key import parse_master_key

    url = settings.store if url is None else url
    file = key_file(settings, url)
    value = os.environ.get(KEY_VARIABLE, "").strip()
    source = parse_master_key(value, KEY_VARIABLE) if value else file
    if not _is_key_ring_in_database(settings, url):
        return KeyRing(file.path.with_name(f"{file.path.name}.ring"), source)
    from memolith.adapters.postgres.key_storage import PostgresKeyStorage

    return KeyRing(PostgresKeyStorage(postgres_location(settings, url)), source)


def key_file(settings: Settings, url: str | None = None) -> KeyFile:
    """Return the location of the master key file, whether or not the file exists.

    Each key ring in a database has its own file, named after the database: rotating the master key
    of one ring must not affect another.
    """
    from memolith.adapters.crypto.master_key import KeyFile

    url = settings.store if url is None else url
    file = user_folder() / parse_file_path(settings.encryption_key_path, "encryption_key_path")
    if not _is_key_ring_in_database(settings, url):
        return KeyFile(file)
    return KeyFile(file.with_name(f"{file.name}.{postgres_location(settings, url).slug}"))


def _is_key_ring_in_database(settings: Settings, url: str) -> bool:
    return is_postgres(url) and settings.postgres.key_ring == "database"


def postgres_location(settings: Settings, url: str) -> DatabaseLocation:
    """Return the location of a store's database.

    Raises:
        InvalidConfiguration: The URL is not valid, or psycopg is not installed.
    """
    require_package("psycopg", "store", extra="postgres")
    from memolith.adapters.postgres.dsn import parse_dsn

    return parse_dsn(url, settings.postgres.schema, settings.busy_timeout_s)


def reset_store(settings: Settings) -> list[str]:
    """Delete the configured store and its keys; return the names of everything deleted.

    Raises:
        InvalidConfiguration: The URL's scheme is not supported.
        StoreDamaged: It is not a Memolith store.
        StoreReadOnly: The database role may not delete it.
        StoreUnavailable: It is being written to.
        ServiceFailed: Chroma holds its vectors and can't be reached.
    """
    from memolith.adapters.sqlite.factory import remove_vectors

    with closing(open_key_ring(settings)) as ring:

        def forget(store_id: bytes) -> None:
            if ring.storage.exists():
                ring.remove_store(store_id)

        if is_postgres(settings.store):
            return _reset_postgres(postgres_location(settings, settings.store), forget)
        path = store_path(settings.store)
        removed = remove_vectors(path, settings)
        removed += delete_store(path, settings.busy_timeout_s, forget)
        return [str(each) for each in sorted(removed)]


def _reset_postgres(place: DatabaseLocation, forget: Callable[[bytes], None]) -> list[str]:
    from memolith.adapters.postgres.admin import delete_store

    is_removed = delete_store(place, forget)
    return [f"{place.display_name}, schema {place.schema}"] if is_removed else []


def store_exists(url: str) -> bool:
    """Return whether the store exists; assumed for databases and `:memory:`."""
    return url == IN_MEMORY or is_postgres(url) or store_path(url).exists()


def store_path(url: str) -> Path:
    """Return the file of a store's URL or path."""
    scheme, separator, rest = url.partition("://")
    _reject_conninfo(url)
    if url == IN_MEMORY or (separator and scheme != "sqlite"):
        masked = f"{scheme}://…" if separator else url  # the rest may hold a password
        raise InvalidConfiguration("store", f"{masked} is not a file; give a file path")
    return parse_file_path(rest if separator else url, "store")


def store_url(url: str | os.PathLike[str]) -> str:
    """Return a store's URL or path as text."""
    return url if isinstance(url, str) else str(parse_file_path(url, "store"))
