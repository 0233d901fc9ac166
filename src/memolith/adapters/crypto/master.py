"""The master key: from a file, from a text that is the key, or from a passphrase."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from nacl import pwhash

from memolith.adapters.crypto import files
from memolith.adapters.crypto.sealed import KEY_BYTES, generate_key
from memolith.errors import InvalidConfiguration, KeyUnavailable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Self

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
        return files.create_file(self.path, format_key(key))


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
        files.warn_if_readable_by_others(path)
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
