"""Ciphers as the configuration wants them for new stores, and as known stores say."""

from __future__ import annotations

import logging
from functools import cached_property
from typing import TYPE_CHECKING

from memolith.adapters.crypto.plain import PlainCipher

if TYPE_CHECKING:
    from collections.abc import Callable

    from memolith.adapters.crypto.ring import KeyRing
    from memolith.adapters.crypto.xchacha import KeyRingCiphers
    from memolith.ports.cipher import Cipher

_log = logging.getLogger(__name__)


class ConfiguredCiphers:
    """Encrypts new stores or not; what a store is, it stays."""

    def __init__(self, ring: Callable[[], KeyRing], *, encrypt: bool) -> None:
        """Take what returns the ring where one is needed, and whether new stores are encrypted."""
        self._ring = ring
        self._encrypt = encrypt

    @cached_property
    def _encrypted(self) -> KeyRingCiphers:
        # Imported here: a store that is not encrypted need not wait for libsodium.
        from memolith.adapters.crypto.xchacha import KeyRingCiphers

        return KeyRingCiphers(self._ring())

    def create(self) -> Cipher:
        """See the port."""
        return self._encrypted.create() if self._encrypt else PlainCipher()

    def clone(self, source: Cipher) -> Cipher:
        """See `Twinning`."""
        return PlainCipher() if source.name == PlainCipher.name else self._encrypted.clone(source)

    def close(self) -> None:
        """Let go of what the ring holds open; the next use opens it again."""
        if "_encrypted" in self.__dict__:
            self._encrypted.ring.close()

    def load(self, name: str, store_id: bytes, check: bytes) -> Cipher:
        """See the port."""
        is_plain = name == PlainCipher.name
        if is_plain and self._encrypt:
            # May be somebody else's, put in the place of an encrypted one.
            _log.warning("this store is not encrypted; enable_encryption is for new stores")
        elif not is_plain and not self._encrypt:
            _log.info("this store is encrypted, and stays so: enable_encryption is for new stores")
        return PlainCipher() if is_plain else self._encrypted.load(name, store_id, check)
