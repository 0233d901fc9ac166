"""The half of a store that looks for damage, and repairs it: what does so is imported then."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from memolith.adapters.sql.connection import ConstraintBroken
from memolith.adapters.sql.sealing import Sealing
from memolith.errors import StoreDamaged

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from memolith.adapters.sql.connection import Connections
    from memolith.adapters.sql.spaces import Expected
    from memolith.ports.cipher import Cipher
    from memolith.ports.store import IndexEntry
    from memolith.ports.verifying import Examination, StoredText


class Checkups:
    """The half of a store that looks at one owner for damage, and repairs it."""

    _connections: Connections
    _cipher: Cipher
    _expected: Expected | None

    @contextmanager
    def examine(self, owner_id: str) -> Iterator[Examination]:
        """See the port."""
        from memolith.adapters.sql.verifying import Examined

        with self._connections.reading(owner_id) as connection:
            owner = connection.owner(owner_id)
            sealing = Sealing(self._cipher.of(owner_id, owner.key_version), owner_id)
            yield Examined(connection, sealing, owner)

    def mend(
        self, owner_id: str, entries: Mapping[int, IndexEntry], seen: Mapping[int, StoredText]
    ) -> None:
        """See the port."""
        from memolith.adapters.sql.mending import mend

        with self._connections.writing(owner_id) as connection:
            owner = connection.owner(owner_id, lock=True)
            sealing = Sealing(self._cipher.of(owner_id, owner.key_version), owner_id)
            try:
                mend(connection, sealing, owner, self._expected, entries, seen)
            except ConstraintBroken as error:
                raise StoreDamaged("two rows claim the same place: neither is repaired") from error
            connection.run("COMMIT")
