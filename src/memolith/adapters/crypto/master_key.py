"""Files that hold keys: for the owner's eyes only, whole or not there at all."""

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
    """Write a new file; return whether it was this call that made it.

    It appears under its name with all of its content, on the disk, or not at all; what is there
    already is left as it is.
    """
    make_folder(path.parent, FOLDER_MODE)
    written = _write_temporary_file(path, content)
    try:
        made = _link_to_name(written, path, content)
    finally:
        written.unlink()
    sync_folder(path.parent)
    return made


def replace_file(path: Path, content: bytes) -> None:
    """Write a file, in place of one that may be there: all of it or nothing, on the disk."""
    make_folder(path.parent, FOLDER_MODE)
    _write_temporary_file(path, content).replace(path)
    sync_folder(path.parent)


def create_empty_file(path: Path) -> None:
    """Make an empty file if there is none."""
    make_folder(path.parent, FOLDER_MODE)
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, FILE_MODE))
    except FileExistsError:
        return
    sync_folder(path.parent)


_warned: set[Path] = set()


def warn_if_readable_by_others(path: Path) -> None:
    """Log a warning, once for each file, if others than its owner may read it."""
    if sys.platform == "win32" or path in _warned:
        return
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        _warned.add(path)
        _log.warning(
            "others than its owner can read %s (mode %03o): chmod 600 it", path, mode & 0o777
        )


def _link_to_name(written: Path, path: Path, content: bytes) -> bool:
    """Give a written file its name, if nothing has it; return whether nothing had."""
    try:
        os.link(written, path)
    except FileExistsError:
        return False
    except OSError:  # a file system without links: whole or not at all is then too much to ask
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
    except OSError:  # a full disk: half a key is none, and stands in the way of the next
        path.unlink()
        raise
    return True


def _write_temporary_file(path: Path, content: bytes) -> Path:
    written = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    if not _write_new_file(written, content):
        raise FileExistsError(str(written))
    return written


@contextmanager
def translate_os_errors(path: Path) -> Iterator[None]:
    """Say of a file what an error of the system means to a caller.

    Raises:
        StoreReadOnly: Nothing can be written there.
        StoreUnavailable: The disk is full, or fails.
    """
    try:
        yield
    except OSError as error:
        if error.errno in _NOT_WRITABLE:
            raise StoreReadOnly(str(path), str(error.strerror).lower()) from error
        if error.errno in _FULL:
            raise StoreUnavailable(f"the disk is full: {path}") from error
        raise StoreUnavailable(f"{path} cannot be written: {error.strerror}") from error


# --- The master key: from a file, from a text that is the key, or from a passphrase


PASSPHRASE_PREFIX = "passphrase:"  # noqa: S105 - the prefix that says that one follows
MODERATE_COST = (pwhash.argon2id.OPSLIMIT_MODERATE, pwhash.argon2id.MEMLIMIT_MODERATE)
"""Passes and bytes of memory that libsodium calls moderate: 3 and 256 MB."""

_HEX_DIGITS = 2 * KEY_BYTES
_MAX_FILE_BYTES = 4_096
"""A file of more bytes is something else than a key: a guess."""


@dataclass(frozen=True, slots=True)
class KeyDerivation:
    """How a passphrase becomes a key, as it stands in the ring.

    Attributes:
        salt: 16 random bytes.
        operations: Argon2id's passes.
        memory: How many bytes it fills.
    """

    salt: bytes
    operations: int
    memory: int

    @classmethod
    def with_random_salt(cls, cost: tuple[int, int]) -> Self:
        """Return one of this cost with a new salt."""
        return cls(generate_key()[: pwhash.argon2id.SALTBYTES], *cost)


class Passphrase:
    """A passphrase that becomes the master key by Argon2id."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        """Take the passphrase."""
        self._text = text

    def __repr__(self) -> str:
        """Say nothing of it."""
        return "Passphrase(…)"

    def derive_key(self, derivation: KeyDerivation) -> bytes:
        """Return the key; takes most of a second and 256 MB, so that guessing is slow."""
        key: bytes = pwhash.argon2id.kdf(
            KEY_BYTES,
            self._text.encode(),
            derivation.salt,
            opslimit=derivation.operations,
            memlimit=derivation.memory,
        )
        return key


class ProvidedKey:
    """The master key itself, as somebody gave it."""

    __slots__ = ("key",)

    def __init__(self, key: bytes) -> None:
        """Take the 32 bytes."""
        self.key = key

    def __repr__(self) -> str:
        """Say nothing of it."""
        return "GivenKey(…)"


class KeyFile:
    """The master key in a file, in hexadecimal digits."""

    __slots__ = ("path",)

    def __init__(self, path: Path) -> None:
        """Take the file's path; it need not be there."""
        self.path = path

    def __repr__(self) -> str:
        """Say where it is."""
        return f"KeyFile({str(self.path)!r})"

    @property
    def next_key_path(self) -> Path:
        """Where the next key stands while the master is being rotated."""
        return self.path.with_name(self.path.name + ".new")

    def keys(self) -> Iterator[bytes]:
        """Yield what is there: the key and, while it is being rotated, the next one."""
        for path in (self.path, self.next_key_path):
            if path.exists():
                yield read_key(path)

    def create(self, key: bytes) -> bool:
        """Write the file if there is none; return whether this did."""
        return create_file(self.path, format_key(key))


MasterKeySource = KeyFile | ProvidedKey | Passphrase


def format_key(key: bytes) -> bytes:
    """Return a key as it stands in a file."""
    return key.hex().encode() + b"\n"


def read_key(path: Path) -> bytes:
    """Return the key in a file.

    Raises:
        KeyUnavailable: The file can't be read, or holds no key.
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
        raise KeyUnavailable(f"{path} holds no key: 32 bytes in hexadecimal digits or base64")
    return key


def parse_master_key(text: str, name: str) -> ProvidedKey | Passphrase:
    """Return the master key that a variable's text gives.

    Args:
        name: The variable's, for the error.

    Raises:
        InvalidConfiguration: It is neither a key nor `passphrase:` and a passphrase.
    """
    if text.startswith(PASSPHRASE_PREFIX) and text != PASSPHRASE_PREFIX:
        return Passphrase(text.removeprefix(PASSPHRASE_PREFIX))
    key = _decode_key(text.strip().encode())
    if key is None:
        problem = (
            f"must be 32 bytes in hexadecimal digits or base64, or {PASSPHRASE_PREFIX} and one"
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
