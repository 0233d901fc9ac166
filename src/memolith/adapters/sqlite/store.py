"""The store in one SQLite file."""

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
    """The half of a SQLite store that looks at its file."""

    _connections: Connections

    def check_file(self) -> list[Finding]:
        """See the port."""
        found: list[Finding] = []
        try:
            with self._connections.read() as connection:
                problems = connection.rows("PRAGMA integrity_check")
                found += [Finding("file", None, None, str(p)) for (p,) in problems if p != "ok"]
                for table in OWNED_TABLES:
                    (count,) = connection.row(f"SELECT count(*) {_ownerless_rows(table)}") or (0,)
                    if count:
                        detail = f"rows of {table} that are nobody's"
                        found.append(Finding("orphan", None, None, detail))
        except StoreDamaged as error:
            found.append(Finding("file", None, None, str(error)))
        return found

    def repair_file(self) -> None:
        """See the port: makes SQLite's own indexes anew, and removes what is nobody's."""
        with self._connections.write() as connection:
            connection.run("REINDEX")
            for table in OWNED_TABLES:
                connection.run(f"DELETE {_ownerless_rows(table)}")
            connection.run("COMMIT")


def _ownerless_rows(table: str) -> str:
    return f"FROM {table} WHERE owner_id NOT IN (SELECT owner_id FROM owners)"


# --- The store in one SQLite file


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


# --- A store in one SQLite file whose vectors are searched there, by the functions of sqlite-vec


# A zero vector has no direction: its distance is null, and its cosine counts as 0.
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
    """One owner's tables; sqlite-vec finds the nearest in them."""

    distance_tolerance = 1e-4
    """What a distance may be off: a sum of some hundred products in single precision."""

    def find_candidates(
        self, query: Vectors, limit: int, items: Integers | None
    ) -> VectorCandidates:
        """See `StoredVectors`."""
        hidden = self.encrypt_query(query)
        # Hidden components are of 16 bits, which sqlite-vec has no type for.
        form = _PLAIN_FUNCTION if len(hidden) == self.dimension() else _ENCRYPTED_FUNCTION
        values = (self._owner, hidden, limit)
        if items is None:
            nearest = _NEAREST.format(form=form, vector=self._vector)
            rows = self._connection.rows(nearest, values)
        else:
            named = self._connection.bind_integers(items.tolist())
            nearest = _NEAREST_AMONG.format(form=form, vector=self._vector)
            rows = self._connection.rows(nearest, (*values, named))
        beyond = rows[-1][2] if len(rows) == limit else None
        return VectorCandidates([row[0] for row in rows], [row[1] for row in rows], beyond)


class SqliteVecStore(SqliteStore):
    """A `Store` in one SQLite file; sqlite-vec searches its vectors."""

    def __init__(
        self,
        connections: Connections,
        cipher: Cipher,
        index_cache_bytes: int,
        *,
        in_memory: int = 0,
    ) -> None:
        """Take connections to a file that is ready; see `open`.

        Args:
            in_memory: The vectors of owners who have at most so many items are searched in memory.
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


def _widen(hidden: bytes) -> bytes:
    """Return components of 16 bits as numbers of single precision."""
    return np.frombuffer(hidden, dtype="<i2").astype("<f4").tobytes()
