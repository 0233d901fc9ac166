"""Cryptographic primitives: authenticated encryption, key derivation and a vector transform.

Encryption is XChaCha20-Poly1305 (IETF construction) by libsodium; keys are derived by BLAKE2b. An
encrypted value is a format byte (1), a random nonce of 24 bytes, the ciphertext, and a tag of
16 bytes.
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
    """The value has another key or another context, or was modified."""


def generate_key() -> bytes:
    """Return 32 bytes from the operating system's source of randomness."""
    return os.urandom(KEY_BYTES)


def encrypt(key: bytes, plain: bytes, associated_data: bytes) -> bytes:
    """Return `plain` encrypted with the key and bound to the associated data."""
    nonce = os.urandom(_NONCE_BYTES)
    ciphertext: bytes = bindings.crypto_aead_xchacha20poly1305_ietf_encrypt(
        plain, _FORMAT + associated_data, nonce, key
    )
    return _FORMAT + nonce + ciphertext


def decrypt(key: bytes, encrypted: bytes, associated_data: bytes) -> bytes:
    """Return the plaintext of an encrypted value.

    Raises:
        DecryptionFailed: Wrong key, wrong associated data, or a modified value.
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
    """Return an independent key for a purpose, whose name has at most 16 bytes."""
    return blake2b(key=key, person=purpose.encode(), digest_size=KEY_BYTES).digest()


def keyed_digest(key: bytes, data: bytes, size: int) -> bytes:
    """Return a keyed digest of `size` bytes."""
    return blake2b(data, key=key, digest_size=size).digest()


# --- Keyed orthogonal transform of vectors


STRETCH = 128
"""Factor by which inner products grow under the transform: the largest block size."""

_SIZES = (128, 32, 8, 2)
_BATCH = 8_192
"""Rows per batch, so that their float32 copies fit in the processor's cache."""


class VectorTransform:
    """A lossless orthogonal transform of vectors of one dimension, keyed. Thread-safe.

    Sums stay below 128 · 128 · 128 = 2**21, so float32 arithmetic is exact in any order of
    addition.
    """

    __slots__ = ("_first", "_first_signs", "_second", "_second_signs", "_width", "dimension")

    def __init__(self, key: bytes, dimension: int) -> None:
        """Derive the permutations and signs from a key of 32 bytes."""
        self.dimension = dimension
        self._width = dimension + dimension % 2
        random = _KeyStream(key, dimension)
        self._first = random.permutation(self._width)
        self._second = random.permutation(self._width)
        self._first_signs = random.signs(self._width)
        self._second_signs = random.signs(self._width)

    def __repr__(self) -> str:
        """Return the dimension, without key material."""
        return f"Transform(dimension={self.dimension})"

    @property
    def stored_bytes(self) -> int:
        """Number of bytes of a transformed vector."""
        return self._width * np.dtype("<i2").itemsize

    def apply(self, vectors: NDArray[np.int8]) -> NDArray[np.int16]:
        """Transform int8 vectors of shape (n, d) to little-endian int16 of shape (n, d + d % 2)."""
        transformed = np.empty((len(vectors), self._width), dtype="<i2")
        for rows in _batches(len(vectors)):
            transformed[rows] = self._forward(vectors[rows])
        return transformed

    def invert(self, transformed: NDArray[np.int16]) -> NDArray[np.int8]:
        """Return the original vectors, shape (n, d), exactly.

        Raises:
            ValueError: A value is not the transform of an int8 vector.
        """
        vectors = np.empty((len(transformed), self.dimension), dtype=np.int8)
        for rows in _batches(len(transformed)):
            values = self._backward(transformed[rows])
            narrow = values[:, : self.dimension].astype(np.int8)
            # Exact: fractions, overflows and non-zero padding all make a difference.
            if not np.array_equal(_pad(narrow, self._width), values):
                raise ValueError("not a vector under this transform")
            vectors[rows] = narrow
        return vectors

    def _forward(self, vectors: NDArray[np.int8]) -> Values:
        values = _pad(vectors, self._width) * self._first_signs
        return _mix(values[:, self._first])[:, self._second] * self._second_signs

    def _backward(self, transformed: NDArray[np.int16]) -> Values:
        values = np.empty((len(transformed), self._width), dtype=np.float32)
        values[:, self._second] = transformed.astype(np.float32) * self._second_signs
        unmixed = _mix(values) / np.float32(STRETCH)  # the blocks are symmetric matrices
        values[:, self._first] = unmixed
        values *= self._first_signs
        return values


class _KeyStream:
    """Pseudorandom numbers from a key: the same key and dimension give the same on any machine."""

    def __init__(self, key: bytes, dimension: int) -> None:
        words = 4 * (dimension + 1)
        # SHAKE-256 has an output of arbitrary length.
        digest = shake_256(key + dimension.to_bytes(4, "big")).digest(words * 8)
        self._words = np.frombuffer(digest, dtype="<u8")
        self._used = 0

    def permutation(self, length: int) -> NDArray[np.int64]:
        """Return a permutation, from the sort order of random 64-bit numbers."""
        return np.argsort(self._next(length), kind="stable")

    def signs(self, length: int) -> Values:
        """Return `length` random signs, -1 or 1."""
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
    """Return block sizes, largest first, that sum to an even width."""
    sizes: list[int] = []
    for size in _SIZES:
        count, width = divmod(width, size)
        sizes += [size] * count
    return tuple(sizes)


@cache
def _hadamard(size: int) -> Values:
    """Return Sylvester's Hadamard matrix, scaled to rows of length √128; read-only."""
    matrix = np.ones((1, 1), dtype=np.float32)
    while len(matrix) < size:
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    scaled: Values = matrix * np.float32((STRETCH // size) ** 0.5)
    scaled.flags.writeable = False
    return scaled
