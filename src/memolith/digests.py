"""BLAKE2b as `hashlib` gives it, but without OpenSSL, which that loads for other digests.

A recall makes one digest; loading OpenSSL for it would take a fresh process some 3 ms.
"""

from __future__ import annotations

try:
    from _blake2 import blake2b  # where `hashlib` takes it from
except ImportError:  # on another Python
    from hashlib import blake2b

__all__ = ["blake2b"]
