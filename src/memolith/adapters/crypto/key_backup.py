"""Back up the master key and the key ring to one file, and restore them.

The file is JSON, so that it can be recognised, printed, and read without Memolith. With a
passphrase, its contents are encrypted with a key derived by Argon2id.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from memolith.adapters.crypto import master_key
from memolith.adapters.crypto.key_ring import KeyRing, KeyRingContents
from memolith.adapters.crypto.master_key import (
    MODERATE_COST,
    KeyDerivation,
    KeyFile,
    Passphrase,
    format_key,
)
from memolith.adapters.crypto.primitives import DecryptionFailed, decrypt, encrypt
from memolith.errors import Conflict, KeyUnavailable

_FORMAT = "memolith keys 1"
_CONTEXT = _FORMAT.encode()


class _BackupKeys(msgspec.Struct, frozen=True):
    """The keys in a backup."""

    master: bytes
    ring: list[tuple[str, bytes | int]]
    stores: list[tuple[bytes, bytes]]
    owners: list[tuple[bytes, bytes, int, bytes | None]]

    def __repr__(self) -> str:
        return "_Keys(…)"


class _BackupFile(msgspec.Struct, frozen=True):
    """The backup file. `salt`, `operations` and `memory` are only set with a passphrase."""

    format: str
    keys: bytes
    salt: bytes = b""
    operations: int = 0
    memory: int = 0

    def __repr__(self) -> str:
        return "_File(…)"


def back_up_keys(
    ring: KeyRing, target: Path, passphrase: str | None, cost: tuple[int, int] = MODERATE_COST
) -> None:
    """Write all keys to a new file that only its owner can read.

    Raises:
        Conflict: The file exists.
        KeyUnavailable: The key ring cannot be decrypted.
        StoreReadOnly: The file cannot be written.
        StoreUnavailable: The disk is full or failing.
    """
    master, contents = ring.export_contents()
    keys = msgspec.msgpack.encode(
        _BackupKeys(master, contents.ring, contents.stores, contents.owners)
    )
    file = _BackupFile(_FORMAT, keys)
    if passphrase is not None:
        derivation = KeyDerivation.with_random_salt(cost)
        ciphertext = encrypt(Passphrase(passphrase).derive_key(derivation), keys, _CONTEXT)
        file = _BackupFile(_FORMAT, ciphertext, *_derivation_fields(derivation))
    with master_key.translate_os_errors(target):
        is_created = master_key.create_file(target, msgspec.json.encode(file) + b"\n")
    if not is_created:
        raise Conflict(f"the file already exists: {target}")


def needs_passphrase(backup: Path) -> bool:
    """Return whether a backup is protected by a passphrase.

    Raises:
        KeyUnavailable: The file is not a key backup.
    """
    return bool(_read_backup(backup).salt)


def restore_keys(backup: Path, passphrase: str | None, ring: KeyRing, key_file: KeyFile) -> None:
    """Restore the master key and the key ring from a backup.

    Raises:
        Conflict: A key file or a key ring exists.
        KeyUnavailable: The file is not a key backup, or the passphrase is wrong.
    """
    keys = _decrypt_backup(_read_backup(backup), passphrase, backup)
    for path in (ring.storage, key_file.path):
        if path.exists():
            raise Conflict(
                f"keys already exist: {path}; move them away, or set encryption_key_path to"
                " another file"
            )
    with master_key.translate_os_errors(key_file.path):
        is_created = master_key.create_file(key_file.path, format_key(keys.master))
    if not is_created:
        raise Conflict(f"the key file already exists: {key_file.path}")
    ring.restore(KeyRingContents(keys.ring, keys.stores, keys.owners))


def _read_backup(backup: Path) -> _BackupFile:
    try:
        file = msgspec.json.decode(backup.read_bytes(), type=_BackupFile)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        file = None
    if file is None or file.format != _FORMAT:
        raise KeyUnavailable(f"{backup} is not a key backup")
    return file


def _decrypt_backup(file: _BackupFile, passphrase: str | None, backup: Path) -> _BackupKeys:
    keys = file.keys
    if file.salt:
        if passphrase is None:
            raise KeyUnavailable(f"{backup} is protected by a passphrase, and none was given")
        derivation = KeyDerivation(file.salt, file.operations, file.memory)
        try:
            keys = decrypt(Passphrase(passphrase).derive_key(derivation), keys, _CONTEXT)
        except DecryptionFailed:
            raise KeyUnavailable(f"wrong passphrase for {backup}") from None
    try:
        return msgspec.msgpack.decode(keys, type=_BackupKeys)
    except msgspec.MsgspecError:
        raise KeyUnavailable(f"{backup} is damaged") from None


def _derivation_fields(derivation: KeyDerivation) -> tuple[bytes, int, int]:
    return derivation.salt, derivation.operations, derivation.memory
