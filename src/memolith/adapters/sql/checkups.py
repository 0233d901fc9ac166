"""The half of a store that looks for damage, and repairs it: what does so is imported then."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from memolith.adapters.sql.connection import ConstraintViolation
from memolith.adapters.sql.sealing import OwnerEncryption
from memolith.errors import StoreDamaged

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from memolith.adapters.sql.connection import Connections
    from memolith.adapters.sql.spaces import ExpectedGeneration
    from memolith.ports.cipher import Cipher
    from memolith.ports.store import IndexEntry
    from memolith.ports.verifying import OwnerVerification, StoredText


class VerificationMixin:
    """The half of a store that looks at one owner for damage, and repairs it."""

    _connections: Connections
    _cipher: Cipher
    _expected: ExpectedGeneration | None

    @contextmanager
    def verify_owner(self, owner_id: str) -> Iterator[OwnerVerification]:
        """See the port."""
        from memolith.adapters.sql.verifying import IntegrityChecker

        with self._connections.read(owner_id) as connection:
            owner = connection.get_owner(owner_id)
            sealing = OwnerEncryption(
                self._cipher.get_owner_cipher(owner_id, owner.key_version), owner_id
            )
            yield IntegrityChecker(connection, sealing, owner)

    def repair_owner(
        self,
        owner_id: str,
        entries: Mapping[int, IndexEntry],
        expected_texts: Mapping[int, StoredText],
    ) -> None:
        """See the port."""
        from memolith.adapters.sql.mending import repair_owner

        with self._connections.write(owner_id) as connection:
            owner = connection.get_owner(owner_id, lock=True)
            sealing = OwnerEncryption(
                self._cipher.get_owner_cipher(owner_id, owner.key_version), owner_id
            )
            try:
                repair_owner(connection, sealing, owner, self._expected, entries, expected_texts)
            except ConstraintViolation as error:
                raise StoreDamaged("two rows claim the same place: neither is repaired") from error
            connection.run("COMMIT")
