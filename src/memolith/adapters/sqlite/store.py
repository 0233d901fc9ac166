"""The store in a SQLite file."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from memolith.adapters.sql import connection as shared
from memolith.adapters.sql.codecs import OwnerEncryption, translate_decode_errors
from memolith.adapters.sql.connection import OwnerRow
from memolith.adapters.sql.embedding_generations import VectorFacts, refuse_other_vectors
from memolith.adapters.sql.external_vector_search import (
    ExternalVectorSearch,
    StoredVectorSource,
    VectorCandidates,
)
from memolith.adapters.sql.search import IndexSearch
from memolith.adapters.sql.store import SqlStore
from memolith.adapters.sql.tables import OWNED_TABLES
from memolith.adapters.sqlite.backups import back_up
from memolith.adapters.sqlite.connections import Connection, Connections
from memolith.adapters.sqlite.opening import ReadOnlyConnections, connect
from memolith.adapters.sqlite.scrubbing import scrub
from memolith.errors import StoreDamaged
from memolith.ports.admin import EmbeddingModel, Finding, ProgressCallback
from memolith.ports.cipher import Cipher, CipherProvider
from memolith.ports.store import StoreMeta

Integers = NDArray[np.int64]
Vectors = NDArray[np.int8]


class FileCheckMixin:
    """Checks and repairs the file of a SQLite store."""

    _connections: Connections

    def check_file(self) -> list[Finding]:
        """See `SupportsVerification`."""
        findings: list[Finding] = []
        try:
            with self._connections.read() as connection:
                problems = connection.rows("PRAGMA integrity_check")
                findings += [Finding("file", None, None, str(p)) for (p,) in problems if p != "ok"]
                for table in OWNED_TABLES:
                    (count,) = connection.row(f"SELECT count(*) {_ownerless_rows(table)}") or (0,)
                    if count:
                        detail = f"rows of {table} without an owner"
                        findings.append(Finding("orphan", None, None, detail))
        except StoreDamaged as error:
            findings.append(Finding("file", None, None, str(error)))
        return findings

    def repair_file(self) -> None:
        """See `SupportsVerification`: rebuilds indexes and removes rows without an owner."""
        with self._connections.write() as connection:
            connection.run("REINDEX")
            for table in OWNED_TABLES:
                connection.run(f"DELETE {_ownerless_rows(table)}")
            connection.run("COMMIT")


def _ownerless_rows(table: str) -> str:
    return f"FROM {table} WHERE owner_id NOT IN (SELECT owner_id FROM owners)"


# --- Store


_log = logging.getLogger(__name__)

_MEBIBYTE = 1024 * 1024

_COMPACTION_ATTEMPTS = 3
"""Attempts to empty the log if other processes write meanwhile. A guess."""


class SqliteStore(FileCheckMixin, SqlStore):
    """A `Store` in a SQLite file."""

    _connections: Connections

    def __init__(self, connections: Connections, cipher: Cipher, index_cache_bytes: int) -> None:
        """Create a store from connections to a prepared file; see `open`."""
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
        **options: Any,
    ) -> Self:
        """Open a store; create its file and folder if they do not exist.

        A file that cannot be written, or is on a full disk, is opened read-only. Writes fail until
        the file becomes writable.

        Args:
            path: The store's file.
            cipher: Provides the cipher of the store.
            analyser: Version of the text analysis, saved in a new store.
            busy_timeout_s: Timeout for the write lock.
            index_cache_bytes: Maximum memory of the search indexes of all owners.
            options: Further arguments of the constructor.

        Raises:
            StoreUnavailable: The store cannot be opened or created, or stays locked.
            StoreReadOnly: The store cannot be written and needs a migration.
            StoreDamaged: The file is not a Memolith store.
            StoreTooNew: The store was written by a newer Memolith.
            KeyUnavailable: The key is missing or wrong.
        """
        file = Path(path).absolute()
        connections, opened = connect(
            file, ciphers=cipher, analyser=analyser, busy_timeout_s=busy_timeout_s
        )
        return cls(connections, opened, index_cache_bytes, **options)

    @property
    def location(self) -> str:
        """See `SupportsMigration`."""
        return str(self._connections.path)

    def _encode_fact(self, value: str | int | bytes) -> Any:
        return value

    @property
    @translate_decode_errors
    def meta(self) -> StoreMeta:
        """See `Store`."""
        with self._connections.read() as connection:
            values: dict[str, Any] = dict(connection.rows("SELECT name, value FROM meta"))
            (schema,) = connection.row("PRAGMA user_version") or (0,)
        return VectorFacts.from_facts(values).to_meta(schema, values["cipher"], values["analyser"])

    def _save_embedder(self, model: EmbeddingModel) -> None:
        if not isinstance(self._connections, ReadOnlyConnections):
            super()._save_embedder(model)
            return
        with self._connections.read() as connection:  # read-only: only check the model
            refuse_other_vectors(connection, model)

    def back_up(
        self, target: Path, *, overwrite: bool = False, advance: ProgressCallback | None = None
    ) -> int:
        """See `SupportsBackup`."""
        return back_up(self._connections, target, overwrite=overwrite, advance=advance)

    def compact(self) -> bool:
        """See `Store`: empties the write-ahead log and overwrites unused parts of pages."""
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
        _log.warning("the write-ahead log is in use: deleted data remains in the files for now")
        return False

    def close(self) -> None:
        """See `Store`."""
        self._indexes.forget()
        if self._needs_compaction:
            self._needs_compaction = False
            self.compact()
        self._connections.close()


def _truncate_log(connection: Connection) -> bool:
    (busy, *_) = connection.row("PRAGMA wal_checkpoint(TRUNCATE)") or (0,)
    return not busy


# --- Store with vector search by sqlite-vec


# A zero vector has no direction: its distance is null and counts as 1 (cosine 0).
_NEAREST = (
    "SELECT item, {vector}, coalesce(vec_distance_cosine({form}({vector}), {form}(?2)), 1.0)"
    " AS distance FROM passages WHERE owner_id = ?1 AND {vector} IS NOT NULL"
    " ORDER BY distance LIMIT ?3"
)
_NEAREST_AMONG = _NEAREST.replace(
    " ORDER BY", " AND item IN (SELECT value FROM carray(?4)) ORDER BY"
)
_PLAIN_FUNCTION, _ENCRYPTED_FUNCTION = "vec_int8", "widened"


class SqliteVecSource(StoredVectorSource):
    """One owner's tables, with vector search by sqlite-vec."""

    distance_tolerance = 1e-4
    """Maximum error of a distance: a sum of some hundred products in single precision."""

    def find_candidates(
        self, query: Vectors, limit: int, items: Integers | None
    ) -> VectorCandidates:
        """See `StoredVectorSource`."""
        encrypted = self.encrypt_query(query)
        # Encrypted components have 16 bits, a type that sqlite-vec does not have.
        form = _PLAIN_FUNCTION if len(encrypted) == self.dimension() else _ENCRYPTED_FUNCTION
        values = (self._owner, encrypted, limit)
        if items is None:
            nearest = _NEAREST.format(form=form, vector=self._vector)
            rows = self._connection.rows(nearest, values)
        else:
            ids = self._connection.bind_integers(items.tolist())
            nearest = _NEAREST_AMONG.format(form=form, vector=self._vector)
            rows = self._connection.rows(nearest, (*values, ids))
        min_other_distance = rows[-1][2] if len(rows) == limit else None
        return VectorCandidates(
            [row[0] for row in rows], [row[1] for row in rows], min_other_distance
        )


class SqliteVecStore(SqliteStore):
    """A `Store` in a SQLite file, with vector search by sqlite-vec."""

    def __init__(
        self,
        connections: Connections,
        cipher: Cipher,
        index_cache_bytes: int,
        *,
        in_memory: int = 0,
    ) -> None:
        """Create a store from connections to a prepared file; see `open`.

        Args:
            connections: Connections to the file.
            cipher: The store's cipher.
            index_cache_bytes: Maximum memory of the search indexes of all owners.
            in_memory: Owners with at most this number of items are searched in memory.
        """
        import sqlite_vec

        super().__init__(connections, cipher, index_cache_bytes)
        self._library: str = sqlite_vec.loadable_path()
        self._in_memory = in_memory

    def _search(
        self, connection: shared.Connection, encryption: OwnerEncryption, owner: OwnerRow
    ) -> IndexSearch:
        if owner.next_item <= self._in_memory + 1 or not isinstance(connection, Connection):
            return super()._search(connection, encryption, owner)
        connection.load_extension(self._library, {"widened": _widen})
        tables = SqliteVecSource(
            connection, encryption, owner.number, self._get_generation(owner).column
        )
        return ExternalVectorSearch(self._index(owner, tables), tables)


def _widen(encrypted: bytes) -> bytes:
    """Return 16-bit components as single-precision numbers."""
    return np.frombuffer(encrypted, dtype="<i2").astype("<f4").tobytes()
