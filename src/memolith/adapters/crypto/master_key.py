"""Read, create and replace the master key.

It comes from a key file, from an environment variable, or from a passphrase. Key files are
readable by their owner only and are written atomically.
"""

from __future__ import annotations

import base64
import binascii
import errno
import logging
import os
import secrets
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from nacl import pwhash

from memolith.adapters.crypto.primitives import KEY_BYTES, generate_key
from memolith.adapters.files import make_folder, sync_folder
from memolith.errors import InvalidConfiguration, KeyUnavailable, StoreReadOnly, StoreUnavailable

FILE_MODE = 0o600
FOLDER_MODE = 0o700
_FULL = (errno.ENOSPC, errno.EDQUOT)
_NOT_WRITABLE = (errno.EROFS, errno.EACCES, errno.EPERM)

_log = logging.getLogger(__name__)


def create_file(path: Path, content: bytes) -> bool:
    """Create a file atomically and durably; return whether this call created it.

    An existing file is left unchanged.
    """
    make_folder(path.parent, FOLDER_MODE)
    temporary = _write_temporary_file(path, content)
    try:
        is_created = _link_to_name(temporary, path, content)
    finally:
        temporary.unlink()
    sync_folder(path.parent)
    return is_created


def replace_file(path: Path, content: bytes) -> None:
    """Write a file atomically and durably, replacing an existing one."""
    make_folder(path.parent, FOLDER_MODE)
    _write_temporary_file(path, content).replace(path)
    sync_folder(path.parent)


def create_empty_file(path: Path) -> None:
    """Create an empty file if there is none."""
    make_folder(path.parent, FOLDER_MODE)
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, FILE_MODE))
    except FileExistsError:
        return
    sync_folder(path.parent)


_warned_paths: set[Path] = set()


def warn_if_readable_by_others(path: Path) -> None:
    """Log a warning, once per file, if users other than its owner can read it."""
    if sys.platform == "win32" or path in _warned_paths:
        return
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        _warned_paths.add(path)
        _log.warning(
            "%s is readable by other users (mode %03o): run chmod 600 on it", path, mode & 0o777
        )


def _link_to_name(temporary: Path, path: Path, content: bytes) -> bool:
    """Link a temporary file to its final name; return False if that name is taken."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        return False
    except OSError:  # the file system has no hard links, so the write cannot be atomic
        return _write_new_file(path, content)
    return True


def _write_new_file(path: Path, content: bytes) -> bool:
    try:
        handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, FILE_MODE)
    except FileExistsError:
        return False
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except OSError:  # for example a full disk: an incomplete key file would block the next attempt
        path.unlink()
        raise
    return True


def _write_temporary_file(path: Path, content: bytes) -> Path:
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    if not _write_new_file(temporary, content):
        raise FileExistsError(str(temporary))
    return temporary


@contextmanager
def translate_os_errors(path: Path) -> Iterator[None]:
    """Translate system errors on a file to Memolith errors.

    Raises:
        StoreReadOnly: The file cannot be written.
        StoreUnavailable: The disk is full or failing.
    """
    try:
        yield
    except OSError as error:
        if error.errno in _NOT_WRITABLE:
            raise StoreReadOnly(str(path), str(error.strerror).lower()) from error
        if error.errno in _FULL:
            raise StoreUnavailable(f"the disk is full: {path}") from error
        raise StoreUnavailable(f"{path} cannot be written: {error.strerror}") from error


# --- Sources of the master key


PASSPHRASE_PREFIX = "passphrase:"  # noqa: S105 - the prefix of a passphrase, not a secret
MODERATE_COST = (pwhash.argon2id.OPSLIMIT_MODERATE, pwhash.argon2id.MEMLIMIT_MODERATE)
"""Passes and bytes of memory of libsodium's "moderate" profile: 3 passes, 256 MB."""

_HEX_DIGITS = 2 * KEY_BYTES
_MAX_FILE_BYTES = 4_096
"""A larger file cannot be a key file. A guess."""


@dataclass(frozen=True, slots=True)
class KeyDerivation:
    """Parameters for deriving a key from a passphrase, as stored in the ring.

    Attributes:
        salt: 16 random bytes.
        operations: Number of Argon2id passes.
        memory: Memory of Argon2id in bytes.
    """

    salt: bytes
    operations: int
    memory: int

    @classmethod
    def with_random_salt(cls, cost: tuple[int, int]) -> Self:
        """Return parameters of this cost with a new salt."""
        return cls(generate_key()[: pwhash.argon2id.SALTBYTES], *cost)


class Passphrase:
    """A passphrase from which Argon2id derives the master key."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        """Use a passphrase."""
        self._text = text

    def __repr__(self) -> str:
        """Return a placeholder, to keep the passphrase out of logs."""
        return "Passphrase(…)"

    def derive_key(self, derivation: KeyDerivation) -> bytes:
        """Return the derived key. Takes most of a second and 256 MB, which slows down guessing."""
        key: bytes = pwhash.argon2id.kdf(
            KEY_BYTES,
            self._text.encode(),
            derivation.salt,
            opslimit=derivation.operations,
            memlimit=derivation.memory,
        )
        return key


class ProvidedKey:
    """A master key that was passed in directly."""

    __slots__ = ("key",)

    def __init__(self, key: bytes) -> None:
        """Use a key of 32 bytes."""
        self.key = key

    def __repr__(self) -> str:
        """Return a placeholder, to keep the key out of logs."""
        return "GivenKey(…)"


class KeyFile:
    """A master key in a file, in hexadecimal digits."""

    __slots__ = ("path",)

    def __init__(self, path: Path) -> None:
        """Use a file, which need not exist yet."""
        self.path = path

    def __repr__(self) -> str:
        """Return the path."""
        return f"KeyFile({str(self.path)!r})"

    @property
    def next_key_path(self) -> Path:
        """The file of the next key during a rotation of the master key."""
        return self.path.with_name(self.path.name + ".new")

    def keys(self) -> Iterator[bytes]:
        """Yield the key and, during a rotation, the next key."""
        for path in (self.path, self.next_key_path):
            if path.exists():
                yield read_key(path)

    def create(self, key: bytes) -> bool:
        """Create the file if there is none; return whether this call created it."""
        return create_file(self.path, format_key(key))


MasterKeySource = KeyFile | ProvidedKey | Passphrase


def format_key(key: bytes) -> bytes:
    """Return a key in the format of a key file."""
    return key.hex().encode() + b"\n"


def read_key(path: Path) -> bytes:
    """Return the key in a file.

    Raises:
        KeyUnavailable: The file cannot be read or contains no key.
    """
    try:
        warn_if_readable_by_others(path)
        with path.open("rb") as file:
            content = file.read(_MAX_FILE_BYTES)
    except OSError as error:
        raise KeyUnavailable(
            f"the key file cannot be read: {path}: {error.strerror or 'unknown reason'}"
        ) from error
    key = _decode_key(content.strip())
    if key is None:
        raise KeyUnavailable(
            f"{path} contains no key: expected 32 bytes in hexadecimal digits or base64"
        )
    return key


def parse_master_key(text: str, name: str) -> ProvidedKey | Passphrase:
    """Parse the master key from the value of an environment variable.

    Args:
        text: The value.
        name: The variable's name, for the error message.

    Raises:
        InvalidConfiguration: The value is neither a key nor `passphrase:` and a passphrase.
    """
    if text.startswith(PASSPHRASE_PREFIX) and text != PASSPHRASE_PREFIX:
        return Passphrase(text.removeprefix(PASSPHRASE_PREFIX))
    key = _decode_key(text.strip().encode())
    if key is None:
        problem = (
            f"must be 32 bytes in hexadecimal digits or base64, or {PASSPHRASE_PREFIX} and a"
            " passphrase"
        )
        raise InvalidConfiguration(name, problem, "environment")
    return ProvidedKey(key)


def _decode_key(text: bytes) -> bytes | None:
    try:
        if len(text) == _HEX_DIGITS:
            return bytes.fromhex(text.decode("ascii"))
        padded = text.translate(bytes.maketrans(b"-_", b"+/")).rstrip(b"=") + b"="
        key = base64.b64decode(padded, validate=True)
    except (binascii.Error, ValueError):
        return None
    return key if len(key) == KEY_BYTES else None
