"""Sealing bytes with a key, and deriving keys from keys; by libsodium and BLAKE2b.

Sealed bytes are: one byte that says their format, 24 of a nonce that is drawn anew each time, the
ciphertext, 16 of authentication. Format 1 is XChaCha20-Poly1305 in the construction of the IETF.
"""

from __future__ import annotations

import os
from hashlib import blake2b

from nacl import bindings
from nacl.exceptions import CryptoError

KEY_BYTES = 32
OVERHEAD_BYTES = 1 + 24 + 16

_FORMAT = b"\x01"
_NONCE_BYTES = 24


class DecryptionFailed(Exception):
    """The bytes were sealed with another key or for another place, or have changed."""


def generate_key() -> bytes:
    """Return 32 bytes from the operating system's source of randomness."""
    return os.urandom(KEY_BYTES)


def encrypt(key: bytes, plain: bytes, associated_data: bytes) -> bytes:
    """Return `plain` sealed so that it opens only with this key and `place`."""
    nonce = os.urandom(_NONCE_BYTES)
    ciphertext: bytes = bindings.crypto_aead_xchacha20poly1305_ietf_encrypt(
        plain, _FORMAT + associated_data, nonce, key
    )
    return _FORMAT + nonce + ciphertext


def decrypt(key: bytes, encrypted: bytes, associated_data: bytes) -> bytes:
    """Return what was sealed.

    Raises:
        NotOpened: Not with this key, not for this place, or changed since.
    """
    if len(encrypted) < OVERHEAD_BYTES or encrypted[:1] != _FORMAT:
        raise DecryptionFailed
    nonce, ciphertext = encrypted[1 : 1 + _NONCE_BYTES], encrypted[1 + _NONCE_BYTES :]
    try:
        plain: bytes = bindings.crypto_aead_xchacha20poly1305_ietf_decrypt(
            ciphertext, _FORMAT + associated_data, nonce, key
        )
    except CryptoError:
        raise DecryptionFailed from None
    return plain


def derive_subkey(key: bytes, purpose: str) -> bytes:
    """Return a key for one purpose (at most 16 bytes long); none says anything of another."""
    return blake2b(key=key, person=purpose.encode(), digest_size=KEY_BYTES).digest()


def keyed_digest(key: bytes, data: bytes, size: int) -> bytes:
    """Return so many bytes that only who has the key can compute from the data."""
    return blake2b(data, key=key, digest_size=size).digest()
