"""The store in one SQLite file."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from memolith.adapters.sql.damage import decoding
from memolith.adapters.sql.reembedding import refuse_other_vectors
from memolith.adapters.sql.spaces import VectorFacts
from memolith.adapters.sql.store import SqlStore
from memolith.adapters.sqlite.checking import FileChecking
from memolith.adapters.sqlite.connections import Connection, Connections
from memolith.adapters.sqlite.opening import connect
from memolith.adapters.sqlite.reading import ReadOnlyConnections
from memolith.adapters.sqlite.scrubbing import scrub

if TYPE_CHECKING:
    from memolith.ports.backups import Advance
    from memolith.ports.cipher import Cipher, Ciphers
    from memolith.ports.reembedding import EmbeddingModel
    from memolith.ports.store import StoreMeta

_log = logging.getLogger(__name__)

_MEBIBYTE = 1024 * 1024

_SETTLING_TRIES = 3
"""How often the log is emptied anew because somebody wrote just then: a guess."""


class SqliteStore(FileChecking, SqlStore):
    """A `Store` in one SQLite file."""

    _connections: Connections

    def __init__(self, connections: Connections, cipher: Cipher, index_cache_bytes: int) -> None:
        """Take connections to a file that is ready; see `open`."""
        super().__init__(connections, cipher, index_cache_bytes)
        self._is_unsettled = False

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        cipher: Ciphers,
        analyser: int = 1,
        busy_timeout_s: float = 5.0,
        index_cache_bytes: int = 192 * _MEBIBYTE,
        **more: Any,
    ) -> Self:
        """Open a file, making it and its folder where there is none.

        Where the system does not let it be written, or the disk is full, it is opened to read;
        a write is refused until it can be done.

        Args:
            cipher: Gives the cipher it was made with, or is to be.
            analyser: Version of the text analysis, kept in a new store.
            busy_timeout_s: For how long to wait for another writer.
            index_cache_bytes: How much memory the search indexes of all owners may take.
            more: What a store of this kind is made with besides.

        Raises:
            StoreUnavailable: It can't be opened or made, or stays locked.
            StoreReadOnly: It can't be written, and is of an older schema.
            StoreDamaged: It is not a store of Memolith.
            StoreTooNew: A newer Memolith has written it.
            KeyUnavailable: Its key is missing, or another.
        """
        file = Path(path).absolute()
        connections, known = connect(
            file, ciphers=cipher, analyser=analyser, busy_timeout_s=busy_timeout_s
        )
        return cls(connections, known, index_cache_bytes, **more)

    @property
    def place(self) -> str:
        """See `Movable`."""
        return str(self._connections.path)

    def _as_fact(self, value: str | int | bytes) -> Any:
        return value

    @property
    @decoding
    def meta(self) -> StoreMeta:
        """See the port."""
        with self._connections.reading() as connection:
            values: dict[str, Any] = dict(connection.rows("SELECT name, value FROM meta"))
            (schema,) = connection.row("PRAGMA user_version") or (0,)
        return VectorFacts.among(values).meta(schema, values["cipher"], values["analyser"])

    def _adopt(self, model: EmbeddingModel) -> None:
        if not isinstance(self._connections, ReadOnlyConnections):
            super()._adopt(model)
            return
        with self._connections.reading() as connection:  # without vectors there is nothing to keep
            refuse_other_vectors(connection, model)

    def back_up(
        self, target: Path, *, overwrite: bool = False, advance: Advance | None = None
    ) -> int:
        """See `Copyable`."""
        from memolith.adapters.sqlite.backups import back_up

        return back_up(self._connections, target, overwrite=overwrite, advance=advance)

    def settle(self) -> bool:
        """See the port: empties the write-ahead log, and clears the unused parts of pages."""
        path, timeout_s = self._connections.path, self._connections.busy_timeout_s
        with self._connections.idle_writer() as connection:
            for _ in range(_SETTLING_TRIES):
                if not _log_emptied(connection):
                    break
                if scrub(path, timeout_s):
                    _log_emptied(connection)
                    self._is_unsettled = False
                    return True
        self._is_unsettled = True
        _log.warning("the write-ahead log is in use: what was removed is still in the files")
        return False

    def close(self) -> None:
        """See the port."""
        self._indexes.forget()
        if self._is_unsettled:
            self._is_unsettled = False
            self.settle()
        self._connections.close()


def _log_emptied(connection: Connection) -> bool:
    (busy, *_) = connection.row("PRAGMA wal_checkpoint(TRUNCATE)") or (0,)
    return not busy
