"""Backs up, restores and migrates stores."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import replace
from os import PathLike
from pathlib import Path

from memolith.adapters.postgres.schema import NewStoreOptions
from memolith.adapters.sqlite.backups import BackupKeys
from memolith.adapters.sqlite.backups import restore as restore_file
from memolith.bootstrap import App, load_settings
from memolith.config import LoadedSettings, Settings
from memolith.errors import Conflict, InvalidInput, NotFound
from memolith.ports.admin import RestoreResult, SupportsBackup, SupportsMigration
from memolith.ports.cipher import Cipher, CipherProvider, SupportsClone, SupportsKeyRotation
from memolith.services.migrate import MigrationResult, StoreMigrator
from memolith.stores import (
    IN_MEMORY,
    is_postgres,
    open_ciphers,
    open_store,
    postgres_location,
    store_path,
    store_url,
)

Config = LoadedSettings | str | PathLike[str] | None
Url = str | PathLike[str]


def back_up(
    app: App,
    path: str | PathLike[str],
    *,
    overwrite: bool,
    advance: Callable[[int], None] | None,
) -> int:
    """Back up an open store; see `Memolith.backup`."""
    store = app.store
    if not isinstance(store, SupportsBackup):
        raise InvalidInput("store", "is in memory only and can't be backed up")
    app.access_counter.flush()
    return store.back_up(Path(path), overwrite=overwrite, advance=advance)


def restore_backup(
    path: str | PathLike[str],
    url: Url | None,
    *,
    force: bool,
    keys_of: Url | None,
    config: Config,
    ciphers: CipherProvider | None,
) -> RestoreResult:
    """Replace a store with a backup; see `Memolith.restore_backup`."""
    settings = load_settings(config, None).settings
    target = settings.store if url is None else store_url(url)
    with ExitStack() as stack:
        keys = BackupKeys(
            ciphers or _open_closing_ciphers(settings, target, stack),
            None if keys_of is None else _open_closing_ciphers(settings, store_url(keys_of), stack),
        )
        return _restore(Path(path), target, keys, settings, force=force)


def _restore(
    path: Path, target: str, keys: BackupKeys, settings: Settings, *, force: bool
) -> RestoreResult:
    if not is_postgres(target):
        to, timeout_s = store_path(target), settings.busy_timeout_s
        return restore_file(path, to, keys, force=force, busy_timeout_s=timeout_s)
    place, postgres = postgres_location(settings, target), settings.postgres
    from memolith.adapters.postgres.backups import restore as restore_schema

    options = NewStoreOptions(postgres.partitions, postgres.half_precision)
    return restore_schema(path, place, keys, options=options, force=force)


def migrate(
    to: Url,
    source: Url | None,
    *,
    verify: bool,
    config: Config,
    ciphers: CipherProvider | None,
    advance: Callable[[int], None] | None,
) -> MigrationResult:
    """Move a store to another location, or compare both; see `Memolith.migrate`."""
    settings = _disable_statement_timeout(load_settings(config, None).settings)
    origin = settings.store if source is None else store_url(source)
    target = store_url(to)
    for url in (origin, target) if verify else (origin,):
        _require_store(url, settings)
    with ExitStack() as stack:
        old = _require_movable(open_store(origin, settings, ciphers), stack)
        clones = _CloningCiphers(
            ciphers or _open_closing_ciphers(settings, target, stack), old.cipher
        )
        new = _require_movable(open_store(target, settings, clones, unfinished=True), stack)
        if old.location == new.location:
            raise Conflict(f"the source and the target are the same store: {old.location}")
        migrator = StoreMigrator(old, new, advance)
        if verify:
            return migrator.compare()
        if migrator.check_target() or clones.has_cloned:
            migrator.begin(None)
            return migrator.run()
        _require_same_cipher(old, new)
        migrator.begin(clones.create())
        if isinstance(new.cipher, SupportsKeyRotation):
            new.cipher.delete_store_keys()  # the fresh target's own keys; it has no rows yet
    with ExitStack() as stack:
        old = _require_movable(open_store(origin, settings, ciphers), stack)
        new = _require_movable(open_store(target, settings, ciphers, unfinished=True), stack)
        return StoreMigrator(old, new, advance).run()


class _CloningCiphers:
    """Creates ciphers with the keys of another store."""

    def __init__(self, ciphers: CipherProvider, source: Cipher) -> None:
        self._ciphers = ciphers
        self._source = source
        self.has_cloned = False

    def create(self) -> Cipher:
        """Return a cipher with the source store's keys."""
        if not isinstance(self._ciphers, SupportsClone):
            raise InvalidInput("cipher", "can't be given another store's keys")
        self.has_cloned = True
        return self._ciphers.clone(self._source)

    def load(self, name: str, store_id: bytes, check: bytes) -> Cipher:
        """Return the cipher of an existing store."""
        return self._ciphers.load(name, store_id, check)


def _disable_statement_timeout(settings: Settings) -> Settings:
    """Return settings without a statement timeout: copying may take long."""
    return replace(settings, postgres=replace(settings.postgres, statement_timeout_ms=0))


def _require_store(url: str, settings: Settings) -> None:
    """Refuse a missing store, which opening would create.

    Raises:
        NotFound: There is no such store.
        InvalidInput: The store is in memory.
    """
    if url == IN_MEMORY:
        raise InvalidInput("store", "is in memory only and can't be migrated")
    if is_postgres(url):
        place = postgres_location(settings, url)
        from memolith.adapters.postgres.dsn import session
        from memolith.adapters.postgres.opening import store_exists

        with session(place) as raw:
            exists, name = store_exists(raw, place), place.display_name
    else:
        path = store_path(url)
        exists, name = path.is_file(), str(path)
    if not exists:
        raise NotFound("store", name)


def _open_closing_ciphers(settings: Settings, url: str, stack: ExitStack) -> CipherProvider:
    ciphers = open_ciphers(settings, url)
    stack.callback(ciphers.close)
    return ciphers


def _require_movable(store: object, stack: ExitStack) -> SupportsMigration:
    stack.enter_context(closing(store))  # type: ignore[type-var] # every store has `close`
    if not isinstance(store, SupportsMigration):
        raise InvalidInput("store", "is in memory only and can't be migrated")
    return store


def _require_same_cipher(old: SupportsMigration, new: SupportsMigration) -> None:
    if old.meta.cipher != new.meta.cipher:
        raise Conflict(
            f"{new.location} is an empty store with cipher {new.meta.cipher!r}, but {old.location}"
            f" has {old.meta.cipher!r}: delete the empty store and run the migration again"
        )
