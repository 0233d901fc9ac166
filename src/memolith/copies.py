"""Wires what makes copies of stores: backups, what brings them back, and migrations."""

from __future__ import annotations

from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from memolith.bootstrap import read_settings
from memolith.errors import Conflict, InvalidInput, NotFound
from memolith.ports.backups import Copyable
from memolith.ports.cipher import KeyChanging, Twinning
from memolith.ports.moving import Movable
from memolith.services.migrate import Migrating
from memolith.stores import (
    IN_MEMORY,
    is_postgres,
    open_ciphers,
    open_store,
    postgres_place,
    store_path,
    store_url,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from os import PathLike

    from memolith.adapters.sqlite.unpacking import Keys
    from memolith.bootstrap import Parts
    from memolith.config import Loaded, Settings
    from memolith.ports.backups import Restored
    from memolith.ports.cipher import Cipher, Ciphers
    from memolith.services.migrate import Migrated

    Config = Loaded | str | PathLike[str] | None
    Url = str | PathLike[str]


def back_up(
    parts: Parts,
    path: str | PathLike[str],
    *,
    overwrite: bool,
    advance: Callable[[int], None] | None,
) -> int:
    """Copy an open store; see `Memolith.backup`."""
    store = parts.store
    if not isinstance(store, Copyable):
        raise InvalidInput("store", "is kept in memory only: there is nothing to copy")
    parts.touches.flush()
    return store.back_up(Path(path), overwrite=overwrite, advance=advance)


def restore_backup(
    path: str | PathLike[str],
    url: Url | None,
    *,
    force: bool,
    keys_of: Url | None,
    config: Config,
    ciphers: Ciphers | None,
) -> Restored:
    """Put a backup in a store's place; see `Memolith.restore_backup`."""
    from memolith.adapters.sqlite.unpacking import Keys

    settings = read_settings(config, None).settings
    target = settings.store if url is None else store_url(url)
    with ExitStack() as opened:
        keys = Keys(
            ciphers or _opened(settings, target, opened),
            None if keys_of is None else _opened(settings, store_url(keys_of), opened),
        )
        return _restored(Path(path), target, keys, settings, force=force)


def _restored(path: Path, target: str, keys: Keys, settings: Settings, *, force: bool) -> Restored:
    if not is_postgres(target):
        from memolith.adapters.sqlite.backups import restore as restore_file

        to, timeout_s = store_path(target), settings.busy_timeout_s
        return restore_file(path, to, keys, force=force, busy_timeout_s=timeout_s)
    place, own = postgres_place(settings, target), settings.postgres
    from memolith.adapters.postgres.backups import restore as restore_schema
    from memolith.adapters.postgres.schema import Making

    making = Making(own.partitions, own.half_precision)
    return restore_schema(path, place, keys, making=making, force=force)


def migrate(
    to: Url,
    source: Url | None,
    *,
    verify: bool,
    config: Config,
    ciphers: Ciphers | None,
    advance: Callable[[int], None] | None,
) -> Migrated:
    """Move a store to another place, or compare both; see `Memolith.migrate`."""
    settings = _patient(read_settings(config, None).settings)
    origin = settings.store if source is None else store_url(source)
    target = store_url(to)
    for url in (origin, target) if verify else (origin,):
        _refuse_missing(url, settings)
    with ExitStack() as opened:
        old = _movable(open_store(origin, settings, ciphers), opened)
        twins = _Twins(ciphers or _opened(settings, target, opened), old.cipher)
        new = _movable(open_store(target, settings, twins, unfinished=True), opened)
        if old.place == new.place:
            raise Conflict(f"{old.place} is the store itself")
        moving = Migrating(old, new, advance)
        if verify:
            return moving.compare()
        if moving.admit() or twins.has_made:
            moving.begin(None)
            return moving.run()
        _refuse_other_cipher(old, new)
        moving.begin(twins.new())
        if isinstance(new.cipher, KeyChanging):
            new.cipher.forget_store()  # of nothing that there is
    with ExitStack() as opened:
        old = _movable(open_store(origin, settings, ciphers), opened)
        new = _movable(open_store(target, settings, ciphers, unfinished=True), opened)
        return Migrating(old, new, advance).run()


class _Twins:
    """Ciphers whose new ones have the keys of another store."""

    def __init__(self, ciphers: Ciphers, source: Cipher) -> None:
        self._ciphers = ciphers
        self._source = source
        self.has_made = False

    def new(self) -> Cipher:
        """See the port."""
        if not isinstance(self._ciphers, Twinning):
            raise InvalidInput("cipher", "gives no keys of another store's")
        self.has_made = True
        return self._ciphers.twin(self._source)

    def known(self, name: str, store_id: bytes, check: bytes) -> Cipher:
        """See the port."""
        return self._ciphers.known(name, store_id, check)


def _patient(settings: Settings) -> Settings:
    """Return settings under which no statement is given up for taking long."""
    return replace(settings, postgres=replace(settings.postgres, statement_timeout_ms=0))


def _refuse_missing(url: str, settings: Settings) -> None:
    """Refuse a store that is not there: opening would make it.

    Raises:
        NotFound: It is not.
        InvalidInput: It is kept in memory.
    """
    if url == IN_MEMORY:
        raise InvalidInput("store", "is kept in memory only: there is nothing to move")
    if is_postgres(url):
        place = postgres_place(settings, url)
        from memolith.adapters.postgres.opening import is_there
        from memolith.adapters.postgres.places import session

        with session(place) as raw:
            found, name = is_there(raw, place), place.name
    else:
        path = store_path(url)
        found, name = path.is_file(), str(path)
    if not found:
        raise NotFound("store", name)


def _opened(settings: Settings, url: str, opened: ExitStack) -> Ciphers:
    ciphers = open_ciphers(settings, url)
    opened.callback(ciphers.close)
    return ciphers


def _movable(store: object, opened: ExitStack) -> Movable:
    opened.enter_context(closing(store))  # type: ignore[type-var] # every store has it
    if not isinstance(store, Movable):
        raise InvalidInput("store", "is kept in memory only: it can't be moved")
    return store


def _refuse_other_cipher(old: Movable, new: Movable) -> None:
    if old.meta.cipher != new.meta.cipher:
        raise Conflict(
            f"{new.place} is there, empty, with the cipher {new.meta.cipher!r}, and {old.place}"
            f" has {old.meta.cipher!r}: remove it, and it is made anew"
        )
