"""The store in one SQLite file."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from memolith.adapters.sql.damage import translate_decode_errors
from memolith.adapters.sql.reembedding import refuse_other_vectors
from memolith.adapters.sql.spaces import VectorFacts
from memolith.adapters.sql.store import SqlStore
from memolith.adapters.sqlite.checking import FileCheckMixin
from memolith.adapters.sqlite.connections import Connection, Connections
from memolith.adapters.sqlite.opening import connect
from memolith.adapters.sqlite.reading import ReadOnlyConnections
from memolith.adapters.sqlite.scrubbing import scrub

if TYPE_CHECKING:
    from memolith.ports.backups import ProgressCallback
    from memolith.ports.cipher import Cipher, CipherProvider
    from memolith.ports.reembedding import EmbeddingModel
    from memolith.ports.store import StoreMeta

_log = logging.getLogger(__name__)

_MEBIBYTE = 1024 * 1024

_COMPACTION_ATTEMPTS = 3
"""How often the log is emptied anew because somebody wrote just then: a guess."""


class SqliteStore(FileCheckMixin, SqlStore):
    """A `Store` in one SQLite file."""

    _connections: Connections

    def __init__(self, connections: Connections, cipher: Cipher, index_cache_bytes: int) -> None:
        """Take connections to a file that is ready; see `open`."""
        super().__init__(connections, cipher, index_cache_bytes)
        self._needs_compaction = False

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        cipher: CipherProvider,
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
    def location(self) -> str:
        """See `Movable`."""
        return str(self._connections.path)

    def _encode_fact(self, value: str | int | bytes) -> Any:
        return value

    @property
    @translate_decode_errors
    def meta(self) -> StoreMeta:
        """See the port."""
        with self._connections.read() as connection:
            values: dict[str, Any] = dict(connection.rows("SELECT name, value FROM meta"))
            (schema,) = connection.row("PRAGMA user_version") or (0,)
        return VectorFacts.from_facts(values).to_meta(schema, values["cipher"], values["analyser"])

    def _save_embedder(self, model: EmbeddingModel) -> None:
        if not isinstance(self._connections, ReadOnlyConnections):
            super()._save_embedder(model)
            return
        with self._connections.read() as connection:  # without vectors there is nothing to keep
            refuse_other_vectors(connection, model)

    def back_up(
        self, target: Path, *, overwrite: bool = False, advance: ProgressCallback | None = None
    ) -> int:
        """See `Copyable`."""
        from memolith.adapters.sqlite.backups import back_up

        return back_up(self._connections, target, overwrite=overwrite, advance=advance)

    def compact(self) -> bool:
        """See the port: empties the write-ahead log, and clears the unused parts of pages."""
        path, timeout_s = self._connections.path, self._connections.busy_timeout_s
        with self._connections.idle_writer() as connection:
            for _ in range(_COMPACTION_ATTEMPTS):
                if not _truncate_log(connection):
                    break
                if scrub(path, timeout_s):
                    _truncate_log(connection)
                    self._needs_compaction = False
                    return True
        self._needs_compaction = True
        _log.warning("the write-ahead log is in use: what was removed is still in the files")
        return False

    def close(self) -> None:
        """See the port."""
        self._indexes.forget()
        if self._needs_compaction:
            self._needs_compaction = False
            self.compact()
        self._connections.close()


def _truncate_log(connection: Connection) -> bool:
    (busy, *_) = connection.row("PRAGMA wal_checkpoint(TRUNCATE)") or (0,)
    return not busy
