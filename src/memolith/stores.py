"""Opens stores and their keys as the settings and the environment say."""

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
"""The environment variable that holds the master key, or `passphrase:` and one."""

_POSTGRES_SCHEMES = ("postgresql", "postgres")
"""The schemes that libpq takes."""

_BYTES_PER_MB = 1 << 20
_MS_PER_S = 1000


def open_store(
    url: str, settings: Settings, ciphers: CipherProvider | None = None, *, unfinished: bool = False
) -> Store:
    """Open the store that a URL or path names.

    Args:
        url: The URL or path.
        settings: How it is opened.
        ciphers: What it is sealed with, or known by; None: by the settings.
        unfinished: Whether it may be one that a migration has not come to the end with.

    Raises:
        InvalidConfiguration: There is no such kind of store.
        StoreUnavailable: It can't be opened.
        StoreDamaged: It is no store.
        StoreTooNew: A newer Memolith wrote it.
        KeyUnavailable: It is encrypted, and its key is missing or another.
    """
    store = _open(url, settings, ciphers)
    # Only what is `Movable` has it; to ask for all that this is would read the store.
    moved: Migration | None = None if unfinished else getattr(store, "migration", None)
    if moved is None or moved.states is not None:
        return store
    place = getattr(store, "location", url)
    store.close()
    raise StoreUnavailable(
        f"{place} holds a part of {moved.place} only: go on with `memolith migrate --to …`"
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
            "store", f"there is no store for {scheme}://; give a file's path or postgresql://…"
        )
    from memolith.adapters.sqlite.factory import open_sqlite

    path = parse_file_path(rest if separator else url, "store")
    return open_sqlite(path, settings, ciphers or open_ciphers(settings, url))


def is_postgres(url: str) -> bool:
    """Tell whether a store is in a PostgreSQL database."""
    scheme, separator, _ = url.partition("://")
    return bool(separator) and scheme in _POSTGRES_SCHEMES


def _reject_conninfo(url: str) -> None:
    if is_conninfo(url):  # else it would be a file of that name
        raise InvalidConfiguration("store", "give a database as a URL: postgresql://…")


def _open_postgres(url: str, settings: Settings, ciphers: CipherProvider | None) -> Store:
    require_package("psycopg", "store", extra="postgres")
    from memolith.adapters.postgres.schema import NewStoreOptions
    from memolith.adapters.postgres.store import PostgresStore

    own = settings.postgres
    with ExitStack() as failing:
        if ciphers is None:
            ciphers = open_ciphers(settings, url)
            failing.callback(ciphers.close)
        store = PostgresStore.open(
            url,
            cipher=ciphers,
            schema=own.schema,
            busy_timeout_s=settings.busy_timeout_s,
            statement_timeout_s=own.statement_timeout_ms / _MS_PER_S,
            connections=own.connections,
            options=NewStoreOptions(own.partitions, own.half_precision),
            index_cache_bytes=settings.index_cache_mb * _BYTES_PER_MB,
            vectors_in_memory=own.vectors_in_memory,
        )
        failing.pop_all()
    return store


def open_ciphers(settings: Settings, url: str | None = None) -> ConfiguredCiphers:
    """Return what new stores are encrypted with, and known ones are; `url` as in `open_ring`."""
    from memolith.adapters.crypto.ciphers import ConfiguredCiphers

    ring = partial(open_key_ring, settings, url)
    if os.environ.get(KEY_VARIABLE, "").strip() or is_postgres(
        settings.store if url is None else url
    ):
        ring()  # says what is wrong with the key or the database, whatever the store is
    return ConfiguredCiphers(ring, encrypt=settings.enable_encryption)


def open_key_ring(settings: Settings, url: str | None = None) -> KeyRing:
    """Return the key ring; nothing is read or made yet.

    Args:
        settings: What is configured.
        url: Of the store whose keys they are, where that is another.

    Raises:
        InvalidConfiguration: `MEMOLITH_KEY` is no key.
    """
    from memolith.adapters.crypto.key_ring import KeyRing
    from memolith.adapters.crypto.master_key import parse_master_key

    url = settings.store if url is None else url
    file = key_file(settings, url)
    given = os.environ.get(KEY_VARIABLE, "").strip()
    source = parse_master_key(given, KEY_VARIABLE) if given else file
    if not _is_key_ring_in_database(settings, url):
        return KeyRing(file.path.with_name(f"{file.path.name}.ring"), source)
    from memolith.adapters.postgres.key_storage import PostgresKeyStorage

    return KeyRing(PostgresKeyStorage(postgres_location(settings, url)), source)


def key_file(settings: Settings, url: str | None = None) -> KeyFile:
    """Return the file of the master key, whether it is there or not.

    Each ring in a database has one of its own, named for where it is: what changes the key of one
    ring must not take that of another away.
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
    """Return where the database of a store is.

    Raises:
        InvalidConfiguration: The URL is none, or psycopg is not installed.
    """
    require_package("psycopg", "store", extra="postgres")
    from memolith.adapters.postgres.dsn import parse_dsn

    return parse_dsn(url, settings.postgres.schema, settings.busy_timeout_s)


def reset_store(settings: Settings) -> list[str]:
    """Delete the store that is configured and its keys, and return what was there.

    Raises:
        InvalidConfiguration: There is no such kind of store.
        StoreDamaged: It is not a store of Memolith.
        StoreReadOnly: It is in a database, and not this role's to delete.
        StoreUnavailable: It is being written to.
        ServiceFailed: Chroma has vectors of it, and can't be reached.
    """
    from memolith.adapters.sqlite.factory import remove_vectors

    with closing(open_key_ring(settings)) as ring:

        def forget(store_id: bytes) -> None:
            if ring.storage.exists():
                ring.remove_store(store_id)

        if is_postgres(settings.store):
            return _reset_postgres(postgres_location(settings, settings.store), forget)
        path = store_path(settings.store)
        gone = remove_vectors(path, settings)
        gone += delete_store(path, settings.busy_timeout_s, forget)
        return [str(each) for each in sorted(gone)]


def _reset_postgres(place: DatabaseLocation, forget: Callable[[bytes], None]) -> list[str]:
    from memolith.adapters.postgres.admin import delete_store

    was_there = delete_store(place, forget)
    return [f"{place.display_name}, schema {place.schema}"] if was_there else []


def store_exists(url: str) -> bool:
    """Tell whether a store is there to be opened: where it is in a file, whether that is."""
    return url == IN_MEMORY or is_postgres(url) or store_path(url).exists()


def store_path(url: str) -> Path:
    """Return the file that a URL or path names."""
    scheme, separator, rest = url.partition("://")
    _reject_conninfo(url)
    if url == IN_MEMORY or (separator and scheme != "sqlite"):
        shown = f"{scheme}://…" if separator else url  # the rest may hold a password
        raise InvalidConfiguration("store", f"there is no file for {shown}; give a file's path")
    return parse_file_path(rest if separator else url, "store")


def store_url(url: str | os.PathLike[str]) -> str:
    """Return a store's URL or path, given as such or as a path."""
    return url if isinstance(url, str) else str(parse_file_path(url, "store"))
