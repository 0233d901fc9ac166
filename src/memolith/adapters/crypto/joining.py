"""Several values as one: without libsodium, which a store that is not encrypted can do without."""

from __future__ import annotations

_LENGTH_BYTES = 4


def join_length_prefixed(*parts: bytes) -> bytes:
    """Return parts as one value that no other parts give: each after its length."""
    return b"".join(len(part).to_bytes(_LENGTH_BYTES, "big") + part for part in parts)
