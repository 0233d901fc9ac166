"""Sealing bytes with a key, and deriving keys from keys; by libsodium and BLAKE2b.

Sealed bytes are: one byte that says their format, 24 of a nonce that is drawn anew each time, the
ciphertext, 16 of authentication. Format 1 is XChaCha20-Poly1305 in the construction of the IETF.
"""

from __future__ import annotations

import os
from functools import cache
from hashlib import blake2b, shake_256

import numpy as np
from nacl import bindings
from nacl.exceptions import CryptoError
from numpy.typing import NDArray

Values = NDArray[np.float32]

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


# --- A secret orthogonal transform of vectors that loses no bit


STRETCH = 128
"""By how much the product of two vectors grows: the square of the largest block's stretch."""

_SIZES = (128, 32, 8, 2)
_BATCH = 8_192
"""Rows at a time: the float32 copies of so many vectors stay in a processor's cache."""


class VectorTransform:
    """One secret transform of vectors of one length. Thread-safe.

    Sums within it stay below 128 · 128 · 128 = 2**21, so that float32 arithmetic is exact in any
    order of addition.
    """

    __slots__ = ("_first", "_first_signs", "_second", "_second_signs", "_width", "dimension")

    def __init__(self, key: bytes, dimension: int) -> None:
        """Draw permutations and signs from a key of 32 bytes."""
        self.dimension = dimension
        self._width = dimension + dimension % 2
        random = _KeyStream(key, dimension)
        self._first = random.permutation(self._width)
        self._second = random.permutation(self._width)
        self._first_signs = random.signs(self._width)
        self._second_signs = random.signs(self._width)

    def __repr__(self) -> str:
        """Say the length, and nothing of the key."""
        return f"Transform(dimension={self.dimension})"

    @property
    def stored_bytes(self) -> int:
        """How many bytes a transformed vector takes."""
        return self._width * np.dtype("<i2").itemsize

    def apply(self, vectors: NDArray[np.int8]) -> NDArray[np.int16]:
        """Return int8 vectors of shape (n, d) transformed: little-endian int16, (n, d + d % 2)."""
        hidden = np.empty((len(vectors), self._width), dtype="<i2")
        for rows in _batches(len(vectors)):
            hidden[rows] = self._forward(vectors[rows])
        return hidden

    def invert(self, transformed: NDArray[np.int16]) -> NDArray[np.int8]:
        """Return what was transformed, shape (n, d), exactly.

        Raises:
            ValueError: No vector becomes this under the transform.
        """
        shown = np.empty((len(transformed), self.dimension), dtype=np.int8)
        for rows in _batches(len(transformed)):
            values = self._backward(transformed[rows])
            narrow = values[:, : self.dimension].astype(np.int8)
            # The check is exact: what is no integer, too large, or in the padding, differs.
            if not np.array_equal(_pad(narrow, self._width), values):
                raise ValueError("not a vector under this transform")
            shown[rows] = narrow
        return shown

    def _forward(self, vectors: NDArray[np.int8]) -> Values:
        values = _pad(vectors, self._width) * self._first_signs
        return _mix(values[:, self._first])[:, self._second] * self._second_signs

    def _backward(self, hidden: NDArray[np.int16]) -> Values:
        values = np.empty((len(hidden), self._width), dtype=np.float32)
        values[:, self._second] = hidden.astype(np.float32) * self._second_signs
        unmixed = _mix(values) / np.float32(STRETCH)  # the blocks are symmetric
        values[:, self._first] = unmixed
        values *= self._first_signs
        return values


class _KeyStream:
    """Numbers drawn from a key: the same for the same key and length on every machine."""

    def __init__(self, key: bytes, dimension: int) -> None:
        words = 4 * (dimension + 1)
        # An extendable hash of the key: SHAKE-256 gives as many bytes as are wanted.
        drawn = shake_256(key + dimension.to_bytes(4, "big")).digest(words * 8)
        self._words = np.frombuffer(drawn, dtype="<u8")
        self._used = 0

    def permutation(self, length: int) -> NDArray[np.int64]:
        """Return a permutation: the order of so many random numbers of 64 bits."""
        return np.argsort(self._next(length), kind="stable")

    def signs(self, length: int) -> Values:
        """Return so many signs."""
        bits = (self._next(length) & np.uint64(1)).astype(np.float32)
        return np.float32(1) - np.float32(2) * bits

    def _next(self, length: int) -> NDArray[np.uint64]:
        start, self._used = self._used, self._used + length
        return self._words[start : self._used]


def _batches(length: int) -> list[slice]:
    return [slice(start, start + _BATCH) for start in range(0, length, _BATCH)]


def _pad(vectors: NDArray[np.int8], width: int) -> Values:
    values = np.zeros((len(vectors), width), dtype=np.float32)
    values[:, : vectors.shape[1]] = vectors
    return values


def _mix(values: Values) -> Values:
    """Return rows multiplied by the scaled Hadamard blocks."""
    mixed = np.empty_like(values)
    start = 0
    for size in _blocks(values.shape[1]):
        stop = start + size
        mixed[:, start:stop] = values[:, start:stop] @ _hadamard(size)
        start = stop
    return mixed


@cache
def _blocks(width: int) -> tuple[int, ...]:
    """Return sizes of blocks, largest first, that fill an even width."""
    sizes: list[int] = []
    for size in _SIZES:
        count, width = divmod(width, size)
        sizes += [size] * count
    return tuple(sizes)


@cache
def _hadamard(size: int) -> Values:
    """Return Sylvester's matrix, scaled so that its rows have length √128; read-only."""
    matrix = np.ones((1, 1), dtype=np.float32)
    while len(matrix) < size:
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    scaled: Values = matrix * np.float32((STRETCH // size) ** 0.5)
    scaled.flags.writeable = False
    return scaled
