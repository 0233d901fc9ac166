"""A backup of the keys: the master key and the ring in one file, which opens everything.

JSON, so that it can be told from other files, printed, and read without Memolith. With a passphrase
its contents are sealed under a key that Argon2id makes of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from memolith.adapters.crypto import files
from memolith.adapters.crypto.master import MODERATE, KeyFile, Passphrase, Stretching, written
from memolith.adapters.crypto.ring import Contents
from memolith.adapters.crypto.sealed import NotOpened, open_sealed, seal
from memolith.errors import Conflict, KeyUnavailable

if TYPE_CHECKING:
    from pathlib import Path

    from memolith.adapters.crypto.ring import KeyRing

_FORMAT = "memolith keys 1"
_PLACE = _FORMAT.encode()


class _Keys(msgspec.Struct, frozen=True):
    """What is backed up."""

    master: bytes
    ring: list[tuple[str, bytes | int]]
    stores: list[tuple[bytes, bytes]]
    owners: list[tuple[bytes, bytes, int, bytes | None]]

    def __repr__(self) -> str:
        return "_Keys(…)"


class _File(msgspec.Struct, frozen=True):
    """The file; `salt` and what belongs to it only where there is a passphrase."""

    format: str
    keys: bytes
    salt: bytes = b""
    operations: int = 0
    memory: int = 0

    def __repr__(self) -> str:
        return "_File(…)"


def back_up(
    ring: KeyRing, target: Path, passphrase: str | None, cost: tuple[int, int] = MODERATE
) -> None:
    """Write all keys into a new file that only its owner may read.

    Raises:
        Conflict: There is such a file already.
        KeyUnavailable: The ring does not open.
        StoreReadOnly: The file can't be written there.
        StoreUnavailable: The disk is full, or fails.
    """
    master, contents = ring.contents()
    keys = msgspec.msgpack.encode(_Keys(master, contents.ring, contents.stores, contents.owners))
    file = _File(_FORMAT, keys)
    if passphrase is not None:
        stretching = Stretching.drawn(cost)
        sealed = seal(Passphrase(passphrase).key(stretching), keys, _PLACE)
        file = _File(_FORMAT, sealed, *_parts(stretching))
    with files.refusing(target):
        made = files.create(target, msgspec.json.encode(file) + b"\n")
    if not made:
        raise Conflict(f"there is a file already: {target}")


def needs_passphrase(backup: Path) -> bool:
    """Return whether a backup was made with a passphrase.

    Raises:
        KeyUnavailable: It is no backup of keys.
    """
    return bool(_read(backup).salt)


def restore(backup: Path, passphrase: str | None, ring: KeyRing, key_file: KeyFile) -> None:
    """Write a backup's master key and ring where they belong.

    Raises:
        Conflict: There is a key file or a ring already.
        KeyUnavailable: The file is no backup of keys, or the passphrase another.
    """
    keys = _opened(_read(backup), passphrase, backup)
    for place in (ring.place, key_file.path):
        if place.exists():
            raise Conflict(
                f"there are keys already: {place}; move them away, or name another file in"
                " encryption_key_path"
            )
    with files.refusing(key_file.path):
        made = files.create(key_file.path, written(keys.master))
    if not made:
        raise Conflict(f"there is a key file already: {key_file.path}")
    ring.restore(Contents(keys.ring, keys.stores, keys.owners))


def _read(backup: Path) -> _File:
    try:
        file = msgspec.json.decode(backup.read_bytes(), type=_File)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        file = None
    if file is None or file.format != _FORMAT:
        raise KeyUnavailable(f"{backup} is not a backup of keys")
    return file


def _opened(file: _File, passphrase: str | None, backup: Path) -> _Keys:
    keys = file.keys
    if file.salt:
        if passphrase is None:
            raise KeyUnavailable(f"{backup} was made with a passphrase: give it")
        stretching = Stretching(file.salt, file.operations, file.memory)
        try:
            keys = open_sealed(Passphrase(passphrase).key(stretching), keys, _PLACE)
        except NotOpened:
            raise KeyUnavailable(f"the passphrase does not open {backup}") from None
    try:
        return msgspec.msgpack.decode(keys, type=_Keys)
    except msgspec.MsgspecError:
        raise KeyUnavailable(f"{backup} is damaged") from None


def _parts(stretching: Stretching) -> tuple[bytes, int, int]:
    return stretching.salt, stretching.operations, stretching.memory
